"""Average linkage in memory N x D, exactly: no N x N matrix.

With the dot product as similarity, the mean similarity between two groups is the dot product of their means. Average
linkage is reducible, so all pairs of groups that are nearest to each other can be merged at once, and a group whose
nearest group was not merged keeps it. The tree is the same as that of merging one pair at a time. Of very many rows
the lower part of the tree is made along the links of a graph: nearly the same, in time that grows with the links.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from coterie.contracts import Labels, Vectors
from coterie.graph.nearest import Links
from coterie.graph.sample import is_large, parts
from coterie.progress import Advance, track

_BLOCK = 2048  # groups whose distances to all others are held at once


class Merge(NamedTuple):
    """Two groups, named by a member of each, become one at a mean distance (1 - similarity)."""

    left: int
    right: int
    height: float


class _Groups:
    """What has become of the rows: the mean, the weight and the name of each group, and the merges so far."""

    def __init__(self, x: Vectors, counts: NDArray[np.float64]) -> None:
        self.mean, self.weight = x.astype(np.float32, copy=True), counts.astype(np.float64)
        self.name, self.merges = np.arange(len(x)), list[Merge]()

    def __len__(self) -> int:
        return len(self.name)

    def merge(
        self, left: NDArray[np.int64], right: NDArray[np.int64], height: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Put each of the groups ``right`` into its ``left``; return which of all groups are kept."""
        names = self.name[left].tolist(), self.name[right].tolist()
        self.merges += map(Merge, *names, height.clip(0).tolist())
        share = self.weight[left, None], self.weight[right, None]
        total = self.weight[left] + self.weight[right]
        self.mean[left] = (self.mean[left] * share[0] + self.mean[right] * share[1]) / total[:, None]
        self.weight[left] = total
        kept = np.ones(len(self), dtype=bool)
        kept[right] = False
        self.mean, self.weight, self.name = self.mean[kept], self.weight[kept], self.name[kept]
        return kept


def average_linkage(x: Vectors, counts: NDArray[np.float64], links: Links | None = None) -> list[Merge]:
    """Return the merges of the rows of ``x`` (N, D), each weighing its count, lowest first.

    Of very many rows, groups merge along ``links`` first, until few enough are left to compare all with all.
    """
    groups = _Groups(x, counts)
    with track("Linking", len(x)) as advance:
        if links is not None:
            _merge_linked(groups, links, advance)
        _merge_all(groups, advance)
    return sorted(groups.merges, key=lambda merge: merge.height)


def _merge_all(groups: _Groups, advance: Advance) -> None:
    """Merge until one group is left, looking for the nearest among all."""
    stale = np.arange(len(groups))
    near, distance = np.zeros(len(groups), dtype=np.int64), np.full(len(groups), np.inf)
    while len(groups) > 1:
        _find_nearest(groups.mean, stale, near, distance)
        left = _mutual(near, distance)
        right = near[left]
        changed = np.zeros(len(groups), dtype=bool)
        changed[left] = changed[right] = True
        kept = groups.merge(left, right, distance[left])
        again = (changed | changed[near])[kept]  # groups whose nearest is new or gone
        near, distance = (kept.cumsum() - 1)[near[kept]], distance[kept]
        stale = np.flatnonzero(again)
        advance(len(left))


def _merge_linked(groups: _Groups, links: Links, advance: Advance) -> None:
    """Merge while there are very many, looking for the nearest among those that are linked."""
    here, there = np.repeat(np.arange(len(groups)), links.rows.shape[1]), links.rows.ravel()
    ends = np.concatenate([here, there]), np.concatenate([there, here])  # a link leads there and back
    while is_large(len(groups)):
        graph = _graph(*ends, len(groups))
        near, distance = _nearest_linked(groups.mean, graph)
        rows = np.arange(len(groups))
        left = rows[(near[near] == rows) & (rows < near)]
        if not len(left):  # what is linked has merged
            return
        right = near[left]
        kept = groups.merge(left, right, distance[left])
        place = kept.cumsum() - 1
        place[right] = place[left]
        ends = place[np.repeat(rows, np.diff(graph.indptr))], place[graph.indices]
        advance(len(left))


def _graph(rows: NDArray[np.int64], others: NDArray[np.int64], n: int) -> csr_matrix:
    """Return the graph (n, n) of these links, each once, without those that lead from a group to itself."""
    apart = rows != others
    return csr_matrix((np.ones(apart.sum(), dtype=np.float32), (rows[apart], others[apart])), shape=(n, n))


def _nearest_linked(mean: Vectors, graph: csr_matrix) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the nearest linked group of each, and how far it is; itself where there is none."""
    rows, others = np.repeat(np.arange(len(mean)), np.diff(graph.indptr)), graph.indices
    far = np.empty(len(rows))
    for part in parts(len(rows)):
        far[part] = 1 - np.einsum("bd,bd->b", mean[rows[part]], mean[others[part]])
    # of many equal pairs only one would be nearest to each other, were there no chance that is the same at both ends
    far += 1e-7 * ((rows ^ others) * 2654435761 % 2**32) / 2**32
    linked = np.flatnonzero(np.diff(graph.indptr))
    near, distance = np.arange(len(mean)), np.full(len(mean), np.inf)
    distance[linked] = np.minimum.reduceat(far, graph.indptr[linked])
    found = far == distance[rows]
    near[rows[found]] = others[found]
    return near, distance


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
