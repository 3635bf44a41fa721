"""Word deletion: the noise of TSDAE (Wang et al., Findings of EMNLP 2021, arXiv:2104.06979) and of ClusterBERT.

TSDAE deletes a share of 0.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from coterie.augmenters.augmenter import Augmenter
from coterie.augmenters.text_rng import random_choice, text_rngs
from coterie.augmenters.word_tokens import is_unsegmented
from coterie.hyper import hyper


class DeleteAugmenter(Augmenter, name="delete"):
    """Deletes each word with the same probability, but never all words of a text."""

    main_setting = "strength"

    strength: float = hyper(0.6, "probability that a word is deleted; also delete:STRENGTH", gt=0, le=1)

    def make_view(self, texts: Sequence[str], view_index: int, *, seed: int) -> Iterator[str]:
        """Yield each text without the deleted words."""
        for text, rng in text_rngs(texts, view_index, seed=seed, name=self.name):
            tokens = text.split()
            yield " ".join(tokens) if delete_words(tokens, self.strength, rng) else text


def delete_words(tokens: list[str], probability: float, rng: Random) -> bool:
    """Delete each of ``tokens`` in place with ``probability``, but never all, and return whether one was deleted."""
    random = rng.random
    kept = [token for token in tokens if random() >= probability or is_unsegmented(token)]
    if len(kept) == len(tokens):
        return False
    n_tokens = len(tokens)
    tokens[:] = kept or [random_choice(rng, tokens)]
    return len(tokens) < n_tokens
