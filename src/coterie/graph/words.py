"""What the words alone say: TF-IDF, reduced to a few directions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from coterie.contracts import Vectors
from coterie.graph.sample import is_large, parts, stand_ins
from coterie.graph.smoothing import unit_rows

_READ = 4  # times as many texts are read for their words as are compared, because most words are rare
_LEAST_COVERED = 0.5  # share of texts that must share a word with another; below it, characters are counted


def word_vectors(texts: Sequence[str], *, width: int, seed: int | None) -> Vectors | None:
    """Return rows of length one (N, width or less), zero where no word is shared; None when nothing is shared.

    Languages without spaces, and texts of one word each, are read by their characters.
    """
    counters = (
        TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english"),
        TfidfVectorizer(sublinear_tf=True, min_df=2, analyzer="char", ngram_range=(2, 3)),
    )
    for counter in counters:
        try:
            weights = _counted(counter, texts)
        except ValueError:  # scikit-learn's word for an empty vocabulary
            continue
        if (weights.getnnz(axis=1) > 0).mean() >= _LEAST_COVERED and weights.shape[1] > 2:
            return _reduced(weights, width, seed)
    return None


def _counted(counter: TfidfVectorizer, texts: Sequence[str]) -> csr_matrix:
    """Return the weights (N, V) of the words that the texts, or those that stand for them, share."""
    if not is_large(len(texts), times=_READ):
        return counter.fit_transform(texts)
    return counter.fit([texts[row] for row in stand_ins(len(texts), times=_READ)]).transform(texts)


def _reduced(weights: csr_matrix, width: int, seed: int | None) -> Vectors:
    """Return rows of length one (N, width or less) in the directions that hold most of ``weights`` (N, V)."""
    n, n_words = weights.shape
    svd = TruncatedSVD(min(width, n - 1, n_words - 1), random_state=seed)
    if not is_large(n, times=_READ):
        return unit_rows(svd.fit_transform(weights))
    svd.fit(weights[stand_ins(n, times=_READ)])
    return np.concatenate([unit_rows(svd.transform(weights[rows])) for rows in parts(n)])


def fuse(e: Vectors, words: Vectors, weight: float) -> Vectors:
    """Return rows whose dot products are (1 - weight) of that of ``e`` and ``weight`` of that of ``words``."""
    return unit_rows(np.hstack([np.sqrt(1 - weight) * e, np.sqrt(weight) * words]))
