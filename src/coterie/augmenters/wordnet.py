"""Synonyms from WordNet in the place of words: SCCL's WNet views (TextAttack's WordNetAugmenter there)."""

from __future__ import annotations

from collections.abc import Iterator

from coterie.augmenters.augmenter import Augmenter, Texts
from coterie.augmenters.eda import replace
from coterie.augmenters.seeds import dice
from coterie.augmenters.wordnet_files import WordNet, find_wordnet
from coterie.augmenters.words import how_many
from coterie.hyper import hyper


class WordNetAugmenter(Augmenter, name="wordnet"):
    """Replaces words by synonyms; stop words are left alone. English; needs WordNet's files."""

    after_colon = "strength"

    strength: float = hyper(
        0.2, "share of the words that are replaced, at least one; SCCL: 0.1, 0.2, 0.3; also wordnet:STRENGTH",
        gt=0, le=1,
    )  # fmt: skip
    folder: str = hyper("", "of WordNet's files; empty: COTERIE_WORDNET, or where Debian and Homebrew put them")

    def rewrite(self, texts: Texts, number: int, *, seed: int) -> Iterator[str]:
        """Yield each text with synonyms in it."""
        thesaurus = self._thesaurus()
        for text, rng in dice(texts, number, seed=seed, name=self.name):
            words = text.split()
            changed = replace(words, how_many(self.strength, len(words)), rng, thesaurus)
            yield " ".join(words) if changed else text

    def identity(self) -> str:
        """Return the settings and a hash of WordNet's files."""
        return f"{self!r} {self._thesaurus().fingerprint}"

    def _thesaurus(self) -> WordNet:
        return find_wordnet(self.folder, need="The augmenter 'wordnet'")
