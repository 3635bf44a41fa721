"""Candidates for the keywords of clusters, with their counts: the page ranks them as its reader likes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

from coterie.contracts import Labels
from coterie.describe.keywords import count_words
from coterie.describe.tree import total_counts
from coterie.report.data import WordCount

_WEIGHTS = (0.0, 0.3, 0.6, 1.0)  # of frequency against distinctiveness, from one end of the slider to the other
_MIN_COUNT = 2  # a word that occurs once tells little


def word_counts(
    texts: Sequence[str], labels: Labels, n_clusters: int, *, n_words: int = 12
) -> tuple[list[list[WordCount]], list[int]]:
    r"""Return the candidates of each cluster (K), and the number of words of each cluster (K).

    Candidates are the ``n_words`` of largest relevance :math:`\lambda \log p(w|k) + (1 - \lambda) \log p(w|k)/p(w)`
    (Sievert and Shirley, 2014, LDAvis, Sec. 3.1) for several weights :math:`\lambda`.
    """
    counts, _ = count_words(texts, labels, n_clusters)
    total = total_counts(counts)
    return [_candidates(of_cluster, total, n_words) for of_cluster in counts], [c.total() for c in counts]


def _candidates(counts: Counter[str], total: Counter[str], n_words: int) -> list[WordCount]:
    n, n_all = counts.total(), total.total()
    words = [word for word, count in counts.items() if count >= _MIN_COUNT] or list(counts)
    inside = {word: log(counts[word] / n) for word in words}
    lift = {word: inside[word] - log(total[word] / n_all) for word in words}
    chosen: set[str] = set()
    for weight in _WEIGHTS:
        relevance = {word: weight * inside[word] + (1 - weight) * lift[word] for word in words}
        chosen.update(sorted(words, key=lambda word: (-relevance[word], word))[:n_words])
    ordered = sorted(chosen, key=lambda word: (-counts[word], word))
    return [WordCount(word, counts[word], total[word]) for word in ordered]
