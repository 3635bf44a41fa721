"""Where a command writes: checked before the work begins, and locked until the command ends.

One rule for every `--out`: what exists is replaced with --force only, and a folder only if coterie wrote it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path

_locks: ContextVar[ExitStack] = ContextVar("locks")


@contextmanager
def command_resources() -> Iterator[None]:
    """Release the locks of a command when it ends. Until then SIGTERM stops it like Ctrl-C, so that it can clean up."""
    in_main_thread = threading.current_thread() is threading.main_thread()  # only there signals can be handled
    before = signal.signal(signal.SIGTERM, signal.default_int_handler) if in_main_thread else None
    with ExitStack() as locks:
        token = _locks.set(locks)
        try:
            yield
        finally:
            _locks.reset(token)
            if in_main_thread:
                signal.signal(signal.SIGTERM, before)


def reserve_folder(out: Path | None, *, force: bool) -> None:
    """Raise :class:`InputError` if the folder ``out`` may not or cannot be written; else lock it."""
    from coterie.data.ownership import check_folder

    if out is not None:
        check_folder(out, overwrite=force)
        _reserve(out)


def reserve_file(out: Path | None, *, force: bool) -> None:
    """Raise :class:`InputError` if the file ``out`` may not or cannot be written; else lock it."""
    from coterie.data.ownership import check_file

    if out is not None:
        check_file(out, overwrite=force)
        _reserve(out)


def _reserve(out: Path) -> None:
    from coterie.data.atomic import check_writable
    from coterie.data.lock import exclusive

    check_writable(out)
    _locks.get().enter_context(exclusive(out))
