"""How good topics are, each a list of its most likely words, best first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.sparse import csr_matrix

from coterie.data.vocabulary import Vocabulary
from coterie.errors import InputError


def coherence(topics: Sequence[Sequence[str]], texts: Sequence[str]) -> float:
    r"""Mean over topics of the mean NPMI of two of its words, -1 (never in one text) to 1 (always together).

    .. math:: \log \frac{p(v, w)}{p(v) p(w)} / -\log p(v, w)

    with p the share of ``texts`` that hold both words (Lau, Newman and Baldwin, EACL 2014). A topic of one word has no
    pair, and does not count.
    """
    _check(topics)
    pairs = [(number, v, w) for number, words in enumerate(topics) for v, w in combinations(dict.fromkeys(words), 2)]
    if not pairs or not len(texts):
        raise InputError("Coherence needs texts, and topics of two words or more.")
    vocabulary = Vocabulary(sorted({word for words in topics for word in words}))
    bags = vocabulary.bags(list(texts))
    there = csr_matrix((np.ones(len(bags.words)), bags.words, bags.starts), (len(texts), len(vocabulary)))
    together = (there.T @ there).tocsr() / len(texts)  # (W, W); the share of a word itself is on the diagonal
    alone = together.diagonal()
    number = np.array([topic for topic, _, _ in pairs])
    first = np.array([vocabulary.number[v] for _, v, _ in pairs])
    second = np.array([vocabulary.number[w] for _, _, w in pairs])
    both = np.asarray(together[first, second]).ravel()
    npmi = np.full(len(pairs), -1.0)
    met, always = both > 0, both >= 1
    share = both[met & ~always]
    expected = (alone[first] * alone[second])[met & ~always]
    npmi[met & ~always] = np.log(share / expected) / -np.log(share)
    npmi[always] = 1.0
    size = np.bincount(number)
    return float((np.bincount(number, npmi)[size > 0] / size[size > 0]).mean())


def diversity(topics: Sequence[Sequence[str]]) -> float:
    """Share of different words among all words of all topics: 1 when no word is in two (ETM, TACL 2020)."""
    _check(topics)
    words = [word for topic in topics for word in topic]
    return len(set(words)) / len(words)


def _check(topics: Sequence[Sequence[str]]) -> None:
    if not any(len(words) for words in topics):
        raise InputError("There are no topics to judge: none of them has a word.")
    if any(isinstance(words, str) for words in topics):
        raise InputError("A topic is a list of words, but a single text was given.")
