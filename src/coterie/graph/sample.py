"""Beyond so many rows a sample stands for all of them, and what must see all of them goes through them in parts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

ALL = 50_000  # rows up to which all are compared with all
_PART = 65_536  # rows worked on at once; above ALL, so that a corpus without a sample is one part


def is_large(n: int, *, times: int = 1) -> bool:
    """Whether ``n`` rows are too many to compare all with all, or ``times`` as many where less is done with a row."""
    return n > times * ALL


def stand_ins(n: int, *, times: int = 1) -> NDArray[np.int64]:
    """Return the rows that stand for ``n``, in order: all of them, or the same random ones every time."""
    if not is_large(n, times=times):
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, times * ALL, replace=False))


def parts(n: int) -> Iterator[slice]:
    """Cut ``n`` rows into parts that fit the memory."""
    return (slice(start, start + _PART) for start in range(0, n, _PART))
