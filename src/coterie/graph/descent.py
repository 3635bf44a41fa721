"""The nearest rows of very many: nearly all of them, in a small part of the time.

Neighbours of neighbours are likely neighbours (NN-descent, Dong et al., WWW 2011, https://doi.org/10.1145/1963405.1963487;
here by pynndescent). In one thread, because the answer depends on how many there are, and it must not
(docs/adr/0010-neighbours-of-very-many-texts.md).
"""

from __future__ import annotations

import io
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from coterie.contracts import Vectors
from coterie.progress import Advance, is_heard, track

Found = tuple[NDArray[np.int64], Vectors]
"""Rows and their cosines, both (N, k), nearest first."""

_MORE = 1.6  # times as many are looked for as are needed: more of those are right


def can_descend() -> bool:
    """Whether the package that does it is installed (extra ``scale``)."""
    return find_spec("pynndescent") is not None


def descend(x: Vectors, k: int) -> Found:
    """Return nearly the ``k`` other rows nearest to each row of ``x`` (N, D), whose rows have length one."""
    from pynndescent import NNDescent

    rounds = max(round(np.log2(len(x))), 5)  # it stops before, when hardly anything changes
    asked = min(round(_MORE * k) + 1, len(x))  # a row is near to itself
    settings = {"metric": "dot", "n_neighbors": asked, "n_iters": rounds, "random_state": 0, "n_jobs": 1}
    with track("Finding neighbours", rounds) as advance, _told(advance):
        rows, distance = NNDescent(x, **settings, verbose=is_heard()).neighbor_graph
    return _others(rows.astype(np.int64), 1 - distance.astype(np.float32), k)


def _told(advance: Advance) -> AbstractContextManager[object]:
    return redirect_stdout(_Rounds(advance)) if is_heard() else nullcontext()


class _Rounds(io.TextIOBase):
    """What pynndescent prints, of which a line with a slash is a round, becomes progress."""

    def __init__(self, advance: Advance) -> None:
        self.advance = advance

    def write(self, text: str) -> int:
        self.advance(text.count("/"))
        return len(text)


def _others(rows: NDArray[np.int64], cosine: Vectors, k: int) -> Found:
    """Leave each row out of its own nearest, and keep the first ``k`` of the others.

    Where fewer were found, the row itself is named with cosine 0: a link that weighs nothing.
    """
    own = np.arange(len(rows))[:, None]
    absent = (rows < 0) | (rows == own)
    rows, cosine = np.where(absent, own, rows), np.where(absent, np.float32(0), cosine)
    first = absent.argsort(axis=1, kind="stable")[:, :k]
    return np.take_along_axis(rows, first, axis=1), np.take_along_axis(cosine, first, axis=1)
