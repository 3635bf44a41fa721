"""EDA: synonym replacement, random insertion, random swap, random deletion (Wei and Zou, EMNLP 2019).

Paper: arXiv:1901.11196. AECL makes its second view by one of the four at strength 0.2.
Departure: punctuation and capital letters stay unless ``ascii_lowercase`` is set.
Departure: if the operation that was drawn cannot change a text, the next one in random order is tried.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Literal

from coterie.augmenters.augmenter import Augmenter
from coterie.augmenters.delete import delete_words
from coterie.augmenters.text_rng import random_choice, random_sample, text_rngs
from coterie.augmenters.word_tokens import is_unsegmented, n_words_to_change
from coterie.augmenters.wordnet_database import WordNet, find_wordnet
from coterie.hyper import hyper

Operation = Callable[[list[str], int, Random], bool]
"""Changes up to n tokens in place, and returns whether it changed one."""
_NOT_ASCII_LOWERCASE = re.compile("[^a-z ]+")


class EDAAugmenter(Augmenter, name="eda"):
    """Replaces, inserts, swaps or deletes words: always the same of the four, or a random one for each text."""

    main_setting = "strength"

    strength: float = hyper(0.2, "share of the words that are changed, at least one; also eda:STRENGTH", gt=0, le=1)
    operation: Literal["any", "plain", "replace", "insert", "swap", "delete"] = hyper(
        "any", "what is done; any: one of the four at random for each text; plain: swap or delete, without WordNet"
    )
    ascii_lowercase: bool = hyper(False, "keep only the letters a-z in lower case, as in the files published with AECL")
    wordnet_folder: str = hyper("", "folder of the WordNet files; empty: COTERIE_WORDNET, or the usual folders")

    def make_view(self, texts: Sequence[str], view_index: int, *, seed: int) -> Iterator[str]:
        """Yield each text with some words changed."""
        operations = self._operations()
        for text, rng in text_rngs(texts, view_index, seed=seed, name=self.name):
            tokens = _ascii_lowercase_words(text) if self.ascii_lowercase else text.split()
            n = n_words_to_change(self.strength, len(tokens))
            order = random_sample(rng, list(operations), len(operations)) if len(operations) > 1 else operations
            changed = any(operation(tokens, n, rng) for operation in order)
            yield " ".join(tokens) if changed or self.ascii_lowercase else text

    def fingerprint(self) -> str:
        """Return the settings, and a hash of the WordNet files if they are needed."""
        wordnet = self._wordnet()
        return f"{self!r} {wordnet.sha256 if wordnet else ''}"

    def _operations(self) -> list[Operation]:
        wordnet = self._wordnet()
        operations: dict[str, Operation] = {
            "replace": lambda tokens, n, rng: replace_by_synonyms(tokens, n, rng, wordnet),
            "insert": lambda tokens, n, rng: insert_synonyms(tokens, n, rng, wordnet),
            "swap": swap_words,
            "delete": lambda tokens, n, rng: delete_words(tokens, self.strength, rng),
        }
        several = {"any": list(operations), "plain": ["swap", "delete"]}
        return [operations[name] for name in several.get(self.operation, [self.operation])]

    def _wordnet(self) -> WordNet | None:
        needed = self.operation in ("any", "replace", "insert")
        return find_wordnet(self.wordnet_folder, needed_by="The augmenter 'eda'") if needed else None


def _ascii_lowercase_words(text: str) -> list[str]:
    """Return the words as TCL and AECL clean them; a text without a letter a-z stays as it is."""
    cleaned = text.lower().replace("-", " ").replace("’", "").replace("'", "")  # noqa: RUF001
    return _NOT_ASCII_LOWERCASE.sub(" ", cleaned).split() or text.split()


def replace_by_synonyms(tokens: list[str], n: int, rng: Random, wordnet: WordNet | None) -> bool:
    """Replace ``n`` of ``tokens`` in place by synonyms, and return whether one has a synonym."""
    assert wordnet is not None
    lookup = wordnet.lookup
    replaceable = [(i, entry) for i, token in enumerate(tokens) if (entry := lookup(token)) is not None]
    for i, entry in random_sample(rng, replaceable, n):
        tokens[i] = entry.before + random_choice(rng, entry.synonyms) + entry.after
    return bool(replaceable)


def insert_synonyms(tokens: list[str], n: int, rng: Random, wordnet: WordNet | None) -> bool:
    """Insert ``n`` synonyms of ``tokens`` at random positions in place, and return whether one has a synonym."""
    assert wordnet is not None
    entries = [entry for entry in map(wordnet.lookup, tokens) if entry is not None]
    if not entries:
        return False
    for _ in range(n):
        position = int(rng.random() * (len(tokens) + 1))
        tokens.insert(position, random_choice(rng, random_choice(rng, entries).synonyms))
    return True


def swap_words(tokens: list[str], n: int, rng: Random) -> bool:
    """Swap two of ``tokens`` in place, ``n`` times, and return whether the order has changed."""
    before = list(tokens)
    positions = [i for i, token in enumerate(tokens) if not is_unsegmented(token)]
    if len(positions) < 2:
        return False
    for _ in range(n):
        i, j = random_sample(rng, positions, 2)
        tokens[i], tokens[j] = tokens[j], tokens[i]
    return tokens != before
