"""The nearest rows of very many: nearly all of them, in a small part of the time.

Rows are put into cells around centers, and a row looks into the cells nearest to it only (an inverted file). Unlike an
index that is a graph, it is built the same way whatever the threads do (docs/adr/0010-cells-for-very-many-texts.md).
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.contracts import Vectors
from coterie.progress import track

Found = tuple[NDArray[np.int64], Vectors]
"""Rows and their cosines, both (N, k), nearest first."""

_PER_CELL = 40  # rows from which a center is learnt
_SWEEPS = 10  # of the k-means that places the centers
_OPENED = 32  # cells that a row looks into
_BLOCK = 16_384  # rows between two signs of progress


def can_search_cells() -> bool:
    """Whether the package that does it is installed (extra ``scale``)."""
    return find_spec("faiss") is not None


def search_cells(x: Vectors, k: int) -> Found:
    """Return nearly the ``k`` other rows nearest to each row of ``x`` (N, D), whose rows have length one."""
    import faiss

    n, width = x.shape
    n_cells = max(min(4 * int(np.sqrt(n)), n // _PER_CELL), 1)
    index: Any = faiss.index_factory(width, f"IVF{n_cells},Flat", faiss.METRIC_INNER_PRODUCT)
    index.cp.niter, index.cp.max_points_per_centroid, index.cp.min_points_per_centroid = _SWEEPS, _PER_CELL, 1
    index.train(x)
    index.nprobe = _OPENED
    rows, cosine = np.empty((n, k), dtype=np.int64), np.empty((n, k), dtype=np.float32)
    with track("Finding neighbours", 2 * n) as advance:  # a row is put into its cell, then it looks around
        for start in range(0, n, _BLOCK):
            index.add(x[start : start + _BLOCK])
            advance(len(x[start : start + _BLOCK]))
        for start in range(0, n, _BLOCK):
            block = slice(start, start + _BLOCK)
            near, found = index.search(x[block], k + 1)[::-1]
            rows[block], cosine[block] = _others(near, found, first=start)
            advance(len(near))
    return rows, cosine


def _others(rows: NDArray[np.int64], cosine: Vectors, *, first: int) -> Found:
    """Leave each row (B,), counted from ``first``, out of its own k + 1 nearest; the farthest where it is not there.

    Where the opened cells held fewer than that, the row itself is named with cosine 0: a link that weighs nothing.
    """
    own = first + np.arange(len(rows))[:, None]
    left_out = rows == own
    left_out[~left_out.any(axis=1), -1] = True
    shape = len(rows), rows.shape[1] - 1
    rows, cosine = rows[~left_out].reshape(shape), cosine[~left_out].reshape(shape)
    absent = rows < 0
    return np.where(absent, own, rows), np.where(absent, np.float32(0), cosine)
