"""Average embeddings over their nearest neighbors, and reduce the dimension of the result."""

from __future__ import annotations

import numpy as np
from scipy.sparse import diags_array, eye_array

from coterie.arrays import row_chunks, unit_rows
from coterie.contracts import Vectors
from coterie.knn.graph import KNNGraph

_COLUMNS = 64  # columns smoothed at once


def smooth(x: Vectors, graph: KNNGraph, *, rounds: int, power: float = 3.0) -> Vectors:
    r"""Return ``x`` (N, D) averaged over the neighbors ``rounds`` times, with rows of unit length.

    .. math:: x_i \leftarrow \frac{x_i + \sum_{j \in NN(i)} w_{ij} x_j}{1 + \sum_j w_{ij}},
              \qquad w_{ij} = \max(\cos(x_i, x_j), 0)^{power}

    The weights are those of ``graph`` in every round.
    """
    weights = graph.weights(power) + eye_array(len(x), format="csr")  # (N, N)
    total = np.asarray(weights.sum(axis=1)).ravel()
    averaging = (diags_array(1 / total) @ weights).astype(np.float32)
    smoothed = np.empty_like(x)
    for start in range(0, x.shape[1], _COLUMNS):  # few columns at a time, so that temporary copies stay small
        columns = slice(start, start + _COLUMNS)
        part = x[:, columns]
        for _ in range(rounds):
            part = averaging @ part
        smoothed[:, columns] = part
    return unit_rows(smoothed, out=smoothed)


def compress(x: Vectors, *, keep: float = 0.995) -> Vectors:
    """Return rows with nearly the same dot products as ``x`` (N, D) but fewer columns.

    The columns are the principal axes that explain the share ``keep`` of the variance, and one constant column: the
    length of the part of the mean that is orthogonal to these axes.
    """
    mean = x.mean(axis=0, dtype=np.float64)
    scatter = np.zeros((x.shape[1], x.shape[1]))
    for rows in row_chunks(len(x)):
        centered = x[rows] - mean.astype(np.float32)
        scatter += centered.T @ centered
    variance, axes = np.linalg.eigh(scatter)  # ascending
    variance = variance[::-1].clip(0)
    axes = axes[:, ::-1]
    n_axes = int(np.searchsorted(variance.cumsum(), keep * variance.sum())) + 1
    axes = axes[:, :n_axes]
    constant = np.linalg.norm(mean - axes @ (axes.T @ mean))
    return np.column_stack([x @ axes.astype(np.float32), np.full(len(x), constant, dtype=np.float32)])
