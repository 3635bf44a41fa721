"""A short text says little; a text together with its neighbours says enough."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import diags_array, eye_array

from coterie.contracts import Vectors
from coterie.graph.nearest import Links


def unit_rows(x: NDArray[np.floating]) -> Vectors:
    """Scale each row to length one; rows of zeros stay zero."""
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x / np.where(length > 0, length, 1), dtype=np.float32)


def smooth(x: Vectors, links: Links, *, rounds: int, power: float = 3.0) -> Vectors:
    """Replace each row by the weighted mean of itself (weight 1) and its links (cosine ** power), ``rounds`` times."""
    graph = links.weights(power) + eye_array(len(x), format="csr")
    mean = (diags_array(1 / np.asarray(graph.sum(axis=1)).ravel()) @ graph).astype(np.float32)
    for _ in range(rounds):
        x = mean @ x
    return unit_rows(x)


def compress(x: Vectors, *, keep: float = 0.995) -> Vectors:
    """Return rows with the same dot products but fewer columns: the axes that hold the share ``keep`` of the variance.

    What the mean has outside of these axes, nearly all rows have; it becomes one more column.
    """
    mean = x.mean(axis=0, dtype=np.float64)
    centered = x - mean.astype(np.float32)
    variance, axes = np.linalg.eigh((centered.T @ centered).astype(np.float64))
    variance, axes = variance[::-1].clip(0), axes[:, ::-1]
    width = int(np.searchsorted(variance.cumsum(), keep * variance.sum())) + 1
    axes = axes[:, :width]
    rest = np.linalg.norm(mean - axes @ (axes.T @ mean))
    return np.column_stack([x @ axes.astype(np.float32), np.full(len(x), rest, dtype=np.float32)])
