"""EDA: synonym replacement, random insertion, random swap, random deletion (Wei and Zou, EMNLP 2019).

AECL makes its second view by one of the four at strength 0.2. Paper: arXiv:1901.11196.
Departure: letters, marks and capitals stay unless ``plain`` is set, so that the rest of a text is as it was.
Departure: where the operation that was drawn finds nothing to change, the next one in random order is tried.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Literal

from coterie.augmenters.augmenter import Augmenter, Texts
from coterie.augmenters.delete import delete_words
from coterie.augmenters.seeds import dice, draw, draw_some
from coterie.augmenters.wordnet_files import WordNet, find_wordnet
from coterie.augmenters.words import how_many, is_phrase
from coterie.hyper import hyper

Words = list[str]
Operation = Callable[[Words, int, Random], bool]
_NOT_PLAIN = re.compile("[^a-z ]+")


class EDAAugmenter(Augmenter, name="eda"):
    """Replaces, inserts, swaps or deletes words: one of the four, or one drawn for each text."""

    after_colon = "strength"

    strength: float = hyper(0.2, "share of the words that are changed, at least one; also eda:STRENGTH", gt=0, le=1)
    operation: Literal["any", "replace", "insert", "swap", "delete"] = hyper(
        "any", "what is done; any draws one of the four for each text"
    )
    plain: bool = hyper(False, "write only lower-case a-z, as the files published with AECL do")
    folder: str = hyper("", "of WordNet's files; empty: COTERIE_WORDNET, or where Debian and Homebrew put them")

    def rewrite(self, texts: Texts, number: int, *, seed: int) -> Iterator[str]:
        """Yield each text with some words changed."""
        operations = self._operations()
        for text, rng in dice(texts, number, seed=seed, name=self.name):
            words = _plain(text) if self.plain else text.split()
            n = how_many(self.strength, len(words))
            order = draw_some(rng, list(operations), len(operations)) if len(operations) > 1 else operations
            changed = any(operation(words, n, rng) for operation in order)
            yield " ".join(words) if changed or self.plain else text

    def _operations(self) -> list[Operation]:
        thesaurus = self._thesaurus()
        every: dict[str, Operation] = {
            "replace": lambda words, n, rng: replace(words, n, rng, thesaurus),
            "insert": lambda words, n, rng: insert(words, n, rng, thesaurus),
            "swap": swap,
            "delete": lambda words, n, rng: delete_words(words, self.strength, rng),
        }
        return list(every.values()) if self.operation == "any" else [every[self.operation]]

    def identity(self) -> str:
        """Return the settings and a hash of WordNet's files, where they are needed."""
        thesaurus = self._thesaurus()
        return f"{self!r} {thesaurus.fingerprint if thesaurus else ''}"

    def _thesaurus(self) -> WordNet | None:
        needed = self.operation in ("any", "replace", "insert")
        return find_wordnet(self.folder, need="The augmenter 'eda'") if needed else None


def _plain(text: str) -> Words:
    """Return the words as TCL and AECL clean them; a text without one such letter stays as it is."""
    cleaned = text.lower().replace("-", " ").replace("’", "").replace("'", "")  # noqa: RUF001
    return _NOT_PLAIN.sub(" ", cleaned).split() or text.split()


def replace(words: Words, n: int, rng: Random, thesaurus: WordNet | None) -> bool:
    """Put synonyms in the place of ``n`` words, and say whether there was one."""
    assert thesaurus is not None
    entry = thesaurus.entry
    places = [(i, found) for i, word in enumerate(words) if (found := entry(word)) is not None]
    for i, found in draw_some(rng, places, n):
        words[i] = found.before + draw(rng, found.synonyms) + found.after
    return bool(places)


def insert(words: Words, n: int, rng: Random, thesaurus: WordNet | None) -> bool:
    """Insert ``n`` synonyms of words anywhere, and say whether there was one."""
    assert thesaurus is not None
    entries = [found for found in map(thesaurus.entry, words) if found is not None]
    if not entries:
        return False
    for _ in range(n):
        words.insert(int(rng.random() * (len(words) + 1)), draw(rng, draw(rng, entries).synonyms))
    return True


def swap(words: Words, n: int, rng: Random) -> bool:
    """Let two words change places, ``n`` times, and say whether there are two different ones."""
    before = list(words)
    places = [i for i, word in enumerate(words) if not is_phrase(word)]
    if len(places) < 2:
        return False
    for _ in range(n):
        i, j = draw_some(rng, places, 2)
        words[i], words[j] = words[j], words[i]
    return words != before
