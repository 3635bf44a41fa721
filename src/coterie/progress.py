"""Report the progress of long work to a listener. Without a listener nothing is shown.

Long work calls :func:`track`. A method names the parts of its whole with :func:`whole` and :func:`part`, and a
:class:`Meter` turns both into one share of the whole. How that is shown is in :mod:`coterie.progress_display`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Protocol

_ALMOST_DONE = 0.99  # shown when the time is up and the work is not done
_SHORTEST = 1e-9  # seconds
_FIRST_TRACK = 0.8  # share of a part for the first work tracked in it; the rest is for what may follow


class Advance(Protocol):
    """Called with the number of units just done, and a note to show beside the label."""

    def __call__(self, done: int, /, *, note: str = "") -> None: ...  # noqa: D102


Listener = Callable[[str, int], AbstractContextManager[Advance]]
"""Given a label and a total, return a context manager that yields an :class:`Advance`."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def _ignore(_done: int, /, *, note: str = "") -> None:
    """There is no listener."""


def track(label: str, total: int) -> AbstractContextManager[Advance]:
    """Begin work of ``total`` units; the context manager yields ``advance(n)``."""
    listener = _listener.get()
    return listener(label, total) if listener else nullcontext(_ignore)


def whole(parts: Mapping[str, float], *, deadline: float | None = None) -> AbstractContextManager[None]:
    """Begin work that consists of named ``parts``, in this order, with their rough shares of the time.

    The work ends early to be done at the ``deadline`` (by time.perf_counter()), so the time that is used counts, too.
    """
    listener = _listener.get()
    return listener.whole(parts, deadline) if isinstance(listener, Meter) else nullcontext()


def part(name: str) -> AbstractContextManager[None]:
    """Begin a part of the :func:`whole`."""
    listener = _listener.get()
    return listener.part(name) if isinstance(listener, Meter) else nullcontext()


def expect(seconds: float) -> None:
    """Say that the :func:`whole` will take so many seconds more: this is better known than the shares of its parts."""
    listener = _listener.get()
    if isinstance(listener, Meter):
        listener.expect(seconds)


def has_listener() -> bool:
    """Whether progress is shown."""
    return _listener.get() is not None


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Report the progress of everything in this block to ``listener``."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


class Meter:
    """A listener that computes how much of the whole is done. ``show`` gets the share, 0 to 1, and what is going on.

    Work that is tracked within other tracked work, and a whole within another whole, change nothing.
    """

    def __init__(self, show: Callable[[float, str], None]) -> None:
        self._report = show
        self._began = time.perf_counter()  # as what shows the time left, which counts from its own beginning
        self._deadline, self._expected = math.inf, math.inf  # of the whole
        self._ends: dict[str, tuple[float, float]] = {}  # where each part begins and ends
        self._part = ""
        self._done, self._end = 0.0, 1.0  # the share that is done, and the end of the current part
        self._tracking = False

    @contextmanager
    def whole(self, parts: Mapping[str, float], deadline: float | None = None) -> Iterator[None]:
        """Begin work that consists of ``parts``."""
        if self._ends:
            yield
            return
        self._deadline, self._expected = math.inf if deadline is None else deadline, math.inf
        total, start = sum(parts.values()), 0.0
        for name, weight in parts.items():
            self._ends[name] = (start, start + weight / total)
            start += weight / total
        try:
            yield
        finally:
            self._ends, self._deadline, self._expected = {}, math.inf, math.inf

    def expect(self, seconds: float) -> None:
        """Expect the end of the whole in so many seconds."""
        if self._ends:
            self._expected = time.perf_counter() + seconds

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Begin a part of the whole."""
        if self._part or name not in self._ends:
            yield
            return
        self._part = name
        self._done, self._end = self._ends[name]
        self._show(self._done, name)
        try:
            yield
        finally:
            self._part = ""
            self._show(self._end, name)

    @contextmanager
    def __call__(self, label: str, total: int) -> Iterator[Advance]:
        """Begin work of ``total`` units within the current part, or as a whole of its own."""
        if self._tracking:
            yield _ignore
            return
        start, end = (self._done, self._done + _FIRST_TRACK * (self._end - self._done)) if self._part else (0.0, 1.0)
        name, n_done = self._part or label.lower(), 0

        def advance(done: int, /, *, note: str = "") -> None:
            nonlocal n_done
            n_done += done
            share = start + (end - start) * min(n_done / max(total, 1), 1.0)
            self._show(share, f"{name}, {note}" if note else name)

        self._tracking = True
        try:
            yield advance
        finally:
            self._tracking, self._done = False, end

    def _show(self, share: float, text: str) -> None:
        """Report the share of the time until the end is expected. Before that is known, the share that is done counts.

        With a deadline it is at least the share of the time that is used.
        """
        end = min(self._deadline, self._expected)
        used = min((time.perf_counter() - self._began) / max(end - self._began, _SHORTEST), _ALMOST_DONE)
        is_known = self._expected < math.inf and share < 1
        self._report(used if is_known else max(share, used), text)
