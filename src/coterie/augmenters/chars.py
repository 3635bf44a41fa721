"""CharSwap: a letter of a word is substituted, deleted, inserted, or changes places with the next (SCCL, Fig. 5)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from random import Random
from string import ascii_lowercase
from typing import Literal

from coterie.augmenters.augmenter import Augmenter, Texts
from coterie.augmenters.seeds import dice, draw, draw_some
from coterie.augmenters.words import edges, how_many
from coterie.hyper import hyper

Typo = Literal["substitute", "delete", "insert", "swap"]
_TYPOS: tuple[Typo, ...] = ("substitute", "delete", "insert", "swap")


class CharsAugmenter(Augmenter, name="chars"):
    """Misspells words, one letter each. Only alphabets with capitals; other scripts stay as they are."""

    after_colon = "strength"

    strength: float = hyper(0.2, "share of the words that are misspelt, at least one; also chars:STRENGTH", gt=0, le=1)
    operation: Literal["any", "substitute", "delete", "insert", "swap"] = hyper(
        "any", "what happens to a letter; any draws one of the four for each word"
    )

    def rewrite(self, texts: Texts, number: int, *, seed: int) -> Iterator[str]:
        """Yield each text with some words misspelt."""
        typos = _TYPOS if self.operation == "any" else (self.operation,)
        for text, rng in dice(texts, number, seed=seed, name=self.name):
            words = text.split()
            places = [i for i, word in enumerate(words) if can_be_misspelt(word)]
            for i in draw_some(rng, places, how_many(self.strength, len(words))):
                before, word, after = edges(words[i])
                words[i] = before + misspelt(word, draw(rng, typos), rng) + after
            yield " ".join(words) if places else text


@lru_cache(maxsize=2**17)
def can_be_misspelt(token: str) -> bool:
    """Whether every character of the word is a letter of its own, small or capital, and there are at least two."""
    _, word, _ = edges(token)
    return len(word) > 1 and word.isalpha() and all(char.lower() != char.upper() for char in word)


def misspelt(word: str, typo: Typo, rng: Random) -> str:
    """Return ``word`` with one slip of the hand."""
    if typo == "swap":
        pairs = [i for i in range(len(word) - 1) if word[i] != word[i + 1]]
        if pairs:
            i = draw(rng, pairs)
            return word[:i] + word[i + 1] + word[i] + word[i + 2 :]
        typo = "delete"  # all letters are equal
    i = int(rng.random() * len(word))
    if typo == "delete":
        return word[:i] + word[i + 1 :]
    letter = _letter(word, rng, other_than=word[i].lower() if typo == "substitute" else "")
    gone = typo == "substitute" and letter != word[i].lower()  # where no other letter is known, it is inserted
    return word[:i] + (letter.upper() if word[i].isupper() else letter) + word[i + gone :]


def _letter(word: str, rng: Random, *, other_than: str) -> str:
    """Return a letter of the word's alphabet: any where that is a-z, else one that is in the word."""
    known = ascii_lowercase if word.isascii() else "".join(dict.fromkeys(word.lower()))
    return draw(rng, known.replace(other_than, "") or known)
