"""Cluster centers: placed by k-means, read by distance."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

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
