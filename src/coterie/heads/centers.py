"""Cluster centers: placed by k-means, read by distance."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor, nn

from coterie.errors import InputError


def kmeans_centers(
    h: Tensor, counts: Tensor, n_clusters: int, *, n_init: int = 1, seed: int | None, start: Tensor | None = None
) -> Tensor:
    """Return the centers (K, D) of the best of ``n_init`` starts on h (N, D), each row weighing its count.

    With ``start`` (K, D) there is one start, from these centers. The largest cluster comes first, because people read
    lists from the top.
    """
    init = "k-means++" if start is None else start.numpy()
    fitted = SklearnKMeans(n_clusters, init=init, n_init=n_init, random_state=seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        fitted.fit(h.numpy(), sample_weight=counts.numpy())
    if found := [w for w in caught if "distinct clusters" in str(w.message)]:
        raise InputError(
            f"{n_clusters} clusters were asked for, but the encoder tells fewer texts apart: "
            f"{found[0].message} Ask for fewer clusters."
        )
    sizes = np.bincount(fitted.labels_, counts.numpy(), minlength=n_clusters)
    largest_first = np.argsort(-sizes, kind="stable")
    return torch.from_numpy(fitted.cluster_centers_[largest_first]).to(h.dtype)


def squared_distances(h: Tensor, mu: Tensor) -> Tensor:
    """Return ||h_j - mu_k||^2 as (B, K) in float64, by a matrix product instead of a (B, K, D) difference.

    In float64, because near a border between clusters float32 would let the batch decide.
    """
    h, mu = h.double(), mu.double()
    square = h.square().sum(dim=1, keepdim=True) - 2 * h @ mu.T + mu.square().sum(dim=1)
    return square.clamp_min(0)


class NearestCenter(nn.Module):
    r"""Assigns each row to its nearest center: q_{jk} \propto \exp(-\|h_j - \mu_k\|^2 / s).

    With s half the median of how much farther (squared) the second center is, the mean confidence is close to the
    accuracy (docs/methods/kmeans.md).
    """

    mu: Tensor
    scale: Tensor

    def __init__(self, n_clusters: int, dim: int) -> None:
        super().__init__()
        self.register_buffer("mu", torch.zeros(n_clusters, dim))
        self.register_buffer("scale", torch.ones((), dtype=torch.float64))

    def place(self, mu: Tensor, h: Tensor) -> None:
        """Take centers mu (K, D), and measure s on h (N, D)."""
        self.mu.copy_(mu)
        nearest = squared_distances(h, mu).sort(dim=1).values[:, :2]  # (N, 2); (N, 1) when K is 1
        gap = (nearest[:, -1] - nearest[:, 0]).median()
        self.scale.copy_((gap / 2).clamp_min(torch.finfo(torch.float32).tiny))

    def forward(self, h: Tensor) -> Tensor:
        """Return q (B, K)."""
        return (-squared_distances(h, self.mu) / self.scale).softmax(dim=1)
