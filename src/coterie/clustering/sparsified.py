"""Distances of all pairs of vectors with only the most similar pairs kept: the sparsification of HAC-SD."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from coterie.contracts import Vectors

FAR = 100.0
"""The distance of all pairs that are not kept."""
_ROWS = 512  # rows of the similarity matrix in memory at once

Condensed = NDArray[np.float64]
"""The upper triangle of a symmetric matrix row by row, n (n - 1) / 2 numbers, as scipy reads distances."""


def sparsified_distances(e: Vectors, n_kept: int) -> Condensed:
    r"""Return 1 - cosine of the ``n_kept`` pairs of unit vectors e (N, D) with the best score, and 100 for all others.

    .. math:: score_{ij} = \max(\frac{s_{ij} - m_i}{\sigma_i}, \frac{s_{ij} - m_j}{\sigma_j})

    m_i and \sigma_i are mean and standard deviation of the similarities of item i with all others.
    """
    mean, deviation = _row_statistics(e)
    n_pairs = len(e) * (len(e) - 1) // 2
    score = np.empty(n_pairs, dtype=np.float32)
    for place, i, s in _upper_rows(e):
        j = np.arange(i + 1, len(e))
        score[place] = np.maximum((s - mean[i]) / deviation[i], (s - mean[j]) / deviation[j])
    n_kept = min(max(n_kept, 1), n_pairs)
    threshold = np.partition(score, n_pairs - n_kept)[n_pairs - n_kept]
    distance = np.empty(n_pairs)
    for place, _, s in _upper_rows(e):
        distance[place] = np.where(score[place] >= threshold, np.maximum(1 - s, 0), FAR)
    return distance


def _row_statistics(e: Vectors) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return mean and standard deviation (N,) of each row of similarities without the diagonal, both divided by N."""
    n = len(e)
    mean, square = np.empty(n), np.empty(n)
    for start in range(0, n, _ROWS):
        rows = slice(start, start + _ROWS)
        s = e[rows] @ e.T
        s[np.arange(len(s)), np.arange(start, start + len(s))] = 0
        mean[rows] = s.sum(axis=1, dtype=np.float64) / n
        square[rows] = np.square(s).sum(axis=1, dtype=np.float64) / n
    deviation = np.sqrt(np.maximum(square - mean**2, 1e-12))
    return mean.astype(np.float32), deviation.astype(np.float32)


def _upper_rows(e: Vectors) -> Iterator[tuple[slice, int, Vectors]]:
    """Yield for each row i its place in the condensed matrix, i, and its similarities with the rows after it."""
    n = len(e)
    for start in range(0, n, _ROWS):
        block = e[start : start + _ROWS] @ e[start:].T
        for offset, row in enumerate(block):
            i = start + offset
            begin = i * n - i * (i + 1) // 2
            yield slice(begin, begin + n - 1 - i), i, row[offset + 1 :]
