"""Topic quality: coherence and diversity. A topic is a list of its most probable words, in descending order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.sparse import csr_matrix

from coterie.errors import InputError
from coterie.words.vocabulary import Vocabulary


def coherence(topics: Sequence[Sequence[str]], texts: Sequence[str]) -> float:
    r"""Return the mean NPMI of word pairs of a topic, averaged over topics (Lau, Newman and Baldwin, EACL 2014).

    .. math:: \log \frac{p(v, w)}{p(v) p(w)} / -\log p(v, w)

    where p is the share of ``texts`` that contain the words. It is -1 if two words never occur in the same text, and 1
    if they occur only together. A topic with a single distinct word has no pair and is left out.
    """
    _check_topics(topics)
    pairs = [
        (topic, first, second)
        for topic, words in enumerate(topics)
        for first, second in combinations(dict.fromkeys(words), 2)
    ]
    if not pairs or not len(texts):
        raise InputError("Coherence needs texts, and topics with at least two different words.")
    words = sorted({word for topic in topics for word in topic})
    column = {word: i for i, word in enumerate(words)}
    joint = _joint_probabilities(words, texts)  # (W, W)
    marginal = joint.diagonal()  # (W,)
    topic_of_pair = np.array([topic for topic, _, _ in pairs])
    first = np.array([column[word] for _, word, _ in pairs])
    second = np.array([column[word] for _, _, word in pairs])

    p_both = np.asarray(joint[first, second]).ravel()
    npmi = np.full(len(pairs), -1.0)  # pairs that never occur in the same text
    in_every_text = p_both >= 1
    defined = (p_both > 0) & ~in_every_text
    p = p_both[defined]
    p_independent = (marginal[first] * marginal[second])[defined]
    npmi[defined] = np.log(p / p_independent) / -np.log(p)
    npmi[in_every_text] = 1.0

    n_pairs = np.bincount(topic_of_pair)
    has_pairs = n_pairs > 0
    return float((np.bincount(topic_of_pair, npmi)[has_pairs] / n_pairs[has_pairs]).mean())


def diversity(topics: Sequence[Sequence[str]]) -> float:
    """Return the share of distinct words among the words of all topics: 1 if no word is in two topics (ETM, 2020)."""
    _check_topics(topics)
    words = [word for topic in topics for word in topic]
    return len(set(words)) / len(words)


def _joint_probabilities(words: list[str], texts: Sequence[str]) -> csr_matrix:
    """Return the share of texts (W, W) that contain both words; the diagonal is the share that contains a word."""
    bags = Vocabulary(words).bag_of_words(list(texts))
    ones = np.ones(len(bags.word_ids))
    occurs = csr_matrix((ones, bags.word_ids, bags.offsets), (len(texts), len(words)))
    return (occurs.T @ occurs).tocsr() / len(texts)


def _check_topics(topics: Sequence[Sequence[str]]) -> None:
    if not any(len(words) for words in topics):
        raise InputError("There are no topics to evaluate: none of them has a word.")
    if any(isinstance(words, str) for words in topics):
        raise InputError("A topic must be a list of words, but a single string was given.")
