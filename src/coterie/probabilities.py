"""What is done with the probabilities of every objective: they are made realistic, and clusters may be merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SMALLEST = 1e-12  # below which a probability is none
_LESS = 1 - 1e-9  # a probability that is less than another, after rounding, too


@dataclass(frozen=True)
class Calibration:
    """How probabilities are made realistic: a temperature T, and noise that is shared by all clusters."""

    temperature: float = 1.0
    noise: float = 0.0

    def apply(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the realistic probabilities (N, K) of q (N, K)."""
        if self == Calibration():
            return q
        return self.apply_to_log(np.log(q + _SMALLEST))

    def apply_to_log(self, log_q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the realistic probabilities (N, K) of log q (N, K)."""
        p = np.exp((log_q - log_q.max(axis=1, keepdims=True)) / self.temperature)
        p /= p.sum(axis=1, keepdims=True)
        return np.asarray((1 - self.noise) * p + self.noise / p.shape[1])


@dataclass(frozen=True)
class Merges:
    """Clusters that the user merged. A merged cluster has the smallest number of its members; the others are unused."""

    target: tuple[int, ...] = ()  # (K,) the cluster that each cluster belongs to now; empty: nothing is merged
    sizes: tuple[int, ...] = ()  # (K,) the items of each cluster before it was merged: the weight of its center

    @property
    def removed(self) -> list[int]:
        """The numbers that are not used any more."""
        return [k for k, target in enumerate(self.target) if target != k]

    @property
    def groups(self) -> list[list[int]]:
        """The members of each merged cluster."""
        return [self.members(k) for k in sorted({self.target[removed] for removed in self.removed})]

    def members(self, cluster: int) -> list[int]:
        """Return the clusters that ``cluster`` was merged from, or the cluster itself."""
        return [k for k, target in enumerate(self.target) if target == cluster] or [cluster]

    def merge(self, clusters: Sequence[int], sizes: Sequence[int]) -> Merges:
        """Return these merges and one more. ``sizes`` (K,) are those of the clusters as they are now."""
        target = self.target or tuple(range(len(sizes)))
        merged = tuple(min(clusters) if k in clusters else k for k in target)
        return Merges(merged, self.sizes or tuple(int(size) for size in sizes))

    def labels(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return labels (N,) with the numbers of merged clusters; -1 stays."""
        if not self.target:
            return labels
        return np.where(labels < 0, labels, np.asarray(self.target)[labels])

    def apply(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return q (N, K) in which a merged cluster is as probable as its members together.

        Merging moves no item of other clusters: there, the merged cluster stays less probable than the item's own.
        """
        if not self.target:
            return q
        rows, own = np.arange(len(q)), np.asarray(self.target)[q.argmax(axis=1)]
        merged = np.zeros_like(q)
        for k, target in enumerate(self.target):
            merged[:, target] += q[:, k]
        largest = merged[rows, own]
        merged = np.minimum(merged, _LESS * largest[:, None])
        merged[rows, own] = largest
        return np.asarray(merged / merged.sum(axis=1, keepdims=True))

    def centers(self, centers: NDArray[Any]) -> NDArray[Any]:
        """Return centers (K, D) in which members of a merged cluster all have its center."""
        if not self.target:
            return centers
        target, weights = np.asarray(self.target), np.maximum(self.sizes, _SMALLEST)
        total = np.zeros(centers.shape)
        np.add.at(total, target, centers * weights[:, None])
        means = total / np.bincount(target, weights, len(target)).clip(_SMALLEST)[:, None]
        return np.asarray(means[target], dtype=centers.dtype)
