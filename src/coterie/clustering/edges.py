"""The edges between clusters while linkage merges along a neighbor graph: each pair once, with its distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.contracts import Vectors
from coterie.knn.graph import KNNGraph

_CHUNK = 2048  # edges whose means are in memory at once; they fit into the cache of a processor
_TIE_BREAK = 1e-7  # largest value added to a distance to break ties

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Edges:
    """Pairs ``low`` < ``high`` of connected clusters (M,), sorted, and the distances of their means (M,)."""

    low: Indices
    high: Indices
    distance: NDArray[np.float64]

    @classmethod
    def of_graph(cls, graph: KNNGraph, mean: Vectors) -> Edges:
        """Return the edges of a neighbor graph, between clusters of one row each with means (N, D)."""
        n, k = graph.indices.shape
        ends = np.repeat(np.arange(n), k), graph.indices.ravel()
        return _distinct(*ends, np.full(n * k, np.nan), mean)

    def merged(self, position: Indices, changed: NDArray[np.bool_], mean: Vectors) -> Edges:
        """Return the edges after clusters were merged: ``position`` (n,) is the new index of each old cluster.

        Only the distances of ``changed`` (n,) old clusters are computed again, from the new means.
        """
        outdated = changed[self.low] | changed[self.high]
        return _distinct(position[self.low], position[self.high], np.where(outdated, np.nan, self.distance), mean)

    def nearest(self, n: int) -> tuple[Indices, NDArray[np.float64]]:
        """Return the nearest connected cluster (n,) of each of n clusters and its distance (n,).

        For a cluster without edges, it is the cluster itself and infinity.
        """
        # A pseudo-random term breaks ties, the same in both directions. Among many equal pairs, few would be mutual.
        distance = self.distance + _TIE_BREAK * ((self.low ^ self.high) * 2654435761 % 2**32) / 2**32
        nearest, least = np.arange(n), np.full(n, np.inf)
        np.minimum.at(least, self.low, distance)
        np.minimum.at(least, self.high, distance)
        for own, other in ((self.low, self.high), (self.high, self.low)):
            is_nearest = distance == least[own]
            nearest[own[is_nearest]] = other[is_nearest]
        return nearest, least


def _distinct(one: Indices, other: Indices, distance: NDArray[np.float64], mean: Vectors) -> Edges:
    """Return each pair once, without pairs of a cluster with itself; distances that are NaN are computed."""
    differ = np.flatnonzero(one != other)
    low, high = np.minimum(one[differ], other[differ]), np.maximum(one[differ], other[differ])
    keys, first = np.unique(low * len(mean) + high, return_index=True)
    low, high = np.divmod(keys, len(mean))
    distance = distance[differ[first]]  # pairs that are there twice have changed, so all of them are NaN
    unknown = np.flatnonzero(np.isnan(distance))
    for start in range(0, len(unknown), _CHUNK):
        rows = unknown[start : start + _CHUNK]
        distance[rows] = 1 - np.einsum("bd,bd->b", mean[low[rows]], mean[high[rows]])
    return Edges(low, high, distance)
