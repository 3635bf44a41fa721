"""Check values that were read from JSON: a saved model may come from a stranger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_HUGE = 2**53  # no count is as large


def check_kind(values: Mapping[str, Any], name: str, kind: type, *, optional: bool = False) -> None:
    """Raise :class:`TypeError` unless an entry is of a kind; whole numbers are counts, and also taken as a float."""
    value = values[name]
    if value is None and optional:
        return
    is_kind = isinstance(value, (int, float) if kind is float else kind) and not isinstance(value, bool)
    if not is_kind or (kind is int and not 0 <= value < _HUGE):
        raise TypeError(f"{name} is {value!r:.40}")


def check_texts(values: Mapping[str, Any], name: str) -> None:
    """Raise :class:`TypeError` unless an entry is a list of texts."""
    check_kind(values, name, list)
    if not all(isinstance(text, str) for text in values[name]):
        raise TypeError(f"{name} are not texts")
