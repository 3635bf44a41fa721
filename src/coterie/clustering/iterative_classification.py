"""Iterative classification: improve any clusters by a classifier trained on their most typical items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from coterie.contracts import Items, Labels, Vectors

_OUTLIERS = 0.1  # share of each cluster that the isolation forest removes
_SHARE = (0.7, 0.85)  # of the mean cluster size: range of the most items of a cluster that are trained on
_MIN_CHANGE = 0.05  # of the mean cluster size: smaller mean changes of cluster sizes end the iterations
_MIN_MEMBERS = 4  # a forest of fewer items says nothing


def classify_iteratively(items: Items, h: Vectors, labels: Labels, n_clusters: int, rounds: int, seed: int) -> Labels:
    """Return improved labels (N,): in each round a classifier learns the typical items and relabels all others.

    Features are TF-IDF of texts, or h (N, D) for items without words.
    """
    rng = np.random.default_rng(seed)
    x = TfidfVectorizer().fit_transform(items).tocsr() if _have_words(items) else h
    size = len(labels) / n_clusters
    for _ in range(rounds):
        most = max(int(size * rng.uniform(*_SHARE)), 1)
        typical = np.concatenate([_typical(x, np.flatnonzero(labels == k), most, rng) for k in range(n_clusters)])
        rest = np.setdiff1d(np.arange(len(labels)), typical)
        if not len(rest) or n_clusters == 1:
            return labels
        classifier = LogisticRegression(max_iter=200).fit(x[typical], labels[typical])
        before, labels = labels, labels.copy()
        labels[rest] = classifier.predict(x[rest])
        change = np.abs(np.bincount(labels, minlength=n_clusters) - np.bincount(before, minlength=n_clusters))
        if change.mean() < _MIN_CHANGE * size:
            break
    return labels


def _typical(x: Any, rows: NDArray[np.int64], most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return at most ``most`` of the rows of a cluster, without its outliers."""
    if len(rows) >= _MIN_MEMBERS:
        forest = IsolationForest(contamination=_OUTLIERS, random_state=int(rng.integers(2**31)))
        rows = rows[forest.fit_predict(x[rows]) == 1]
    return rng.permutation(rows)[:most]


def _have_words(items: Items) -> bool:
    """Whether the items are texts, and at least one has a word of two letters or more."""
    if not (isinstance(items, Sequence) and items and isinstance(items[0], str)):
        return False
    words = TfidfVectorizer().build_analyzer()
    return any(words(text) for text in items)
