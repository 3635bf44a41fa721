"""Parts of messages: numbers with their nouns, and the name that a user probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def count(n: int, noun: str) -> str:
    """Return the number with its noun, given in the plural: "1 text", "1,325 texts"."""
    return f"{n:,} {noun.removesuffix('s') if n == 1 else noun}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the known name closest to ``name``, with a space before it; empty if none is close."""
    close = get_close_matches(name, list(known), n=1) or get_close_matches(name.lower(), list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
