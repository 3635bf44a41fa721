"""Where a command writes: checked before the work begins, and locked until the command ends.

One rule for every `--out`: what exists is replaced with --force only, and a folder only if coterie wrote it.
"""

from __future__ import annotations

import itertools
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path

from coterie.cli.output import is_worker

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

    if out is not None and not is_worker():
        check_folder(out, overwrite=force)
        reserve(out)


def reserve_default_folder(first_input: str, *, suffix: str = "clusters", force: bool) -> Path:
    """Lock and return the folder for results where none is named: ``NAME-clusters`` in the current folder.

    If that is taken, the name gets a number; with ``force`` it is replaced, as if it had been named.
    """
    name = _stem(first_input)
    first = f"{name}-{suffix}" if name else suffix
    numbered = (f"{first}-{number}" for number in itertools.count(2))
    return next(out for out in map(Path, itertools.chain([first], numbered)) if _is_reserved(out, force=force))


def _is_reserved(out: Path, *, force: bool) -> bool:
    """Lock the folder ``out`` if it is free, and return whether it was."""
    from coterie.errors import InputError, LockedError

    if is_worker():  # the first process writes
        return True
    if os.path.lexists(out) and not force:
        return False
    try:
        reserve_folder(out, force=force)
    except LockedError:  # another command is about to write there
        if force:
            raise
        return False
    except InputError as error:
        raise InputError(f"{error} To write elsewhere: --out FOLDER; to save nothing: --no-save.") from None
    return True


def _stem(name: str) -> str:
    """Return the name of a file or folder without its suffixes; nothing for stdin."""
    if name == "-":
        return ""
    path = Path(name).resolve()
    path = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return path.stem.strip(".") if path.suffix and not path.is_dir() else path.name.strip(".")


def reserve_file(out: Path | None, *, force: bool) -> None:
    """Raise :class:`InputError` if the file ``out`` may not or cannot be written; else lock it."""
    from coterie.data.ownership import check_file

    if out is not None:
        check_file(out, overwrite=force)
        reserve(out)


def reserve(out: Path) -> None:
    """Lock the file or folder ``out`` until the command ends, after a look whether it can be written."""
    from coterie.data.atomic import check_writable
    from coterie.data.lock import exclusive

    check_writable(out)
    _locks.get().enter_context(exclusive(out))
