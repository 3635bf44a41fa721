"""Texts that an encoder cannot read well: in another script, too long, or ids instead of texts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from coterie.printable import shorten
from coterie.wording import count

_MIN_SHARE = 0.01  # of texts in another script, below which nothing is said
_SAMPLE = 1000  # texts among which ids are counted
_ID = re.compile(r"(?=\S*\d)[\w./:#-]+")  # one word with a digit: 4711, TCK-00123, 9f86d081-884c
_NOT_LATIN = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")  # a letter of another script
_LETTER = re.compile(r"[^\W\d_]")


def reading_problems(texts: Sequence[str], *, english_only: bool, max_tokens: int | None) -> list[str]:
    """Return a sentence with counts and advice for each problem of the distinct ``texts``."""
    problems = [_ids(texts[:_SAMPLE])]
    if english_only:
        problems.append(_other_scripts(texts))
    if max_tokens is not None:
        problems.append(_cut(texts, max_tokens))
    return [problem for problem in problems if problem]


def _ids(texts: Sequence[str]) -> str:
    found = [text for text in texts if _ID.fullmatch(text)]
    if len(found) <= len(texts) / 2:
        return ""
    return (
        f"{len(found):,} of {count(len(texts), 'texts')} look like ids, e.g. {shorten(found[0], 40)!r}: their clusters "
        "mean nothing. Is this the right column?"
    )


def _other_scripts(texts: Sequence[str]) -> str:
    n = sum(_is_in_another_script(text) for text in texts if not text.isascii())
    if n < max(1, _MIN_SHARE * len(texts)):
        return ""
    return (
        f"{n:,} of {count(len(texts), 'texts')} are not in Latin script, and this encoder was trained on English: it "
        "cannot tell them apart, whatever their confidence. Use a multilingual encoder (transformer:FOLDER_OR_HUB_ID)."
    )


def _is_in_another_script(text: str) -> bool:
    return 2 * len(_NOT_LATIN.findall(text)) > len(_LETTER.findall(text))


def _cut(texts: Sequence[str], max_tokens: int) -> str:
    """Count texts with more words than tokens are read: each word has at least one."""
    longer = [n for text in texts if len(text) > max_tokens and (n := len(text.split())) > max_tokens]
    if not longer:
        return ""
    return (
        f"{len(longer):,} of {count(len(texts), 'texts')} have more than {max_tokens} words, up to {max(longer):,}; "
        f"the encoder reads the first {max_tokens} tokens only. Split long texts, or raise its setting max_length."
    )
