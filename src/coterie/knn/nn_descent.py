"""Approximate nearest neighbors of many rows by NN-descent, with the package pynndescent.

A neighbor of a neighbor is likely a neighbor (Dong et al., WWW 2011, https://doi.org/10.1145/1963405.1963487).
It runs in one thread, because the result of pynndescent depends on the number of threads
(docs/adr/0010-neighbors-of-very-many-texts.md).
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.arrays import FIT_FACTOR, is_large
from coterie.contracts import Vectors
from coterie.data.user_cache import is_private, user_cache
from coterie.progress import Advance, has_listener, track

_OVERSAMPLING = 1.6  # searching for more neighbors than needed makes more of the needed ones correct


def has_nn_descent() -> bool:
    """Return whether pynndescent is installed (extra ``scale``)."""
    return find_spec("pynndescent") is not None


def nn_descent(x: Vectors, k: int, *, near: NDArray[np.int64] | None = None) -> tuple[NDArray[np.int64], Vectors]:
    """Return the approximate ``k`` nearest neighbors of each row of ``x`` (N, D), without the row itself.

    It returns their indices and cosine similarities, both (N, k), nearest first. The rows of ``x`` must have unit
    length. Where fewer than ``k`` neighbors were found, the row itself fills the gap, with similarity 0. The search
    begins from the rows ``near`` (N, any number), or from random trees, which take more time and memory.
    """
    with _kept_on_disk():
        from pynndescent import NNDescent

    max_rounds = max(round(np.log2(len(x))), 5)  # pynndescent stops earlier when few neighbors change
    n_searched = min(round(_OVERSAMPLING * k) + 1, len(x))  # plus one: a row finds itself
    with track("Finding neighbors", max_rounds) as advance, _rounds_to(advance), warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*Cannot cache compiled function")  # numba compiles it again
        indices, distances = NNDescent(
            x,
            **_metric(len(x)),
            n_neighbors=n_searched,
            n_iters=max_rounds,
            random_state=0,
            n_jobs=1,
            verbose=has_listener(),
            init_graph=None if near is None else near.astype(np.int32),
        ).neighbor_graph
    distances = distances.astype(np.float32)
    similarities = np.exp2(-distances) if _is_function(len(x)) else 1 - distances
    return _without_self(indices.astype(np.int64), similarities, k)


def _metric(n: int) -> dict[str, Any]:
    """Return the metric as pynndescent takes it: its name, or for very many rows the function that the name stands for.

    By the name, pynndescent makes a copy of all rows to scale them to unit length. By the function it takes them as
    they are, and returns -log2 of the cosine as the distance.
    """
    from pynndescent.distances import alternative_dot

    return {"metric": alternative_dot, "angular_trees": True} if _is_function(n) else {"metric": "dot"}


def _is_function(n: int) -> bool:
    return is_large(n, factor=FIT_FACTOR)


@contextmanager
def _kept_on_disk() -> Iterator[None]:
    """While pynndescent is imported, let numba keep what it compiles in the user's cache, for later processes.

    Functions that numba cannot keep are compiled again, as without this. NUMBA_CACHE_DIR names another folder. What is
    kept is code, so nothing is kept in a folder that others can write to.
    """
    import numba

    if "pynndescent" in sys.modules or os.environ.get("COTERIE_CACHE_MB") == "0":
        yield
        return
    njit, folder = numba.njit, numba.config.CACHE_DIR
    if not folder and not is_private(user_cache("compiled")):
        yield
        return
    numba.njit = lambda *args, **options: njit(*args, **options | {"cache": True})
    numba.config.CACHE_DIR = folder or str(user_cache("compiled"))
    try:
        yield
    finally:
        numba.njit, numba.config.CACHE_DIR = njit, folder


def _rounds_to(advance: Advance) -> AbstractContextManager[object]:
    """Return a context that reports the rounds pynndescent prints to ``advance``, if progress is shown."""
    return redirect_stdout(_RoundCounter(advance)) if has_listener() else nullcontext()


class _RoundCounter(io.TextIOBase):
    """Text stream that advances progress by one for each line with a slash (pynndescent prints ``3 / 12``)."""

    def __init__(self, advance: Advance) -> None:
        self.advance = advance

    def write(self, text: str) -> int:
        self.advance(text.count("/"))
        return len(text)


def _without_self(indices: NDArray[np.int64], similarities: Vectors, k: int) -> tuple[NDArray[np.int64], Vectors]:
    """Remove each row from its own neighbors, and keep the first ``k`` of the remaining ones.

    pynndescent marks a missing neighbor by a negative index. Where fewer than ``k`` remain, the row itself fills the
    gap, with similarity 0, so that the edge has no weight.
    """
    own = np.arange(len(indices))[:, None]
    missing = (indices < 0) | (indices == own)
    indices = np.where(missing, own, indices)
    similarities = np.where(missing, np.float32(0), similarities)
    first = missing.argsort(axis=1, kind="stable")[:, :k]  # present neighbors first, in their order
    return np.take_along_axis(indices, first, axis=1), np.take_along_axis(similarities, first, axis=1)
