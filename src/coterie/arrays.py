"""Helpers for arrays with many rows: subsamples, chunks of rows, and rows of unit length."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

EXACT_LIMIT = 50_000  # up to this many rows, all pairs of rows are compared
FIT_FACTOR = 4  # more than 4 times as many rows are fitted on a sample first
_CHUNK_ROWS = 65_536  # larger than EXACT_LIMIT, so that data that are not subsampled are one chunk


def is_large(n: int, *, factor: int = 1) -> bool:
    """Return whether ``n`` rows exceed ``factor`` times the limit up to which all pairs of rows are compared."""
    return n > factor * EXACT_LIMIT


def subsample(n: int, *, factor: int = 1) -> NDArray[np.int64]:
    """Return sorted row indices: all ``n`` rows, or if :func:`is_large`, the same random sample in every call."""
    if not is_large(n, factor=factor):
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, factor * EXACT_LIMIT, replace=False))


def row_chunks(n: int) -> Iterator[slice]:
    """Yield slices that cover ``n`` rows once, in order, each small enough for temporary copies in memory."""
    for start in range(0, n, _CHUNK_ROWS):
        yield slice(start, start + _CHUNK_ROWS)


def unit_rows(x: NDArray[np.floating], *, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
    """Return ``x`` (N, D) with each row scaled to length one, in ``out`` if given. Rows of zeros stay zero."""
    if out is None:
        out = np.empty(x.shape, dtype=np.float32)
    for rows in row_chunks(len(x)):
        length = np.linalg.norm(x[rows], axis=1, keepdims=True)
        out[rows] = x[rows] / np.where(length > 0, length, 1)
    return out
