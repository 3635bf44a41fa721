"""k-means centers and labels, and assignment to the nearest center."""

from __future__ import annotations

import warnings
from contextlib import suppress

import numpy as np
import torch
from scipy.sparse import csr_array
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor, nn

from coterie.arrays import is_large, row_chunks, subsample
from coterie.contracts import Labels, Vectors
from coterie.errors import CATCHING_WARNINGS, InputError

_SPARSE = 0.05  # share of numbers that are not zero, below which a sparse matrix is faster: word counts, TF-IDF
_SAMPLE = 8192  # rows on which random initializations are compared where time counts


def kmeans_centers(
    h: Tensor, counts: Tensor, n_clusters: int, *, n_init: int = 1, seed: int | None, init: Tensor | None = None
) -> Tensor:
    """Return the k-means centers (K, D) of h (N, D), whose rows have the weights ``counts`` (N,).

    Without ``init``, k-means++ runs ``n_init`` times and the result with the least squared distance is kept. If there
    are very many rows, it runs on a subsample first, and its centers are the initial centers for all rows. With
    ``init`` (K, D) k-means runs once, from these centers. The largest cluster comes first.
    """
    if init is None and is_large(len(h)):
        rows = torch.from_numpy(subsample(len(h)))
        with suppress(InputError):  # if most rows are equal, a subsample may have too few distinct rows
            init = kmeans_centers(h[rows], counts[rows], n_clusters, n_init=n_init, seed=seed)
    if init is None:
        kmeans = SklearnKMeans(n_clusters, init="k-means++", n_init=n_init, random_state=seed)
    else:
        kmeans = SklearnKMeans(n_clusters, init=init.numpy(), n_init=1, random_state=seed)
    with CATCHING_WARNINGS, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        kmeans.fit(_without_zeros(h), sample_weight=counts.numpy())
    for warning in caught:
        if "distinct clusters" in str(warning.message):
            raise InputError(
                f"{n_clusters} clusters were requested, but there are fewer distinct embeddings: "
                f"{warning.message} Request fewer clusters."
            )
    sizes = np.bincount(kmeans.labels_, counts.numpy(), minlength=n_clusters)
    largest_first = np.argsort(-sizes, kind="stable")
    return torch.from_numpy(kmeans.cluster_centers_[largest_first]).to(h.dtype)


def _without_zeros(h: Tensor) -> Vectors | csr_array:
    """Return h (N, D) as an array, or as a sparse matrix if nearly all of its numbers are zero."""
    x: Vectors = h.numpy()
    return csr_array(x) if np.count_nonzero(x) < _SPARSE * x.size else x


def kmeans_labels(
    x: Vectors, counts: Tensor, n_clusters: int, *, n_init: int = 1, seed: int | None, init: Tensor | None = None
) -> Labels:
    """Return the k-means labels (N,) of ``x`` (N, D). The parameters are those of :func:`kmeans_centers`."""
    rows = torch.from_numpy(x)
    centers = kmeans_centers(rows, counts.double(), n_clusters, n_init=n_init, seed=seed, init=init)
    return np.asarray(nearest_center(rows, centers).numpy())


def quick_kmeans_labels(x: Vectors, counts: Tensor, n_clusters: int, *, n_init: int = 10, seed: int) -> Labels:
    """Return k-means labels (N,) of ``x`` (N, D); of many rows the best initialization is found on a sample."""
    init = None
    if len(x) > _SAMPLE:
        rows = np.sort(np.random.default_rng(seed).choice(len(x), _SAMPLE, replace=False))
        sample, weights = torch.from_numpy(x[rows]), counts[torch.from_numpy(rows)].double()
        with suppress(InputError):  # if most rows are equal, a sample may have too few distinct rows
            init = kmeans_centers(sample, weights, n_clusters, n_init=n_init, seed=seed)
    return kmeans_labels(x, counts, n_clusters, n_init=n_init, seed=seed, init=init)


def cluster_means(h: Tensor, counts: Tensor, labels: Labels, n_clusters: int) -> Tensor:
    """Return the weighted mean (K, D) of the rows of h (N, D) in each cluster, with weights ``counts`` (N,)."""
    cluster = torch.from_numpy(labels)
    weight = counts.double()
    total = torch.zeros(n_clusters, h.shape[1], dtype=torch.float64)
    for rows in row_chunks(len(h)):
        total.index_add_(0, cluster[rows], h[rows].double() * weight[rows, None])
    return (total / torch.bincount(cluster, weight, n_clusters)[:, None]).float()


def squared_distances(h: Tensor, mu: Tensor) -> Tensor:
    """Return ||h_j - mu_k||^2 as (B, K) in float64, by a matrix product instead of a (B, K, D) difference.

    In float32 the rounding of a row depends on the other rows of its batch, and near a boundary between two clusters
    that could change its label.
    """
    h = h.double()
    mu = mu.double()
    squared = h.square().sum(dim=1, keepdim=True) - 2 * h @ mu.T + mu.square().sum(dim=1)
    return squared.clamp_min(0)


def nearest_center(h: Tensor, mu: Tensor) -> Tensor:
    """Return the index (N,) of the center in mu (K, D) that is nearest to each row of h (N, D)."""
    return torch.cat([squared_distances(h[rows], mu).argmin(dim=1) for rows in row_chunks(len(h))])


class NearestCenter(nn.Module):
    r"""Soft assignment to the nearest center: q_{jk} \propto \exp(-\|h_j - \mu_k\|^2 / s).

    s is half the median of the gap between the squared distances to the nearest and the second nearest center. With
    this s the mean confidence is close to the accuracy (docs/methods/kmeans.md).
    """

    mu: Tensor  # (K, D) centers
    scale: Tensor  # () s

    def __init__(self, n_clusters: int, dim: int) -> None:
        super().__init__()
        self.register_buffer("mu", torch.zeros(n_clusters, dim))
        self.register_buffer("scale", torch.ones((), dtype=torch.float64))

    def place(self, mu: Tensor, h: Tensor) -> None:
        """Set the centers to mu (K, D), and compute s from h (N, D)."""
        self.mu.copy_(mu)
        n_nearest = min(2, len(mu))
        nearest = torch.cat(
            [squared_distances(h[rows], mu).topk(n_nearest, dim=1, largest=False).values for rows in row_chunks(len(h))]
        )  # (N, 2); (N, 1) if K is 1
        gap = (nearest[:, -1] - nearest[:, 0]).median()
        self.scale.copy_((gap / 2).clamp_min(torch.finfo(torch.float32).tiny))

    def forward(self, h: Tensor) -> Tensor:
        """Return q (B, K) of h (B, D) in float64."""
        return (-squared_distances(h, self.mu) / self.scale).softmax(dim=1)
