"""Ctrl-C and SIGTERM between two steps, never inside one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether Ctrl-C was pressed; a second Ctrl-C interrupts at once.

    SIGTERM counts as Ctrl-C where it raises KeyboardInterrupt already, as on the command line.
    """
    requested = threading.Event()
    here = threading.current_thread() is threading.main_thread()  # signals go to the main thread only
    handlers = {int(number): signal.getsignal(number) for number in _SIGNALS} if here else {}
    # A handler that is none: the signal is ignored (a job in the background), or ends the process.
    before = {number: handler for number, handler in handlers.items() if callable(handler)}

    def remember(number: int, _frame: FrameType | None) -> None:
        requested.set()
        signal.signal(number, before[number])

    try:
        for number in before:
            signal.signal(number, remember)
        yield requested.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
