"""Pairs of texts that training moved together or apart: the five kinds of pairs of ClusterBERT Table 5."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.contracts import Vectors
from coterie.errors import InputError

Kind = Literal[
    "same label, stays close",
    "same label, moved together",
    "other label, moved together",
    "other label, moved apart",
    "same label, moved apart",
]
_BLOCK = 1024  # rows of a similarity matrix that are in memory at once


@dataclass(frozen=True)
class Pair:
    """Two texts by their row numbers, and their cosine before and after training."""

    kind: Kind
    first: int
    second: int
    before: float
    after: float


def moved_pairs(before: Vectors, after: Vectors, true_labels: ArrayLike, *, n_pairs: int = 10) -> list[Pair]:
    """Return the ``n_pairs`` pairs of every kind with the highest score, without an (N, N) matrix.

    ``before`` and ``after`` (N, D) are the vectors of the same texts before and after training. The score is the
    smaller cosine for pairs that stay close, and the change of the cosine for the others.
    """
    labels = np.unique(np.asarray(true_labels), return_inverse=True)[1]
    if not len(before) == len(after) == len(labels) or len(labels) < 2:
        raise InputError(
            f"{len(before)} and {len(after)} vectors for {len(labels)} labels; they must be equal and at least 2."
        )
    unit_before = _unit_rows(before)
    unit_after = _unit_rows(after)
    pairs: list[Pair] = []
    for kind in get_args(Kind):
        for i, j in _top_pairs(unit_before, unit_after, labels, kind, n_pairs):
            cosine_before = float(unit_before[i] @ unit_before[j])
            cosine_after = float(unit_after[i] @ unit_after[j])
            pairs.append(Pair(kind, i, j, cosine_before, cosine_after))
    return pairs


def _top_pairs(
    before: NDArray[np.float64], after: NDArray[np.float64], labels: NDArray[np.int64], kind: Kind, n: int
) -> list[tuple[int, int]]:
    """Return the ``n`` pairs of rows with the highest score of a kind."""
    scores: NDArray[np.float64] = np.empty(0)
    pairs = np.empty((0, 2), dtype=np.int64)
    for start, block in _score_blocks(before, after, labels, kind):
        flat_scores = block.ravel()
        top = np.argpartition(flat_scores, -min(n, block.size))[-n:]
        top = top[np.isfinite(flat_scores[top])]
        rows, columns = np.divmod(top, block.shape[1])
        scores = np.concatenate([scores, flat_scores[top]])
        pairs = np.concatenate([pairs, np.stack([rows + start, columns], axis=1)])
        order = np.argsort(-scores, kind="stable")[:n]
        scores = scores[order]
        pairs = pairs[order]
    return [(int(i), int(j)) for i, j in pairs]


def _score_blocks(
    before: NDArray[np.float64], after: NDArray[np.float64], labels: NDArray[np.int64], kind: Kind
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield the first row of each block, and the scores (block, N) of its pairs.

    The score is -inf for pairs of another kind, and for pairs (i, j) with j <= i so that each pair is counted once.
    """
    for start in range(0, len(before), _BLOCK):
        rows = slice(start, start + _BLOCK)
        cosine_before = before[rows] @ before.T
        cosine_after = after[rows] @ after.T
        if kind.endswith("close"):
            score = np.minimum(cosine_before, cosine_after)
        elif kind.endswith("apart"):
            score = -(cosine_after - cosine_before)
        else:
            score = cosine_after - cosine_before
        same_label = labels[rows, None] == labels
        of_kind = same_label if kind.startswith("same") else ~same_label
        is_upper = np.arange(len(before)) > np.arange(start, start + len(cosine_before))[:, None]
        yield start, np.where(of_kind & is_upper, score, -np.inf)


def _unit_rows(h: Vectors) -> NDArray[np.float64]:
    h = np.asarray(h, dtype=np.float64)
    unit: NDArray[np.float64] = h / np.maximum(np.linalg.norm(h, axis=1, keepdims=True), 1e-12)
    return unit
