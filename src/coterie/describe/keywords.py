"""Keywords of clusters by class-based TF-IDF: frequent in the cluster, rare in the other clusters."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from math import log, log1p

import numpy as np
from numpy.typing import NDArray

from coterie.arrays import subsample
from coterie.describe.terms import is_content_word, normalize_word, phrases_of
from coterie.words.stop_words import is_particle

Words = Counter[str]
Pairs = Counter[tuple[str, str]]

_MIN_PAIR_COUNT = 3  # occurrences of a phrase in a cluster
_MIN_PAIR_SHARE = 0.5  # of the occurrences of a word; above, the word gives way to the phrase
_MIN_OTHER_SHARE = 1 / 3  # of the occurrences of a keyword that becomes a part of a phrase
_COMMON_ENTROPY = 0.8  # of a word over the clusters, relative to the largest; above, the word is common to all
_N_CHOSEN = 10  # keywords that are chosen at least, so that the first ones do not depend on their number
SAMPLE_FACTOR = 4  # words are counted in at most 4 x 50,000 texts


def keywords(texts: Sequence[str], labels: NDArray[np.int64], n_clusters: int, *, n_words: int = 5) -> list[list[str]]:
    r"""Return for each cluster the words with the largest tf_{kw} \log(1 + A / tf_w), best first.

    tf_{kw} is the relative frequency of word w in cluster k, tf_w the number of times w occurs in all texts, and A
    the mean number of words of a cluster (c-TF-IDF, Grootendorst, arXiv:2203.05794, Eq. 2). Left out are function
    words, words that are common to all clusters, and other forms of a keyword, such as its plural. A word that mostly
    occurs in one phrase gives way to the phrase: direct debit.
    """
    return choose_keywords(*count_words(texts, labels, n_clusters), n_words=n_words)


def choose_keywords(words: list[Words], pairs: list[Pairs], *, n_words: int = 5) -> list[list[str]]:
    """Return the keywords of clusters whose words and pairs of words are counted."""
    ranked = _rank(words)
    n_chosen = max(n_words, _N_CHOSEN)
    return [_choose(ranked[k], words[k], pairs[k], n_chosen)[:n_words] for k in range(len(words))]


def count_words(texts: Sequence[str], labels: NDArray[np.int64], n_clusters: int) -> tuple[list[Words], list[Pairs]]:
    """Return how often each word, and each pair of adjacent words, occurs in each cluster.

    Very many texts are sampled. Texts with the label -1 do not count.
    """
    rows = subsample(len(texts), factor=SAMPLE_FACTOR)
    rows = rows[labels[rows] >= 0]
    texts, clusters = [texts[row] for row in rows.tolist()], labels[rows].tolist()
    words: list[Words] = [Counter() for _ in range(n_clusters)]
    pairs: list[Pairs] = [Counter() for _ in range(n_clusters)]
    for text, cluster in zip(texts, clusters, strict=True):
        for phrase in phrases_of(text):
            normalized = [normalize_word(word) for word in phrase]
            words[cluster].update(filter(is_content_word, normalized))
            pairs[cluster].update(filter(_is_phrase, pairwise(normalized)))
    if not any(words):  # texts of function words, emoji or single letters only
        for text, cluster in zip(texts, clusters, strict=True):
            words[cluster].update(text.lower().split())
    return words, pairs


def _is_phrase(pair: tuple[str, str]) -> bool:
    first, second = pair
    return first != second and is_content_word(first) and (is_content_word(second) or is_particle(second, first))


def _rank(words: list[Words]) -> list[list[str]]:
    """Return the words of each cluster, best first; without common words where others are left."""
    total: Words = Counter()
    for of_cluster in words:
        total.update(of_cluster)
    mean_words = total.total() / max(len(words), 1)
    common = _common_words(words)
    ranked = []
    for of_cluster in words:
        n = of_cluster.total()
        score = {word: count / n * log1p(mean_words / total[word]) for word, count in of_cluster.items()}
        own = score.keys() - common or score.keys()
        ranked.append(sorted(own, key=lambda word: (-score[word], word)))
    return ranked


def _common_words(words: list[Words]) -> set[str]:
    """Return words that the clusters use about equally often: their entropy over the clusters is large."""
    used = [of_cluster for of_cluster in words if of_cluster]
    if len(used) < 2:
        return set()
    rates: dict[str, list[float]] = defaultdict(list)
    for of_cluster in used:
        n = of_cluster.total()
        for word, count in of_cluster.items():
            rates[word].append(count / n)
    least = _COMMON_ENTROPY + (1 - _COMMON_ENTROPY) / len(used)  # of few clusters a word must be in nearly all
    return {word for word, of_word in rates.items() if _entropy(of_word) > least * log(len(used))}


def _entropy(rates: list[float]) -> float:
    total = sum(rates)
    return -sum(rate / total * log(rate / total) for rate in rates)


def _choose(ranked: Sequence[str], words: Words, pairs: Pairs, n_words: int) -> list[str]:
    """Return the first ``n_words`` words or phrases that say something new."""
    phrases = _phrases(words, pairs)
    kept: list[str] = []
    for word in ranked:
        if len(kept) == n_words:
            break
        if repeats(word, kept):
            continue
        pair = phrases.get(word)
        other = "" if pair is None else pair[pair[0] == word]
        if pair is None:
            kept.append(word)
        elif other not in kept and not (is_content_word(other) and repeats(other, kept)):
            kept.append(" ".join(pair))
        elif other in kept and pairs[pair] >= _MIN_OTHER_SHARE * words[other]:
            kept[kept.index(other)] = " ".join(pair)  # debit, direct -> direct debit
        else:
            kept.append(word)
    return kept


def _phrases(words: Words, pairs: Pairs) -> dict[str, tuple[str, str]]:
    """Return for each word the phrase in which it mostly occurs, if there is one."""
    phrases: dict[str, tuple[str, str]] = {}
    frequent = [(pair, count) for pair, count in pairs.items() if count >= _MIN_PAIR_COUNT]
    for pair, count in sorted(frequent, key=lambda entry: (-entry[1], entry[0])):
        for word in pair:
            if count >= _MIN_PAIR_SHARE * words[word] > 0:
                phrases.setdefault(word, pair)
    return phrases


def repeats(term: str, kept: Sequence[str]) -> bool:
    """Return whether ``term``, or every word of it, is a form of a term or a word in ``kept``."""
    if any(is_form_of(term, other) for other in kept):
        return True
    known = [part for other in kept for part in parts(other)]
    return all(any(is_form_of(part, other) for other in known) for part in parts(term))


def parts(term: str) -> list[str]:
    """Return the words of a phrase or of a hyphenated word, without function words if others are left."""
    split = re.split(r"[ -]", term)
    return [part for part in split if is_content_word(part)] or split


def is_form_of(a: str, b: str) -> bool:
    """Return whether one word is the other with a short ending: crash, crashes."""
    return a == b or (abs(len(a) - len(b)) <= 3 and (_extends(a, b) or _extends(b, a)))


def _extends(word: str, other: str) -> bool:
    is_plural = len(other) > 3 and other[-1] == "s" and other[-2] != "s"  # gas and pass are not
    stem = other[:-1] if is_plural else other
    return len(stem) > 2 and word.startswith(stem)
