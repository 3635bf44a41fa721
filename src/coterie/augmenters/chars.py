"""CharSwap: substitute, delete or insert a letter of a word, or swap it with the next letter (SCCL, Fig. 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from random import Random
from string import ascii_lowercase
from typing import Literal

from coterie.augmenters.augmenter import Augmenter
from coterie.augmenters.text_rng import random_choice, random_sample, text_rngs
from coterie.augmenters.word_tokens import n_words_to_change, split_punctuation
from coterie.hyper import hyper

Typo = Literal["substitute", "delete", "insert", "swap"]
_TYPOS: tuple[Typo, ...] = ("substitute", "delete", "insert", "swap")


class CharsAugmenter(Augmenter, name="chars"):
    """Misspells words, one letter each. Only alphabets with capital letters; words in other scripts stay unchanged."""

    main_setting = "strength"

    strength: float = hyper(
        0.2, "share of the words that are misspelled, at least one; also chars:STRENGTH", gt=0, le=1
    )
    operation: Literal["any", "substitute", "delete", "insert", "swap"] = hyper(
        "any", "what is done to a letter; any: one of the four at random for each word"
    )

    def make_view(self, texts: Sequence[str], view_index: int, *, seed: int) -> Iterator[str]:
        """Yield each text with some words misspelled."""
        typos = _TYPOS if self.operation == "any" else (self.operation,)
        for text, rng in text_rngs(texts, view_index, seed=seed, name=self.name):
            tokens = text.split()
            positions = [i for i, token in enumerate(tokens) if can_be_misspelled(token)]
            for i in random_sample(rng, positions, n_words_to_change(self.strength, len(tokens))):
                before, word, after = split_punctuation(tokens[i])
                tokens[i] = before + misspell(word, random_choice(rng, typos), rng) + after
            yield " ".join(tokens) if positions else text


@lru_cache(maxsize=2**17)
def can_be_misspelled(token: str) -> bool:
    """Whether the word in ``token`` has two or more letters, and each of them has an upper and a lower case."""
    _, word, _ = split_punctuation(token)
    return len(word) > 1 and word.isalpha() and all(char.lower() != char.upper() for char in word)


def misspell(word: str, typo: Typo, rng: Random) -> str:
    """Return ``word`` with one typo."""
    if typo == "swap":
        pairs = [i for i in range(len(word) - 1) if word[i] != word[i + 1]]
        if pairs:
            i = random_choice(rng, pairs)
            return word[:i] + word[i + 1] + word[i] + word[i + 2 :]
        typo = "delete"  # all letters are equal
    i = int(rng.random() * len(word))
    if typo == "delete":
        return word[:i] + word[i + 1 :]
    letter = _random_letter(word, rng, exclude=word[i].lower() if typo == "substitute" else "")
    replaces = typo == "substitute" and letter != word[i].lower()  # if the alphabet has no other letter, insert it
    return word[:i] + (letter.upper() if word[i].isupper() else letter) + word[i + replaces :]


def _random_letter(word: str, rng: Random, *, exclude: str) -> str:
    """Return a letter of the word's alphabet: any of a-z for an ASCII word, else one of the word's own letters."""
    alphabet = ascii_lowercase if word.isascii() else "".join(dict.fromkeys(word.lower()))
    return random_choice(rng, alphabet.replace(exclude, "") or alphabet)
