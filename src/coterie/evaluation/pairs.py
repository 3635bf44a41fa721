"""Which texts training moved together or apart: the five kinds of pairs of ClusterBERT's Table 5."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.contracts import Vectors
from coterie.errors import InputError

Kind = Literal[
    "same label, stays close", "same label, moved together", "other label, moved together",
    "other label, moved apart", "same label, moved apart",
]  # fmt: skip
_BLOCK = 1024  # rows of a similarity matrix held at once


@dataclass(frozen=True)
class Pair:
    """Two texts by their rows, and their cosine before and after training."""

    kind: Kind
    first: int
    second: int
    before: float
    after: float


def telling_pairs(before: Vectors, after: Vectors, true_labels: ArrayLike, *, n_pairs: int = 10) -> list[Pair]:
    """Return ``n_pairs`` pairs of every kind, the most telling first, without an (N, N) matrix."""
    labels = np.unique(np.asarray(true_labels), return_inverse=True)[1]
    if not len(before) == len(after) == len(labels) or len(labels) < 2:
        raise InputError(f"{len(before)} and {len(after)} vectors for {len(labels)} labels; 2 of each at least.")
    found: list[Pair] = []
    a, b = _unit(before), _unit(after)
    for kind in get_args(Kind):
        best = _best(a, b, labels, kind, n_pairs)
        found += [Pair(kind, i, j, float(a[i] @ a[j]), float(b[i] @ b[j])) for i, j in best]
    return found


def _best(
    a: NDArray[np.float64], b: NDArray[np.float64], labels: NDArray[np.int64], kind: Kind, n: int
) -> list[tuple[int, int]]:
    """Return the pairs for which a kind's score is highest."""
    score: NDArray[np.float64] = np.empty(0)
    pairs = np.empty((0, 2), dtype=np.int64)
    for start, value in _scores(a, b, labels, kind):
        flat = np.argpartition(value.ravel(), -min(n, value.size))[-n:]
        flat = flat[np.isfinite(value.ravel()[flat])]
        rows, columns = np.divmod(flat, value.shape[1])
        score = np.concatenate([score, value.ravel()[flat]])
        pairs = np.concatenate([pairs, np.stack([rows + start, columns], axis=1)])
        order = np.argsort(-score, kind="stable")[:n]
        score, pairs = score[order], pairs[order]
    return [(int(i), int(j)) for i, j in pairs]


def _scores(
    a: NDArray[np.float64], b: NDArray[np.float64], labels: NDArray[np.int64], kind: Kind
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield the scores (block, N) of pairs by their first text; -inf for pairs of another kind or seen before."""
    of_kind: Callable[[NDArray[np.bool_]], NDArray[np.bool_]] = (
        (lambda s: s) if kind.startswith("same") else (lambda s: ~s)
    )
    for start in range(0, len(a), _BLOCK):
        rows = slice(start, start + _BLOCK)
        before, after = a[rows] @ a.T, b[rows] @ b.T
        value = np.minimum(before, after) if kind.endswith("close") else after - before
        value = -value if kind.endswith("apart") else value
        later = np.arange(len(a)) > np.arange(start, start + len(before))[:, None]  # each pair once
        yield start, np.where(of_kind(labels[rows, None] == labels) & later, value, -np.inf)


def _unit(h: Vectors) -> NDArray[np.float64]:
    h = np.asarray(h, dtype=np.float64)
    unit: NDArray[np.float64] = h / np.maximum(np.linalg.norm(h, axis=1, keepdims=True), 1e-12)
    return unit
