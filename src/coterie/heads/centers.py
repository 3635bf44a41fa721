"""Cluster centers: placed by k-means, read by distance."""

from __future__ import annotations

import warnings
from contextlib import suppress

import numpy as np
import torch
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor, nn

from coterie.errors import InputError
from coterie.graph.sample import is_large, parts, stand_ins


def kmeans_centers(
    h: Tensor, counts: Tensor, n_clusters: int, *, n_init: int = 1, seed: int | None, start: Tensor | None = None
) -> Tensor:
    """Return the centers (K, D) of the best of ``n_init`` starts on h (N, D), each row weighing its count.

    With ``start`` (K, D) there is one start, from these centers; of very many rows it is the best of ``n_init`` on a
    sample. The largest cluster comes first, because people read lists from the top.
    """
    if start is None and is_large(len(h)):
        rows = torch.from_numpy(stand_ins(len(h)))
        with suppress(InputError):  # rows that are nearly all equal: a sample may have too few others
            start = kmeans_centers(h[rows], counts[rows], n_clusters, n_init=n_init, seed=seed)
    init, n_init = ("k-means++", n_init) if start is None else (start.numpy(), 1)
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


def nearest_center(h: Tensor, mu: Tensor) -> Tensor:
    """Return which of the centers mu (K, D) is nearest to each row of h (N,)."""
    return torch.cat([squared_distances(h[rows], mu).argmin(dim=1) for rows in parts(len(h))])


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
        two = min(2, len(mu))
        first = [squared_distances(h[rows], mu).topk(two, dim=1, largest=False).values for rows in parts(len(h))]
        nearest = torch.cat(first)  # (N, 2); (N, 1) when K is 1
        gap = (nearest[:, -1] - nearest[:, 0]).median()
        self.scale.copy_((gap / 2).clamp_min(torch.finfo(torch.float32).tiny))

    def forward(self, h: Tensor) -> Tensor:
        """Return q (B, K)."""
        return (-squared_distances(h, self.mu) / self.scale).softmax(dim=1)
