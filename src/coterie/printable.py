"""Show text that others wrote: nothing in it can steer a terminal or fill the screen.

Everything that the command line prints goes through :func:`printable` or :func:`printable_json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

_SPACE = re.compile(r"[\t-\r\x85\u2028\u2029]+")  # tabs and line ends
# What a terminal obeys or hides: C0, DEL and C1 controls, changes of the writing direction, interlinear annotations,
# invisible tags, and halves of surrogate pairs, which no terminal can show (Python's form of bytes that are not UTF-8).
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]")


def printable(text: object, *, max_word: int = 400, max_length: int = 4_000) -> str:
    r"""Return ``text`` in one line, with unsafe characters as escapes like ``\x1b``; long words and texts are cut."""
    line = _SPACE.sub(" ", shorten(str(text), max_length))
    line = _UNSAFE.sub(_escape, line)
    line = re.sub(rf"\S{{{max_word + 1},}}", lambda word: shorten(word[0], max_word), line)
    return shorten(line, max_length)


def printable_lines(text: str) -> str:
    """Return ``text`` with unsafe characters as escapes; its lines and tabs stay, and nothing is cut."""
    return _UNSAFE.sub(lambda char: char[0] if char[0] in "\n\t" else _escape(char), text)


def printable_json(text: str) -> str:
    """Return JSON with JSON's own escapes for the unsafe characters in its strings: it means the same."""
    return _UNSAFE.sub(lambda char: char[0] if char[0] == "\n" else json.dumps(char[0])[1:-1], text)


def shorten(text: str, length: int) -> str:
    """Return ``text`` with at most ``length`` characters; its middle is cut out, so that both ends can be read."""
    if len(text) <= length:
        return text
    tail = length // 3
    return f"{text[: length - tail - 1]}…{text[len(text) - tail :]}"


def listed(names: Iterable[object], n: int = 12) -> str:
    """Return the first ``n`` names in quotes, and how many more there are."""
    names = list(names)
    first = ", ".join(repr(shorten(str(name), 60)) for name in names[:n])
    return f"{first} and {len(names) - n:,} more" if len(names) > n else first


def _escape(char: re.Match[str]) -> str:
    return char[0].encode("ascii", "backslashreplace").decode() if ord(char[0]) > 0x7F else f"\\x{ord(char[0]):02x}"
