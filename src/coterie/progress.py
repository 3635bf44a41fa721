"""Tell a listener how far long work has come. Silent unless somebody listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Protocol


class Advance(Protocol):
    """Takes how many more units are done, and a note to show beside the label."""

    def __call__(self, done: int, /, *, note: str = "") -> None: ...  # noqa: D102


Listener = Callable[[str, int], AbstractContextManager[Advance]]
"""Given a label and a total, yield a function that takes how many more are done."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def _ignore(_done: int, /, *, note: str = "") -> None:
    """Nobody listens."""


def track(label: str, total: int) -> AbstractContextManager[Advance]:
    """Open a stretch of work of ``total`` units; the value to use is ``advance(n)``."""
    listener = _listener.get()
    return listener(label, total) if listener else nullcontext(_ignore)


def is_heard() -> bool:
    """Whether somebody listens."""
    return _listener.get() is not None


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send the progress of everything inside to ``listener``."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def bars(*, force: bool = False) -> Iterator[None]:
    """Show bars with the time left on stderr when it is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True, force_terminal=force or None)
    if not console.is_terminal:
        yield
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:

        @contextmanager
        def listener(label: str, total: int) -> Iterator[Advance]:
            task = progress.add_task(label, total=total)

            def advance(done: int, /, *, note: str = "") -> None:
                progress.update(task, advance=done, description=f"{label} {note}".strip())

            try:
                yield advance
            finally:
                progress.remove_task(task)

        with listening(listener):
            yield
