"""Synonyms from WordNet: SCCL's "WNet" views, which it makes with TextAttack's WordNetAugmenter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coterie.augmenters.augmenter import Augmenter
from coterie.augmenters.eda import replace_by_synonyms
from coterie.augmenters.text_rng import text_rngs
from coterie.augmenters.word_tokens import n_words_to_change
from coterie.augmenters.wordnet_database import WordNet, find_wordnet
from coterie.hyper import hyper


class WordNetAugmenter(Augmenter, name="wordnet"):
    """Replaces words by synonyms, except function words. English only; needs the WordNet files."""

    main_setting = "strength"

    strength: float = hyper(
        0.2, "share of the words that are replaced, at least one; SCCL: 0.1, 0.2, 0.3; also wordnet:STRENGTH",
        gt=0, le=1,
    )  # fmt: skip
    wordnet_folder: str = hyper("", "folder of the WordNet files; empty: COTERIE_WORDNET, or the usual folders")

    def make_view(self, texts: Sequence[str], view_index: int, *, seed: int) -> Iterator[str]:
        """Yield each text with some words replaced by synonyms."""
        wordnet = self._wordnet()
        for text, rng in text_rngs(texts, view_index, seed=seed, name=self.name):
            tokens = text.split()
            changed = replace_by_synonyms(tokens, n_words_to_change(self.strength, len(tokens)), rng, wordnet)
            yield " ".join(tokens) if changed else text

    def fingerprint(self) -> str:
        """Return the settings and a hash of the WordNet files."""
        return f"{self!r} {self._wordnet().sha256}"

    def _wordnet(self) -> WordNet:
        return find_wordnet(self.wordnet_folder, needed_by="The augmenter 'wordnet'")
