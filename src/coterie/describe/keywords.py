"""Keywords of a cluster by class-based TF-IDF: frequent inside, rare outside."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer

from coterie.contracts import Labels
from coterie.data.vocabulary import STOP_WORDS


def keywords(texts: Sequence[str], labels: Labels, n_clusters: int, *, n_words: int = 5) -> list[list[str]]:
    r"""Return the words with the largest tf_{kw} \log(1 + A / tf_w) of each cluster, best first.

    tf_{kw} counts w in cluster k over the cluster's words, tf_w everywhere, A is the mean number of words
    of a cluster (c-TF-IDF, Grootendorst, arXiv:2203.05794, Eq. 2).
    """
    counts, words = _count(texts)
    members = csr_matrix((np.ones(len(texts)), (labels, np.arange(len(texts)))), (n_clusters, len(texts)))
    frequency = (members @ counts).toarray()  # (K, V)
    total = frequency.sum(axis=1, keepdims=True)
    score = frequency / np.maximum(total, 1) * np.log1p(total.mean() / np.maximum(frequency.sum(axis=0), 1))
    best = np.argsort(-score, axis=1, kind="stable")[:, : 4 * n_words]
    return [_distinct([words[w] for w in row if score[k, w] > 0])[:n_words] for k, row in enumerate(best)]


def _distinct(words: list[str]) -> list[str]:
    """Leave out the plural of a word already there, and other forms of it: crash, crashes, crashed."""
    kept: list[str] = []
    for word in words:
        if not any(_same_word(word, other) for other in kept):
            kept.append(word)
    return kept


def _same_word(a: str, b: str) -> bool:
    return abs(len(a) - len(b)) <= 3 and (_extends(a, b) or _extends(b, a))


def _extends(word: str, other: str) -> bool:
    stem = other[:-1] if re.search(r"..[^s]s$", other) else other  # gas, pass are no plurals
    return len(stem) > 2 and word.startswith(stem)


def _count(texts: Sequence[str]) -> tuple[csr_matrix, list[str]]:
    counters = (
        CountVectorizer(stop_words=sorted(STOP_WORDS), token_pattern=r"(?u)\b[^\W\d]\w+\b"),
        CountVectorizer(token_pattern=r"\S+"),  # texts of stop words, emoji, single letters
    )
    for counter in counters:
        try:
            return counter.fit_transform(texts), counter.get_feature_names_out().tolist()
        except ValueError:  # scikit-learn's word for an empty vocabulary
            continue
    return csr_matrix((len(texts), 0)), []
