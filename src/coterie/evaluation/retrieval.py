"""Retrieval of similar questions: rank the candidates of a query by cosine, MRR and MAP. ClusterBERT Sec. 4.4."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from coterie.contracts import Vectors
from coterie.datasets.askubuntu import Question
from coterie.errors import InputError


def rerank(
    questions: Sequence[Question], embed: Callable[[Sequence[str]], Vectors], *, top_k: int = 10
) -> dict[str, float]:
    """Return ``mrr`` (of the ``top_k`` candidates), ``map`` and ``n_questions``.

    Candidates are ranked by the cosine to their question. Questions without a similar candidate are left out, as in
    the evaluator of sentence-transformers.
    """
    valid = [question for question in questions if any(question.similar)]
    if not valid:
        raise InputError("No question has a similar one among its candidates, so there is nothing to retrieve.")
    texts = list(dict.fromkeys(text for question in valid for text in (question.title, *question.candidates)))
    row = {text: i for i, text in enumerate(texts)}
    h = np.asarray(embed(texts), dtype=np.float64)
    h /= np.maximum(np.linalg.norm(h, axis=1, keepdims=True), 1e-12)
    ranked = [_ranked_relevance(question, h, row) for question in valid]
    return {
        "mrr": float(np.mean([reciprocal_rank(relevant, top_k=top_k) for relevant in ranked])),
        "map": float(np.mean([average_precision(relevant) for relevant in ranked])),
        "n_questions": float(len(valid)),
    }


def reciprocal_rank(relevant: NDArray[np.bool_], *, top_k: int | None = None) -> float:
    """Return 1 / rank of the first relevant candidate among the ``top_k``; 0 if there is none.

    ``relevant`` (n,) is in the order of the ranking.
    """
    positions = relevant[:top_k].nonzero()[0]
    return 1 / (int(positions[0]) + 1) if len(positions) else 0.0


def average_precision(relevant: NDArray[np.bool_]) -> float:
    """Return the mean, over relevant candidates, of the precision at their rank; 0 if there is none."""
    ranks = relevant.nonzero()[0] + 1
    return float((np.arange(1, len(ranks) + 1) / ranks).mean()) if len(ranks) else 0.0


def _ranked_relevance(question: Question, h: NDArray[np.float64], row: dict[str, int]) -> NDArray[np.bool_]:
    """Return which candidates are similar, in order of decreasing cosine. In a tie the dissimilar ones come first."""
    cosine = h[[row[text] for text in question.candidates]] @ h[row[question.title]]
    relevant = np.array(question.similar)
    return relevant[np.lexsort((relevant, -cosine.round(12)))]
