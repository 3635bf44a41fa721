"""How well vectors find what is alike: ranked candidates of a question, MRR and MAP. ClusterBERT Sec. 4.4."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from coterie.contracts import Vectors
from coterie.data.askubuntu import Question
from coterie.errors import InputError


def rerank(
    questions: Sequence[Question], embed: Callable[[Sequence[str]], Vectors], *, first: int = 10
) -> dict[str, float]:
    """Return ``mrr`` (of the ``first`` candidates) and ``map`` by the cosine of a question and its candidates.

    Questions without a similar one say nothing and are left out, as in sentence-transformers' evaluator.
    """
    told = [question for question in questions if any(question.similar)]
    if not told:
        raise InputError("No question has a similar one among its candidates, so there is nothing to find.")
    texts = list(dict.fromkeys(text for question in told for text in (question.title, *question.candidates)))
    place = {text: i for i, text in enumerate(texts)}
    h = np.asarray(embed(texts), dtype=np.float64)
    h /= np.maximum(np.linalg.norm(h, axis=1, keepdims=True), 1e-12)
    ranked = [_ranked(question, h, place) for question in told]
    return {
        "mrr": float(np.mean([reciprocal_rank(right, first=first) for right in ranked])),
        "map": float(np.mean([average_precision(right) for right in ranked])),
        "n_questions": float(len(told)),
    }


def reciprocal_rank(right: NDArray[np.bool_], *, first: int | None = None) -> float:
    """Return 1 / the rank of the first right candidate among the ``first``; 0 where there is none."""
    found = right[:first].nonzero()[0]
    return 1 / (int(found[0]) + 1) if len(found) else 0.0


def average_precision(right: NDArray[np.bool_]) -> float:
    """Return the mean, over right candidates, of the share of right ones up to their rank."""
    ranks = right.nonzero()[0] + 1
    return float((np.arange(1, len(ranks) + 1) / ranks).mean()) if len(ranks) else 0.0


def _ranked(question: Question, h: NDArray[np.float64], place: dict[str, int]) -> NDArray[np.bool_]:
    """Return which candidates are right, the nearest first; of equally near ones the wrong first."""
    cosine = h[[place[text] for text in question.candidates]] @ h[place[question.title]]
    right = np.array(question.similar)
    return right[np.lexsort((right, -cosine.round(12)))]
