"""A lock file beside a target, so that two processes do not write it at the same time."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coterie.errors import InputError, LockedError

try:
    import fcntl
except ImportError:  # Windows: no lock
    fcntl = None  # type: ignore[assignment]

_MARK = "coterie"


@contextmanager
def exclusive(target: Path) -> Iterator[None]:
    """Hold the lock file ``.NAME.lock`` beside ``target``; raise :class:`LockedError` if another process holds it.

    The system releases the lock when the process ends, also when it is killed. The file is deleted at the end; one that
    a killed process left behind is used again.
    """
    target = target.resolve()
    path = target.with_name(f".{target.name}.lock")
    descriptor = _acquire(path, target)
    try:
        yield
    finally:
        if descriptor is not None:
            path.unlink(missing_ok=True)  # before the lock is released, so that nobody else holds this file
            os.close(descriptor)


def _acquire(path: Path, target: Path) -> int | None:
    """Return the descriptor that holds the lock; None where there are no locks."""
    if fcntl is None:
        return None
    while True:
        descriptor = _open(path, target)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = _owner(descriptor)
            os.close(descriptor)
            raise LockedError(
                f"{owner} is writing to {target}. Wait until it has ended, or name another file or folder."
            ) from None
        except OSError:  # a file system without locks
            os.close(descriptor)
            return None
        if _is_named(descriptor, path):
            _sign(descriptor, path, target)
            return descriptor
        os.close(descriptor)  # its owner deleted the file before it released the lock


def _sign(descriptor: int, path: Path, target: Path) -> None:
    """Write who holds the lock."""
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{_MARK} {os.getpid()} {platform.node()}\n".encode(), 0)
    except OSError as error:  # a full disk
        path.unlink(missing_ok=True)
        os.close(descriptor)
        raise InputError(f"Cannot write {target}: {error.strerror}.") from None


def _open(path: Path, target: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    except OSError as error:
        raise InputError(f"Cannot write {target}: its lock file {path}: {error.strerror}.") from None
    content = os.pread(descriptor, 100, 0)
    if content and not content.startswith(_MARK.encode()):
        os.close(descriptor)
        raise InputError(f"Cannot write {target}: {path} is not a lock file of coterie. Move it away.")
    return descriptor


def _owner(descriptor: int) -> str:
    """Return the process that holds the lock, in words."""
    words = os.pread(descriptor, 400, 0).decode("utf-8", "replace").split()
    return f"Process {words[1]} on {words[2]}" if len(words) == 3 and words[1].isdigit() else "Another process"


def _is_named(descriptor: int, path: Path) -> bool:
    """Whether the open file is still the one called ``path``."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
