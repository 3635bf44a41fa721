"""Average linkage without an N x N matrix: memory grows with N x D.

With the dot product as similarity, the mean similarity of two clusters is the dot product of their means. Average
linkage is reducible: all pairs of clusters that are mutual nearest neighbors can be merged at once, and a cluster
whose nearest cluster was not merged keeps it. The result equals that of merging one pair at a time.

With very many rows the first merges follow the edges of a neighbor graph. That is approximate, and its time grows with
the number of edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from coterie.arrays import is_large
from coterie.clustering.edges import Edges
from coterie.clustering.kmeans import kmeans_labels
from coterie.contracts import Labels, Vectors
from coterie.knn.graph import KNNGraph
from coterie.progress import Advance, track

_BLOCK = 2048  # clusters whose distances to all clusters are in memory at once
_EDGE_FACTOR = 4  # merging along edges ends when 50,000 / 4 clusters are left


def linkage_labels(
    x: Vectors, counts: Tensor, graph: KNNGraph, n_clusters: int, *, min_cluster_size: float, seed: int | None
) -> Labels | None:
    """Return the labels (N,) of k-means on ``x`` (N, D), initialized by average linkage.

    The dendrogram is cut into clusters of at least two items and of at least ``min_cluster_size`` times the mean size.
    None if no cut gives ``n_clusters`` of them.
    """
    weights = counts.double().numpy()
    min_weight = max(2.0, round(min_cluster_size * weights.sum() / n_clusters))
    labels = cut(average_linkage(x, weights, graph), weights, n_clusters, min_weight=min_weight)
    if labels is None:
        return None
    means = np.stack([x[labels == k].mean(axis=0) for k in range(n_clusters)])
    return kmeans_labels(x, counts, n_clusters, seed=seed, init=torch.from_numpy(means))


class Merge(NamedTuple):
    """Two clusters, each named by one of its rows, that are merged at a mean distance (1 - similarity)."""

    left: int
    right: int
    height: float


class _Clusters:
    """The current clusters: mean, weight, and the row that names each; and the merges so far."""

    def __init__(self, x: Vectors, weights: NDArray[np.float64]) -> None:
        self.mean = x.astype(np.float32, copy=True)
        self.weight = weights.astype(np.float64)
        self.name = np.arange(len(x))
        self.merges: list[Merge] = []

    def __len__(self) -> int:
        return len(self.name)

    def merge(
        self, left: NDArray[np.int64], right: NDArray[np.int64], height: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Merge each cluster in ``right`` into its partner in ``left``; return which of all clusters remain."""
        left_names = self.name[left].tolist()
        right_names = self.name[right].tolist()
        self.merges += map(Merge, left_names, right_names, height.clip(0).tolist())

        left_weight = self.weight[left, None]
        right_weight = self.weight[right, None]
        total = self.weight[left] + self.weight[right]
        self.mean[left] = (self.mean[left] * left_weight + self.mean[right] * right_weight) / total[:, None]
        self.weight[left] = total

        kept = np.ones(len(self), dtype=bool)
        kept[right] = False
        self.mean = self.mean[kept]
        self.weight = self.weight[kept]
        self.name = self.name[kept]
        return kept


def average_linkage(x: Vectors, weights: NDArray[np.float64], graph: KNNGraph | None = None) -> list[Merge]:
    """Return the merges of the rows of ``x`` (N, D) with ``weights`` (N,), lowest first.

    With very many rows, clusters are merged along the edges of ``graph`` until few enough are left to compare all
    pairs.
    """
    clusters = _Clusters(x, weights)
    with track("Linking", len(x)) as advance:
        if graph is not None and is_large(len(x)):
            _merge_along_edges(clusters, graph, advance)
        _merge_all(clusters, advance)
    return sorted(clusters.merges, key=lambda merge: merge.height)


def _merge_all(clusters: _Clusters, advance: Advance) -> None:
    """Merge until one cluster is left, comparing all pairs."""
    nearest = np.zeros(len(clusters), dtype=np.int64)
    distance = np.full(len(clusters), np.inf)
    outdated = np.arange(len(clusters))
    while len(clusters) > 1:
        _update_nearest(clusters.mean, outdated, nearest, distance)
        left = _mutual_pairs(nearest, distance)
        right = nearest[left]
        changed = np.zeros(len(clusters), dtype=bool)
        changed[left] = True
        changed[right] = True
        kept = clusters.merge(left, right, distance[left])
        is_outdated = (changed | changed[nearest])[kept]  # the cluster or its nearest cluster was merged
        new_position = kept.cumsum() - 1
        nearest = new_position[nearest[kept]]
        distance = distance[kept]
        outdated = np.flatnonzero(is_outdated)
        advance(len(left))


