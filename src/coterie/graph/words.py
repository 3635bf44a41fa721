"""What the words alone say: TF-IDF, reduced to a few directions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from coterie.contracts import Vectors
from coterie.graph.smoothing import unit_rows

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
            weights = counter.fit_transform(texts)
        except ValueError:  # scikit-learn's word for an empty vocabulary
            continue
        if (weights.getnnz(axis=1) > 0).mean() >= _LEAST_COVERED and weights.shape[1] > 2:
            width = min(width, *(size - 1 for size in weights.shape))
            return unit_rows(TruncatedSVD(width, random_state=seed).fit_transform(weights))
    return None


def fuse(e: Vectors, words: Vectors, weight: float) -> Vectors:
    """Return rows whose dot products are (1 - weight) of that of ``e`` and ``weight`` of that of ``words``."""
    return unit_rows(np.hstack([np.sqrt(1 - weight) * e, np.sqrt(weight) * words]))
