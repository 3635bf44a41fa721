"""Agreement with true labels, and shape without them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn import metrics as sk

from coterie.contracts import Labels
from coterie.errors import InputError
from coterie.evaluation.matching import check_labels, contingency

_BLOCK = 2048  # rows of a distance matrix held at once


def accuracy(true_labels: ArrayLike, labels: ArrayLike) -> float:
    """ACC: share of texts whose cluster is matched (Hungarian) to their class. SCCL Sec. 4."""
    table = contingency(*check_labels(true_labels, labels))
    return float(table[linear_sum_assignment(table, maximize=True)].sum() / table.sum())


def purity(true_labels: ArrayLike, labels: ArrayLike) -> float:
    """Share of texts that belong to the largest class of their cluster (what HAC-SD's code calls accuracy)."""
    table = contingency(*check_labels(true_labels, labels))
    return float(table.max(axis=0).sum() / table.sum())


def agreement(true_labels: ArrayLike, labels: ArrayLike) -> dict[str, float]:
    """Return every metric that compares clusters with true labels."""
    y, k = check_labels(true_labels, labels)
    return {
        "acc": accuracy(y, k),
        "nmi": float(sk.normalized_mutual_info_score(y, k, average_method="arithmetic")),
        "nmi_geometric": float(sk.normalized_mutual_info_score(y, k, average_method="geometric")),
        "ari": float(sk.adjusted_rand_score(y, k)),
        "ami": float(sk.adjusted_mutual_info_score(y, k)),
        "purity": purity(y, k),
    }


def shape(h: NDArray[np.floating], labels: Labels, *, sample: int = 5000, seed: int = 0) -> dict[str, float]:
    """Return every metric that needs no true labels; silhouette on at most ``sample`` texts."""
    _check_clusters(h, labels)
    return {
        "silhouette": silhouette(h, labels, sample=sample, seed=seed),
        "dunn": dunn(h, labels),
        "intra_distance": intra_distance(h, labels),
        "inter_distance": inter_distance(h, labels),
    }


def silhouette(h: NDArray[np.floating], labels: Labels, *, sample: int = 5000, seed: int = 0) -> float:
    """Mean over texts of (b - a) / max(a, b): distance to the next cluster against the own (-1 to 1)."""
    _check_clusters(h, labels)
    if sample < len(h):
        drawn = np.random.default_rng(seed).choice(len(h), sample, replace=False)
        h, labels = h[drawn], labels[drawn]
        _check_clusters(h, labels)
    return float(sk.silhouette_score(h, labels))


def dunn(h: NDArray[np.floating], labels: Labels) -> float:
    """Least distance between texts of two clusters over the largest within one, without an (N, N) matrix."""
    _check_clusters(h, labels)
    h = np.asarray(h, dtype=np.float64)
    h = h - h.mean(axis=0)  # |a|^2 + |b|^2 - 2ab loses digits far from the origin
    square = (h**2).sum(axis=1)
    between, within = np.inf, 0.0
    for start in range(0, len(h), _BLOCK):
        rows = slice(start, start + _BLOCK)
        distance = np.maximum(square[rows, None] + square - 2 * h[rows] @ h.T, 0)  # (block, N), squared
        same = labels[rows, None] == labels
        near, far = np.where(same, np.inf, distance).argmin(), np.where(same, distance, -1).argmax()
        between = min(between, _distance(h, start, near))
        within = max(within, _distance(h, start, far))
    return between / within if within > 0 else float("inf")


def _distance(h: NDArray[np.floating], start: int, flat: np.intp) -> float:
    """Return a distance without the rounding of the fast formula: zero for equal texts."""
    i, j = divmod(int(flat), len(h))
    return float(np.linalg.norm(h[start + i] - h[j]))


def intra_distance(h: NDArray[np.floating], labels: Labels) -> float:
    """Mean over clusters of the mean distance of a text to its cluster's mean. SCCL Fig. 4."""
    means, index = _means(h, labels)
    distance = np.linalg.norm(h - means[index], axis=1)
    return float((np.bincount(index, distance) / np.bincount(index)).mean())


def inter_distance(h: NDArray[np.floating], labels: Labels) -> float:
    """Mean over clusters of the distance of its mean to the nearest other mean. SCCL Fig. 4."""
    means, _ = _means(h, labels)
    distance = sk.pairwise_distances(means)
    np.fill_diagonal(distance, np.inf)
    return float(distance.min(axis=1).mean())


def _means(h: NDArray[np.floating], labels: Labels) -> tuple[NDArray[np.float64], Labels]:
    _check_clusters(h, labels)
    names, index = np.unique(labels, return_inverse=True)
    sums = np.zeros((len(names), h.shape[1]))
    np.add.at(sums, index, h)
    return sums / np.bincount(index)[:, None], index


def _check_clusters(h: NDArray[np.floating], labels: Labels) -> None:
    if np.ndim(h) != 2 or np.ndim(labels) != 1:
        raise InputError(f"Vectors must be a table and labels a list, got shapes {np.shape(h)} and {np.shape(labels)}.")
    if not np.isfinite(h).all():
        raise InputError("Some vectors are not numbers. Leave blank texts (cluster -1) out.")
    n_clusters = len(np.unique(labels))
    if len(h) != len(labels):
        raise InputError(f"{len(h)} vectors, but {len(labels)} labels.")
    if not 2 <= n_clusters < len(h):
        raise InputError(f"These metrics need 2 clusters or more, and fewer than texts; got {n_clusters}.")
