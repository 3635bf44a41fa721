"""Groups of smoothed rows: by k-means from random starts or from average linkage, and the silhouette that compares."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.metrics import silhouette_score
from torch import Tensor

from coterie.contracts import Labels, Vectors
from coterie.graph.linkage import average_linkage, cut
from coterie.graph.nearest import Links
from coterie.graph.sample import parts
from coterie.heads.centers import kmeans_centers, nearest_center

_SAMPLE = 4000  # texts whose silhouette is measured


def by_kmeans(
    x: Vectors, counts: Tensor, n_clusters: int, *, n_init: int = 1, seed: int | None, start: Tensor | None = None
) -> Labels:
    """Return the groups of k-means on ``x`` (N, D): the best of ``n_init`` starts, or from the centers ``start``."""
    rows = torch.from_numpy(x)
    mu = kmeans_centers(rows, counts.double(), n_clusters, n_init=n_init, seed=seed, start=start)
    return np.asarray(nearest_center(rows, mu).numpy())


def by_linkage(
    x: Vectors, counts: Tensor, links: Links, n_clusters: int, *, least_size: float, seed: int | None
) -> Labels | None:
    """Return the groups of k-means from those of average linkage; None when these are too few.

    A linked group weighs at least two texts and the share ``least_size`` of the mean weight.
    """
    weight = counts.double().numpy()
    least = max(2.0, round(least_size * weight.sum() / n_clusters))
    groups = cut(average_linkage(x, weight, links), weight, n_clusters, least=least)
    if groups is None:
        return None
    means = np.stack([x[groups == k].mean(axis=0) for k in range(n_clusters)])
    return by_kmeans(x, counts, n_clusters, seed=seed, start=torch.from_numpy(means))


def means_of(h: Tensor, counts: Tensor, labels: Labels, n_clusters: int) -> Tensor:
    """Return the mean vector of each group (K, D), each row of h (N, D) weighing its count."""
    total, weight = torch.zeros(n_clusters, h.shape[1], dtype=torch.float64), counts.double()
    group = torch.from_numpy(labels)
    for rows in parts(len(h)):
        total.index_add_(0, group[rows], h[rows].double() * weight[rows, None])
    return (total / torch.bincount(group, weight, n_clusters)[:, None]).float()


def silhouette(x: Vectors, labels: Labels) -> float:
    """Return the mean silhouette by cosine of a fixed sample; -1 where it is not defined."""
    sample = np.random.default_rng(0).permutation(len(x))[:_SAMPLE]
    if not 2 <= len(np.unique(labels[sample])) < len(sample):
        return -1.0
    return float(silhouette_score(x[sample], labels[sample], metric="cosine"))