def _update_nearest(
    mean: Vectors, outdated: NDArray[np.int64], nearest: NDArray[np.int64], distance: NDArray[np.float64]
) -> None:
    """Recompute ``nearest`` and ``distance`` of the ``outdated`` clusters, in place."""
    for start in range(0, len(outdated), _BLOCK):
        rows = outdated[start : start + _BLOCK]
        distances = 1 - mean[rows] @ mean.T  # (block, n)
        own = np.arange(len(rows))
        distances[own, rows] = np.inf
        nearest[rows] = distances.argmin(axis=1)
        distance[rows] = distances[own, nearest[rows]]


def _mutual_pairs(nearest: NDArray[np.int64], distance: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the lower index of each pair of mutual nearest clusters.

    Ties can leave no such pair. Then it is the cluster with the smallest distance.
    """
    rows = np.arange(len(nearest))
    left = rows[(nearest[nearest] == rows) & (rows < nearest)]
    return left if len(left) else np.array([distance.argmin()])


def _merge_along_edges(clusters: _Clusters, graph: KNNGraph, advance: Advance) -> None:
    """Merge clusters that an edge connects, until few enough are left to compare all pairs quickly."""
    edges = Edges.of_graph(graph, clusters.mean)
    while is_large(_EDGE_FACTOR * len(clusters)):
        nearest, distance = edges.nearest(len(clusters))
        rows = np.arange(len(clusters))
        left = rows[(nearest[nearest] == rows) & (rows < nearest)]
        if not len(left):  # no edges are left
            return
        right = nearest[left]
        kept = clusters.merge(left, right, distance[left])
        new_position = kept.cumsum() - 1
        new_position[right] = new_position[left]
        changed = np.zeros(len(rows), dtype=bool)
        changed[left] = changed[right] = True
        edges = edges.merged(new_position, changed, clusters.mean)
        advance(len(left))


def cut(merges: list[Merge], weights: NDArray[np.float64], n_clusters: int, *, min_weight: float) -> Labels | None:
    """Return labels (N,) with ``n_clusters`` clusters that weigh at least ``min_weight``; -1 for rows in smaller ones.

    It is the highest cut of the dendrogram with that many; None if there is no such cut. A cut that also counts the
    smaller clusters would make clusters of single outliers.
    """
    union_find = _UnionFind(weights)
    n_large = [int((weights >= min_weight).sum())]  # before the first merge, after the first merge, ...
    for merge in merges:
        left_is_large = union_find.cluster_weight(merge.left) >= min_weight
        right_is_large = union_find.cluster_weight(merge.right) >= min_weight
        union_is_large = union_find.union(merge.left, merge.right) >= min_weight
        n_large.append(n_large[-1] - left_is_large - right_is_large + union_is_large)
    cuts = np.flatnonzero(np.array(n_large) == n_clusters)
    if not len(cuts):
        return None
    union_find = _UnionFind(weights)
    for merge in merges[: cuts[-1]]:
        union_find.union(merge.left, merge.right)
    root = np.array([union_find.find(i) for i in range(len(weights))])
    is_large_enough = union_find.weight[root] >= min_weight
    labels = np.full(len(weights), -1, dtype=np.int64)
    labels[is_large_enough] = np.unique(root[is_large_enough], return_inverse=True)[1]
    return labels


class _UnionFind:
    """Disjoint sets of rows with their weights."""

    def __init__(self, weights: NDArray[np.float64]) -> None:
        self.parent = list(range(len(weights)))
        self.weight = weights.astype(np.float64)  # valid for roots

    def find(self, i: int) -> int:
        while self.parent[i] != i:
            self.parent[i] = self.parent[self.parent[i]]
            i = self.parent[i]
        return i

    def cluster_weight(self, i: int) -> float:
        return float(self.weight[self.find(i)])

    def union(self, i: int, j: int) -> float:
        """Merge the sets of ``i`` and ``j``; return the weight of the result."""
        left = self.find(i)
        right = self.find(j)
        self.parent[right] = left
        self.weight[left] += self.weight[right]
        return float(self.weight[left])
