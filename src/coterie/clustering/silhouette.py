"""Mean silhouette of a clustering, computed on a random sample of the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import silhouette_score

from coterie.contracts import Labels, Vectors

_COSINE_SAMPLE = 4000  # rows used by cosine_silhouette


def silhouette(
    x: NDArray[np.floating], labels: Labels, *, metric: str = "euclidean", sample: int = 5000, seed: int = 0
) -> float | None:
    """Return the mean silhouette of ``x`` (N, D) with ``labels`` (N,), between -1 and 1; None if it is undefined.

    Larger data are reduced to ``sample`` rows drawn with ``seed``. The silhouette is undefined if these rows have
    fewer than 2 clusters, or one cluster per row.
    """
    if sample < len(x):
        rows = np.random.default_rng(seed).choice(len(x), sample, replace=False)
        x = x[rows]
        labels = labels[rows]
    return _mean_silhouette(x, labels, metric)


def cosine_silhouette(x: Vectors, labels: Labels) -> float:
    """Return the mean silhouette of ``x`` (N, D) by cosine distance on a fixed sample; -1 if it is undefined."""
    rows = np.random.default_rng(0).permutation(len(x))[:_COSINE_SAMPLE]
    value = _mean_silhouette(x[rows], labels[rows], "cosine")
    return -1.0 if value is None else value


def _mean_silhouette(x: NDArray[np.floating], labels: Labels, metric: str) -> float | None:
    if not 2 <= len(np.unique(labels)) < len(labels):
        return None
    return float(silhouette_score(x, labels, metric=metric))
