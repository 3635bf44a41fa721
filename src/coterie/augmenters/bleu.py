"""How much of a text's wording a candidate keeps: sentence BLEU (Papineni et al., ACL 2002)."""

from __future__ import annotations

from collections import Counter
from math import exp, log


def sentence_bleu(candidate: str, reference: str, *, longest: int = 4) -> float:
    """Return BLEU in [0, 1] of one sentence; one is added to the counts of pairs and more, else short ones get zero."""
    ours, theirs = candidate.lower().split(), reference.lower().split()
    if not ours or not theirs:
        return 0.0
    total = 0.0
    for n in range(1, longest + 1):
        there, known = _runs(ours, n), _runs(theirs, n)
        hits, possible = sum((there & known).values()), sum(there.values())
        more = n > 1
        if hits + more == 0:
            return 0.0
        total += log((hits + more) / (possible + more))
    too_short = min(0.0, 1 - len(theirs) / len(ours))
    return exp(total / longest + too_short)


def _runs(words: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
