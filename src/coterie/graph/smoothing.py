"""A short text says little; a text together with its neighbours says enough."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import diags_array, eye_array

from coterie.contracts import Vectors
from coterie.graph.nearest import Links
from coterie.graph.sample import parts

_COLUMNS = 64  # smoothed at once


def unit_rows(x: NDArray[np.floating], *, out: Vectors | None = None) -> Vectors:
    """Scale each row to length one, into ``out`` if it is given; rows of zeros stay zero."""
    out = np.empty(x.shape, dtype=np.float32) if out is None else out
    for rows in parts(len(x)):
        length = np.linalg.norm(x[rows], axis=1, keepdims=True)
        out[rows] = x[rows] / np.where(length > 0, length, 1)
    return out


def smooth(x: Vectors, links: Links, *, rounds: int, power: float = 3.0) -> Vectors:
    """Replace each row by the weighted mean of itself (weight 1) and its links (cosine ** power), ``rounds`` times."""
    graph = links.weights(power) + eye_array(len(x), format="csr")
    mean = (diags_array(1 / np.asarray(graph.sum(axis=1)).ravel()) @ graph).astype(np.float32)
    smoothed = np.empty_like(x)
    for start in range(0, x.shape[1], _COLUMNS):  # a few columns at a time, so that only the result is held twice
        columns = slice(start, start + _COLUMNS)
        part = x[:, columns]
        for _ in range(rounds):
            part = mean @ part
        smoothed[:, columns] = part
    return unit_rows(smoothed, out=smoothed)


def compress(x: Vectors, *, keep: float = 0.995) -> Vectors:
    """Return rows with the same dot products but fewer columns: the axes that hold the share ``keep`` of the variance.

    What the mean has outside of these axes, nearly all rows have; it becomes one more column.
    """
    mean = x.mean(axis=0, dtype=np.float64)
    scatter = np.zeros((x.shape[1], x.shape[1]))
    for rows in parts(len(x)):
        centered = x[rows] - mean.astype(np.float32)
        scatter += centered.T @ centered
    variance, axes = np.linalg.eigh(scatter)
    variance, axes = variance[::-1].clip(0), axes[:, ::-1]
    width = int(np.searchsorted(variance.cumsum(), keep * variance.sum())) + 1
    axes = axes[:, :width]
    rest = np.linalg.norm(mean - axes @ (axes.T @ mean))
    return np.column_stack([x @ axes.astype(np.float32), np.full(len(x), rest, dtype=np.float32)])
