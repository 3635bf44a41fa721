"""What several steps of one fit compute from the same input is computed once, and forgotten when the fit ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_MEMORY: ContextVar[dict[str, dict[Any, Any]] | None] = ContextVar("memory of a fit", default=None)


@contextmanager
def remembering() -> Iterator[None]:
    """While the block runs, :func:`memory` is not None. Every thread has a memory of its own."""
    token = _MEMORY.set({})
    try:
        yield
    finally:
        _MEMORY.reset(token)


def memory(of: str) -> dict[Any, Any] | None:
    """Return what the current fit has computed so far ``of`` a kind; None outside of a fit."""
    known = _MEMORY.get()
    return None if known is None else known.setdefault(of, {})


def forget(of: str) -> None:
    """Free what the current fit has computed ``of`` a kind; if it is needed again, it is computed again."""
    if known := _MEMORY.get():
        known.pop(of, None)
