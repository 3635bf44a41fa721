"""Match clusters to true classes, one to one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from coterie.contracts import Labels
from coterie.errors import InputError


def check_labels(true_labels: ArrayLike, labels: ArrayLike) -> tuple[Labels, Labels]:
    """Return both as numbers 0..C-1 and 0..K-1, whatever they were called."""
    true_labels, labels = np.asarray(true_labels), np.asarray(labels)
    if true_labels.ndim != 1 or true_labels.shape != labels.shape:
        raise InputError(
            f"True labels and clusters must be two lists of one length, got shapes {true_labels.shape} "
            f"and {labels.shape}."
        )
    if not len(labels):
        raise InputError("There are no labels to compare.")
    first, second = (np.unique(values, return_inverse=True)[1] for values in (true_labels, labels))
    return first.astype(np.int64), second.astype(np.int64)


def contingency(true_labels: Labels, labels: Labels) -> NDArray[np.int64]:
    """Return how often class c (row) is in cluster k (column), shape (C, K)."""
    table = np.zeros((true_labels.max() + 1, labels.max() + 1), dtype=np.int64)
    np.add.at(table, (true_labels, labels), 1)
    return table


def match_clusters(true_labels: Labels, labels: Labels) -> dict[int, int]:
    """Return the class of each cluster under the one-to-one matching that agrees most (Hungarian)."""
    table = contingency(true_labels, labels)
    classes, clusters = linear_sum_assignment(table, maximize=True)
    return dict(zip(clusters.tolist(), classes.tolist(), strict=True))
