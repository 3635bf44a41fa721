"""Sentence BLEU: how much of a text's wording a candidate keeps (Papineni et al., ACL 2002)."""

from __future__ import annotations

from collections import Counter
from math import exp, log


def sentence_bleu(candidate: str, reference: str, *, max_n: int = 4) -> float:
    """Return the BLEU score in [0, 1] of one sentence.

    One is added to the counts of n-grams with n > 1; otherwise most short sentences would have score zero.
    """
    candidate_words = candidate.lower().split()
    reference_words = reference.lower().split()
    if not candidate_words or not reference_words:
        return 0.0
    log_precision = 0.0
    for n in range(1, max_n + 1):
        candidate_ngrams = _ngrams(candidate_words, n)
        matches = (candidate_ngrams & _ngrams(reference_words, n)).total()
        smoothing = 1 if n > 1 else 0
        if matches + smoothing == 0:
            return 0.0
        log_precision += log((matches + smoothing) / (candidate_ngrams.total() + smoothing))
    brevity_penalty = min(0.0, 1 - len(reference_words) / len(candidate_words))  # its logarithm
    return exp(log_precision / max_n + brevity_penalty)


def _ngrams(words: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
