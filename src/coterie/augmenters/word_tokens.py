"""Words inside whitespace-separated tokens: find them, and keep punctuation and capital letters when they change."""

from __future__ import annotations

import re
from functools import lru_cache

_PUNCTUATION_AND_WORD = re.compile(r"(\W*)(.*?)(\W*)", re.DOTALL)
# Scripts written without spaces: Thai, Lao, Burmese, Khmer, kana and Chinese characters.
_UNSPACED_SCRIPT = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3040-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
_MAX_UNSPACED_WORD = 4  # characters; a longer token in such a script is several words
_REMOVE_INNER_PUNCTUATION = {ord(mark): None for mark in "-'’"}  # noqa: RUF001


@lru_cache(maxsize=2**17)
def split_punctuation(token: str) -> tuple[str, str, str]:
    """Return the punctuation before the word, the word, and the punctuation after it: ``'(64bit),'`` -> ``( 64bit ),``.

    Joined, the three parts are ``token``.
    """
    match = _PUNCTUATION_AND_WORD.fullmatch(token)
    assert match is not None  # the pattern matches every text
    before, word, after = match.groups()
    return before, word, after


@lru_cache(maxsize=2**17)
def is_unsegmented(token: str) -> bool:
    """Whether ``token`` is several words, because its script has no spaces. Augmenters of words do not change it."""
    return len(token) > _MAX_UNSPACED_WORD and _UNSPACED_SCRIPT.search(token) is not None


@lru_cache(maxsize=2**17)
def is_word(text: str) -> bool:
    """Whether ``text`` is one word: letters only, except for hyphens and apostrophes."""
    return text.translate(_REMOVE_INNER_PUNCTUATION).isalpha() and not is_unsegmented(text)


def match_case(word: str, reference: str) -> str:
    """Return ``word`` capitalized like ``reference``: SQL, Sql or sql."""
    if reference.islower():
        return word
    if len(reference) > 1 and reference.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if reference[:1].isupper() else word


def n_words_to_change(strength: float, n_words: int) -> int:
    """Return how many of ``n_words`` words are changed: the share ``strength`` rounded down, at least one."""
    return max(1, int(strength * n_words + 1e-9))  # in floating point 0.29 * 100 is a little less than 29
