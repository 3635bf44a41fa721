"""Average linkage in memory N x D, exactly: no N x N matrix.

With the dot product as similarity, the mean similarity between two groups is the dot product of their means. Average
linkage is reducible, so all pairs of groups that are nearest to each other can be merged at once, and a group whose
nearest group was not merged keeps it. The tree is the same as that of merging one pair at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.contracts import Labels, Vectors
from coterie.progress import track

_BLOCK = 2048  # groups whose distances to all others are held at once


class Merge(NamedTuple):
    """Two groups, named by a member of each, become one at a mean distance (1 - similarity)."""

    left: int
    right: int
    height: float


def average_linkage(x: Vectors, counts: NDArray[np.float64]) -> list[Merge]:
    """Return the merges of the rows of ``x`` (N, D), each weighing its count, lowest first."""
    mean, weight, name = x.astype(np.float32, copy=True), counts.astype(np.float64), np.arange(len(x))
    near, distance = np.zeros(len(x), dtype=np.int64), np.full(len(x), np.inf)
    stale = name
    merges: list[Merge] = []
    with track("Linking", len(x)) as advance:
        while len(mean) > 1:
            _find_nearest(mean, stale, near, distance)
            left = _mutual(near, distance)
            right = near[left]
            merges += map(Merge, name[left].tolist(), name[right].tolist(), distance[left].clip(0).tolist())
            total = weight[left] + weight[right]
            mean[left] = (mean[left] * weight[left, None] + mean[right] * weight[right, None]) / total[:, None]
            weight[left] = total
            changed = np.zeros(len(mean), dtype=bool)
            changed[left] = changed[right] = True
            kept = np.ones(len(mean), dtype=bool)
            kept[right] = False
            again = (changed | changed[near])[kept]  # groups whose nearest is new or gone
            near, distance = (kept.cumsum() - 1)[near[kept]], distance[kept]
            mean, weight, name = mean[kept], weight[kept], name[kept]
            stale = np.flatnonzero(again)
            advance(len(left))
    return sorted(merges, key=lambda merge: merge.height)


def _find_nearest(
    mean: Vectors, stale: NDArray[np.int64], near: NDArray[np.int64], distance: NDArray[np.float64]
) -> None:
    """Write the nearest other group of each ``stale`` one, and how far it is."""
    for start in range(0, len(stale), _BLOCK):
        rows = stale[start : start + _BLOCK]
        far = 1 - mean[rows] @ mean.T
        own = np.arange(len(rows))
        far[own, rows] = np.inf
        near[rows] = far.argmin(axis=1)
        distance[rows] = far[own, near[rows]]


def _mutual(near: NDArray[np.int64], distance: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the lower one of each pair that is nearest to each other; with ties alone, the closest group."""
    rows = np.arange(len(near))
    left = rows[(near[near] == rows) & (rows < near)]
    return left if len(left) else np.array([distance.argmin()])


def cut(merges: list[Merge], counts: NDArray[np.float64], n_groups: int, *, least: float) -> Labels | None:
    """Cut as late as possible with ``n_groups`` groups that weigh at least ``least``; -1 in smaller ones.

    A plain cut makes groups of single odd texts. None when no level has that many groups.
    """
    roots = _Roots(counts)
    large = [int((counts >= least).sum())]
    for merge in merges:
        before = roots.weigh(merge.left) >= least, roots.weigh(merge.right) >= least
        after = roots.join(merge.left, merge.right) >= least
        large.append(large[-1] - sum(before) + after)
    levels = np.flatnonzero(np.array(large) == n_groups)
    if not len(levels):
        return None
    roots = _Roots(counts)
    for merge in merges[: levels[-1]]:
        roots.join(merge.left, merge.right)
    root = np.array([roots.find(i) for i in range(len(counts))])
    kept = roots.weight[root] >= least
    labels = np.full(len(counts), -1, dtype=np.int64)
    labels[kept] = np.unique(root[kept], return_inverse=True)[1]
    return labels


class _Roots:
    """Which group a row is in, and what the group weighs (union-find)."""

    def __init__(self, counts: NDArray[np.float64]) -> None:
        self.parent = list(range(len(counts)))
        self.weight = counts.astype(np.float64)

    def find(self, i: int) -> int:
        while self.parent[i] != i:
            self.parent[i] = i = self.parent[self.parent[i]]
        return i

    def weigh(self, i: int) -> float:
        return float(self.weight[self.find(i)])

    def join(self, i: int, j: int) -> float:
        left, right = self.find(i), self.find(j)
        self.parent[right] = left
        self.weight[left] += self.weight[right]
        return float(self.weight[left])
