"""Show progress: one bar on a terminal or in a notebook, or a line every ten seconds."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Literal

from coterie.progress import Meter, listening

Mode = Literal["auto", "bar", "plain", "off"]
"""auto: a bar on a terminal and in a notebook, lines in the log of continuous integration, else nothing."""
Show = Callable[[float, str], None]
_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_TO_ESTIMATE = 2.0  # before that, and below the next share, the time left is not known
_SHARE_TO_ESTIMATE = 0.02


@contextmanager
def show_progress(mode: Mode = "auto", *, title: str = "", off_terminal: Mode = "off") -> Iterator[None]:
    """Show the progress of everything in this block on stderr, after ``title``.

    ``off_terminal`` is what ``auto`` means where there is neither a terminal nor a notebook, nor the log of CI.
    """
    with _display(mode, off_terminal) as show:
        if show is None:
            yield
            return
        prefix = f"{title} " if title else ""
        with listening(Meter(lambda share, text: show(share, prefix + text))):
            yield


def _display(mode: Mode, off_terminal: Mode) -> AbstractContextManager[Show | None]:
    """Return what shows a share and a text; its value is None where nothing is shown."""
    if mode == "auto":
        mode = _default(off_terminal)
    if mode == "off":
        return nullcontext()
    if mode == "plain":
        return nullcontext(_Lines())
    return _notebook_bar() if _in_notebook() and _has_tqdm() else _terminal_bar()


def _default(off_terminal: Mode) -> Mode:
    if _in_notebook() or _is_terminal():
        return "bar"
    return "plain" if os.environ.get("CI", "").lower() not in ("", "0", "false") else off_terminal


def _is_terminal() -> bool:
    from rich.console import Console

    return Console(stderr=True).is_terminal


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    return "ipykernel" in sys.modules and ipython is not None and ipython.get_ipython() is not None


def _has_tqdm() -> bool:
    try:
        import tqdm.auto  # type: ignore[import-untyped] # noqa: F401
    except ImportError:
        return False
    return True


class _Clock:
    """Estimates the time left from the share that is done."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def left(self, share: float) -> str:
        """Return the time left in words; empty while it is not known."""
        elapsed = time.monotonic() - self._start
        if share < _SHARE_TO_ESTIMATE or share >= 1 or elapsed < _SECONDS_TO_ESTIMATE:
            return ""
        return f"about {_duration(elapsed * (1 - share) / share)} left"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class _Lines:
    """Writes a line every ten seconds, for logs."""

    def __init__(self) -> None:
        self._clock, self._last = _Clock(), time.monotonic()

    def __call__(self, share: float, text: str) -> None:
        now = time.monotonic()
        if now - self._last < _SECONDS_BETWEEN_LINES:
            return
        self._last = now
        parts = [f"{share:4.0%}", text, self._clock.left(share)]
        sys.stderr.write("  ".join(filter(None, parts)) + "\n")
        sys.stderr.flush()


@contextmanager
def _terminal_bar() -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), TextColumn("{task.fields[left]}"))
    clock = _Clock()
    with Progress(*columns, console=Console(stderr=True, force_terminal=True), transient=True) as progress:
        task = progress.add_task("", total=1.0, left="")

        def show(share: float, text: str) -> None:
            progress.update(task, completed=share, description=_without_markup(text), left=clock.left(share))

        yield show


def _without_markup(text: str) -> str:
    return text.replace("[", r"\[")


@contextmanager
def _notebook_bar() -> Iterator[Show]:
    from tqdm.auto import tqdm

    with tqdm(total=100, bar_format="{percentage:3.0f}%|{bar}| {desc}", leave=False) as bar:
        yield _in_percent(bar)


def _in_percent(bar: Any) -> Show:
    clock = _Clock()

    def show(share: float, text: str) -> None:
        bar.set_description_str("  ".join(filter(None, [text, clock.left(share)])), refresh=False)
        bar.update(100 * share - bar.n)

    return show
