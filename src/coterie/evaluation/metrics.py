"""Clustering metrics: external ones compare clusters with true labels, internal ones use the vectors only."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import metrics as sk

from coterie.clustering.matching import contingency, match
from coterie.clustering.silhouette import silhouette as sampled_silhouette
from coterie.contracts import Labels
from coterie.errors import InputError

_BLOCK = 2048  # rows of a distance matrix that are in memory at once


def check_labels(true_labels: ArrayLike, labels: ArrayLike) -> tuple[Labels, Labels]:
    """Return both label arrays (N,) encoded as 0..C-1 and 0..K-1. Raise an InputError if they cannot be compared."""
    true_labels = np.asarray(true_labels)
    labels = np.asarray(labels)
    if true_labels.ndim != 1 or true_labels.shape != labels.shape:
        raise InputError(
            "True labels and clusters must be one-dimensional and of equal length, got shapes "
            f"{true_labels.shape} and {labels.shape}."
        )
    if not len(labels):
        raise InputError("There are no labels to compare.")
    encoded_true_labels = np.unique(true_labels, return_inverse=True)[1]
    encoded_labels = np.unique(labels, return_inverse=True)[1]
    return encoded_true_labels.astype(np.int64), encoded_labels.astype(np.int64)


def accuracy(true_labels: ArrayLike, labels: ArrayLike) -> float:
    """Return ACC, the share of texts whose cluster is matched (Hungarian algorithm) to their class. SCCL Sec. 4."""
    table = contingency(*check_labels(true_labels, labels))
    return float(table[match(table)].sum() / table.sum())


def purity(true_labels: ArrayLike, labels: ArrayLike) -> float:
    """Return the share of texts in the largest class of their cluster (the "accuracy" of HAC-SD's official code)."""
    table = contingency(*check_labels(true_labels, labels))
    return float(table.max(axis=0).sum() / table.sum())


def agreement(true_labels: ArrayLike, labels: ArrayLike) -> dict[str, float]:
    """Return every external metric by name: acc, nmi, nmi_geometric, ari, ami, purity."""
    y, k = check_labels(true_labels, labels)
    return {
        "acc": accuracy(y, k),
        "nmi": float(sk.normalized_mutual_info_score(y, k, average_method="arithmetic")),
        "nmi_geometric": float(sk.normalized_mutual_info_score(y, k, average_method="geometric")),
        "ari": float(sk.adjusted_rand_score(y, k)),
        "ami": float(sk.adjusted_mutual_info_score(y, k)),
        "purity": purity(y, k),
    }


def internal_metrics(h: NDArray[np.floating], labels: Labels, *, sample: int = 5000, seed: int = 0) -> dict[str, float]:
    """Return every internal metric by name: silhouette (of at most ``sample`` rows), dunn, intra_ and inter_distance.

    ``h`` (N, D) are the vectors and ``labels`` (N,) their clusters.
    """
    _check_clusters(h, labels)
    return {
        "silhouette": silhouette(h, labels, sample=sample, seed=seed),
        "dunn": dunn(h, labels),
        "intra_distance": intra_distance(h, labels),
        "inter_distance": inter_distance(h, labels),
    }


def silhouette(h: NDArray[np.floating], labels: Labels, *, sample: int = 5000, seed: int = 0) -> float:
    """Return the mean silhouette by Euclidean distance, of at most ``sample`` rows drawn with ``seed`` (-1 to 1)."""
    _check_clusters(h, labels)
    value = sampled_silhouette(h, labels, sample=sample, seed=seed)
    if value is None:
        raise InputError(
            f"The silhouette is undefined: the sample of {sample} rows has fewer than 2 clusters, or one cluster per "
            "row. Use a larger sample."
        )
    return value


def dunn(h: NDArray[np.floating], labels: Labels) -> float:
    """Return the Dunn index, without an (N, N) matrix.

    It is the smallest distance between two rows of different clusters over the largest distance within a cluster, and
    infinite if all rows of every cluster are identical.
    """
    _check_clusters(h, labels)
    h = np.asarray(h, dtype=np.float64)
    h = h - h.mean(axis=0)  # |a|^2 + |b|^2 - 2ab loses precision far from the origin
    square = (h**2).sum(axis=1)
    between = np.inf
    within = 0.0
    for start in range(0, len(h), _BLOCK):
        left, right = h[start : start + _BLOCK], h[start:]  # earlier rows were compared with all later ones
        distance = square[start : start + _BLOCK, None] + square[start:] - 2 * left @ right.T  # (block, rest), squared
        same = labels[start : start + _BLOCK, None] == labels[start:]
        farthest = np.where(same, distance, -np.inf).argmax()
        within = max(within, _distance(left, right, farthest))
        if not same.all():  # the last rows may all be in one cluster
            nearest = np.where(same, np.inf, distance).argmin()
            between = min(between, _distance(left, right, nearest))
    return between / within if within > 0 else float("inf")


def _distance(left: NDArray[np.floating], right: NDArray[np.floating], flat_index: np.intp) -> float:
    """Return the exact distance of the pair at ``flat_index`` of all pairs: 0 for identical rows."""
    i, j = divmod(int(flat_index), len(right))
    return float(np.linalg.norm(left[i] - right[j]))


def intra_distance(h: NDArray[np.floating], labels: Labels) -> float:
    """Return the mean distance of a row to the mean of its cluster, averaged over clusters. SCCL Fig. 4."""
    means, index = _cluster_means(h, labels)
    distance = np.linalg.norm(h - means[index], axis=1)
    return float((np.bincount(index, distance) / np.bincount(index)).mean())


def inter_distance(h: NDArray[np.floating], labels: Labels) -> float:
    """Return the distance of a cluster mean to the nearest other cluster mean, averaged over clusters. SCCL Fig. 4."""
    means, _ = _cluster_means(h, labels)
    distance = sk.pairwise_distances(means)
    np.fill_diagonal(distance, np.inf)
    return float(distance.min(axis=1).mean())


def _cluster_means(h: NDArray[np.floating], labels: Labels) -> tuple[NDArray[np.float64], Labels]:
    """Return the cluster means (K, D), and the cluster index (N,) of every row."""
    _check_clusters(h, labels)
    names, index = np.unique(labels, return_inverse=True)
    sums = np.zeros((len(names), h.shape[1]))
    np.add.at(sums, index, h)
    return sums / np.bincount(index)[:, None], index


def _check_clusters(h: NDArray[np.floating], labels: Labels) -> None:
    if np.ndim(h) != 2 or np.ndim(labels) != 1:
        raise InputError(
            "Vectors must be two-dimensional and labels one-dimensional, got shapes "
            f"{np.shape(h)} and {np.shape(labels)}."
        )
    if not np.isfinite(h).all():
        raise InputError("Some vectors are NaN or infinite. Leave out blank texts (cluster -1).")
    if len(h) != len(labels):
        raise InputError(f"{len(h)} vectors, but {len(labels)} labels.")
    n_clusters = len(np.unique(labels))
    if not 2 <= n_clusters < len(h):
        raise InputError(
            f"Internal metrics need at least 2 clusters and fewer clusters than rows, got {n_clusters} clusters "
            f"of {len(h)} rows."
        )
