"""Split texts into words as people read them: top-up, e-mail and 2fa are words, and punctuation ends a phrase."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from coterie.words.stop_words import is_function_word
from coterie.words.vocabulary import is_unspaced, split_words

_URL = re.compile(r"(?:https?://|www\.)\S+", flags=re.IGNORECASE)
# Letters and digits, with hyphens and apostrophes inside; c++, c# and .net keep their marks.
_TOKEN = re.compile(r"(?<!\w)\.?[^\W_]\w*(?:['\u2019\-\u2010\u2011][^\W_]\w*)*(?:\+\+|\+|#)?")
_NOT_A_WORD = re.compile(r"[\d\W]+|\d*(?:1st|2nd|3rd)|\d+(?:th|am|pm)|\w", flags=re.IGNORECASE)
_POSSESSIVE = re.compile(r"['\u2019]s$", flags=re.IGNORECASE)
_HYPHENS = str.maketrans({"\u2019": "'", "\u2010": "-", "\u2011": "-"})


def phrases_of(text: str) -> list[list[str]]:
    """Return the words of ``text`` as they are written, in runs that no punctuation interrupts."""
    runs: list[list[str]] = []
    end = -1
    text = _URL.sub("|", text)
    for match in _TOKEN.finditer(text):
        if end < 0 or text[end : match.start()].strip():
            runs.append([])
        runs[-1] += _words_of(match.group())
        end = match.end()
    return runs


def _words_of(token: str) -> list[str]:
    """Return the token without a possessive ending; scripts without spaces are split into pairs of characters."""
    if not token.isascii() and any(map(is_unspaced, token)):
        return split_words(token)
    return [token if token.isalnum() else _POSSESSIVE.sub("", token)]


def join_words(words: Sequence[str]) -> str:
    """Return the words as a phrase; pairs of characters that overlap, of a script without spaces, become one word."""
    phrase = words[0] if words else ""
    for before, word in pairwise(words):
        is_same_run = len(before) == len(word) == 2 and before[1] == word[0] and is_unspaced(word[0])
        phrase += word[1] if is_same_run else f" {word}"
    return phrase


@lru_cache(maxsize=1 << 18)
def normalize_word(surface: str) -> str:
    """Return a word in lower case, with plain hyphens and apostrophes."""
    return surface.lower().translate(_HYPHENS)


@lru_cache(maxsize=1 << 18)
def is_content_word(word: str) -> bool:
    """Return whether a normalized word can be a keyword: not a number, a single letter or a function word."""
    return not is_function_word(word) and _NOT_A_WORD.fullmatch(word) is None
