"""Word deletion: the noise of TSDAE (Wang et al., EMNLP Findings 2021) and ClusterBERT.

Paper: arXiv:2104.06979. The share that is deleted is 0.6 there.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from coterie.augmenters.augmenter import Augmenter, Texts
from coterie.augmenters.seeds import dice, draw
from coterie.augmenters.words import is_phrase
from coterie.hyper import hyper


class DeleteAugmenter(Augmenter, name="delete"):
    """Deletes each word with the same probability, but never all of them."""

    after_colon = "strength"

    strength: float = hyper(0.6, "probability that a word is deleted; also delete:STRENGTH", gt=0, le=1)

    def rewrite(self, texts: Texts, number: int, *, seed: int) -> Iterator[str]:
        """Yield what is left of each text."""
        for text, rng in dice(texts, number, seed=seed, name=self.name):
            words = text.split()
            yield " ".join(words) if delete_words(words, self.strength, rng) else text


def delete_words(words: list[str], p: float, rng: Random) -> bool:
    """Delete each word with probability ``p``, but never all of them, and say whether one is gone."""
    random = rng.random
    left = [word for word in words if random() >= p or is_phrase(word)]
    if len(left) == len(words):
        return False
    n_words = len(words)
    words[:] = left or [draw(rng, words)]
    return len(words) < n_words
