"""Features of texts from their words alone: TF-IDF, reduced by truncated SVD (latent semantic analysis)."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from coterie.arrays import FIT_FACTOR, is_large, row_chunks, subsample, unit_rows
from coterie.contracts import Vectors
from coterie.remembered import memory

FEATURES = "features"
"""What a fit remembers them as."""
_MIN_COVERAGE = 0.5  # share of texts with a word of the vocabulary; below, character n-grams are used


def tfidf_svd(texts: Sequence[str], *, n_components: int, seed: int | None) -> Vectors | None:
    """Return features (N, at most n_components) with rows of unit length, or zero for texts without known words.

    Words must occur in two texts. If half of the texts have no such word, e.g. in languages without spaces, character
    n-grams are used instead. None if too few texts share character n-grams either. A fit computes them once.
    """
    known = memory(FEATURES)
    if known is None:
        return _features(texts, n_components, seed)
    key = sha256("\0".join(texts).encode("utf-8", "surrogatepass")).digest(), n_components, seed
    if key not in known:
        known[key] = _features(texts, n_components, seed)
    features: Vectors | None = known[key]
    return features


def _features(texts: Sequence[str], n_components: int, seed: int | None) -> Vectors | None:
    vectorizers = (
        TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english"),
        TfidfVectorizer(sublinear_tf=True, min_df=2, analyzer="char", ngram_range=(2, 3)),
    )
    for vectorizer in vectorizers:
        try:
            tfidf = _tfidf(vectorizer, texts)
        except ValueError:  # scikit-learn raises it for an empty vocabulary
            continue
        coverage = (tfidf.getnnz(axis=1) > 0).mean()
        if coverage >= _MIN_COVERAGE and tfidf.shape[1] > 2:
            return _svd(tfidf, n_components, seed)
    return None


def _tfidf(vectorizer: TfidfVectorizer, texts: Sequence[str]) -> csr_matrix:
    """Return TF-IDF values (N, V). The vocabulary of very many texts comes from a subsample."""
    if not is_large(len(texts), factor=FIT_FACTOR):
        return vectorizer.fit_transform(texts)
    sample = [texts[row] for row in subsample(len(texts), factor=FIT_FACTOR)]
    return vectorizer.fit(sample).transform(texts)


def _svd(tfidf: csr_matrix, n_components: int, seed: int | None) -> Vectors:
    """Return rows of unit length (N, at most n_components) from ``tfidf`` (N, V)."""
    n, n_words = tfidf.shape
    svd = TruncatedSVD(min(n_components, n - 1, n_words - 1), random_state=seed)
    if not is_large(n, factor=FIT_FACTOR):
        return unit_rows(svd.fit_transform(tfidf))
    svd.fit(tfidf[subsample(n, factor=FIT_FACTOR)])
    features = np.empty((n, len(svd.components_)), dtype=np.float32)
    for rows in row_chunks(n):
        unit_rows(svd.transform(tfidf[rows]), out=features[rows])
    return features


def fuse(e: Vectors, words: Vectors, weight: float) -> Vectors:
    """Return unit rows (N, D + W) that join embeddings ``e`` (N, D) and word features ``words`` (N, W).

    Their dot product is (1 - weight) times that of ``e`` plus ``weight`` times that of ``words``, if both have unit
    length.
    """
    fused = np.empty((len(e), e.shape[1] + words.shape[1]), dtype=np.float32)
    for rows in row_chunks(len(e)):  # the products are float64
        unit_rows(np.hstack([np.sqrt(1 - weight) * e[rows], np.sqrt(weight) * words[rows]]), out=fused[rows])
    return fused
