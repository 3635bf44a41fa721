"""Ctrl-C between two steps, never inside one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into an answer to "was it asked?"; a second one interrupts at once."""
    asked = threading.Event()
    before = signal.getsignal(signal.SIGINT)
    here = threading.current_thread() is threading.main_thread()  # signals go to the main thread only
    if not here or before in (signal.SIG_IGN, None):  # ignored: a job in the background
        yield asked.is_set
        return

    def remember(_signal: int, _frame: FrameType | None) -> None:
        asked.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, remember)
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, before)
