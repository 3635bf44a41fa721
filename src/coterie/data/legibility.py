"""Texts that an encoder cannot read well: in another script, too long, or ids instead of texts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from coterie.printable import shorten
from coterie.wording import count

_MIN_SHARE = 0.01  # of texts in another script, below which nothing is said
_SAMPLE = 1000  # texts, about, among which ids are counted
_ID = re.compile(r"(?=\S*\d)[\w./:#-]+")  # one word with a digit: 4711, TCK-00123, 9f86d081-884c
_LONG_WORD = 100  # characters, more than a word has
_NOT_LATIN = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")  # a letter of another script
_IDEOGRAPH = re.compile(r"[\u3400-\u9fff]")
_LETTER = re.compile(r"[^\W\d_]")


def reading_problems(texts: Sequence[str], *, english_only: bool, max_tokens: int | None) -> list[str]:
    """Return a sentence with counts and advice for each problem of the distinct ``texts``."""
    problems = [_ids(texts[:: max(1, len(texts) // _SAMPLE)])]  # texts are sorted, and ids come first
    if english_only:
        problems.append(_other_scripts(texts))
    if max_tokens is not None:
        problems.append(_cut(texts, max_tokens))
    return [problem for problem in problems if problem]


def _ids(texts: Sequence[str]) -> str:
    found = [text for text in texts if _ID.fullmatch(text) and not _is_in_another_script(text)]
    if len(found) <= len(texts) / 2:
        return ""
    return (
        f"{_of(found, texts)} {'looks like an id' if len(found) == 1 else 'look like ids'}, e.g. "
        f"{shorten(found[0], 40)!r}: their clusters mean nothing. Is this the right column?"
    )


def _other_scripts(texts: Sequence[str]) -> str:
    found = [text for text in texts if not text.isascii() and _is_in_another_script(text)]
    if len(found) < max(1, _MIN_SHARE * len(texts)):
        return ""
    verb, them = ("is", "it") if len(found) == 1 else ("are", "them")
    return (
        f"{_of(found, texts)} {verb} not in Latin script, and this encoder was trained on English: it cannot tell "
        f"{them} apart from others, whatever the confidence. Use a multilingual encoder "
        "(transformer:FOLDER_OR_HUB_ID), or sif:ppmi, which learns the words of these texts."
    )


def _is_in_another_script(text: str) -> bool:
    return 2 * len(_NOT_LATIN.findall(text)) > len(_LETTER.findall(text))


def _cut(texts: Sequence[str], max_tokens: int) -> str:
    found = [text for text in texts if len(text) > max_tokens and _least_tokens(text) > max_tokens]
    if not found:
        return ""
    verb = "is" if len(found) == 1 else "are"
    return (
        f"{_of(found, texts)} {verb} longer than the first {max_tokens} tokens, and the encoder reads no more; the "
        f"longest has {max(map(len, found)):,} characters. Split long texts, or raise its setting max_length."
    )


def _least_tokens(text: str) -> int:
    """Return a lower bound of the tokens of a text: each word and each Chinese character is one at least.

    A word of very many characters counts as if it were divided, so that a text without spaces is noticed.
    """
    return sum(1 + len(word) // _LONG_WORD for word in text.split()) + len(_IDEOGRAPH.findall(text))


def _of(found: Sequence[str], texts: Sequence[str]) -> str:
    return f"{len(found):,} of {count(len(texts), 'distinct texts')}"
