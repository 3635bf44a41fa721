"""Temporary folders beside a target, and the removal of those that a killed process left behind.

A process locks its temporary folder (flock) while it writes. The system releases the lock when the process ends, also
when it is killed. A temporary folder without a lock is therefore a leftover.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: no locks, so leftovers are kept
    fcntl = None  # type: ignore[assignment]


@contextmanager
def temporary_folder(target: Path) -> Iterator[Path]:
    """Yield a new folder beside ``target``, and delete it at the end. Leftovers of earlier runs are removed first."""
    remove_leftovers(target)
    folder, lock = _locked_folder(target)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        unlock(lock)


def _locked_folder(target: Path) -> tuple[Path, int | None]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.coterie-new-", dir=target.parent))
        lock = lock_folder(folder)
        if folder.is_dir():
            return folder, lock
        unlock(lock)  # another process removed it as a leftover before it was locked


def backup_name(target: Path) -> Path:
    """Return the name of a new empty folder beside ``target``, under which the old target can be kept for a moment."""
    return Path(tempfile.mkdtemp(prefix=f".{target.name}.coterie-old-", dir=target.parent))


def remove_leftovers(target: Path) -> None:
    """Remove what killed processes left beside ``target``; an old target that lost its name gets it back."""
    for path, is_backup in _leftovers(target):
        lock = lock_folder(path, wait=False)
        if lock is None:  # in use, or locks are not supported here
            continue
        try:
            if is_backup and not target.exists() and any(path.iterdir()):
                path.replace(target)
            else:
                shutil.rmtree(path, ignore_errors=True)
        except OSError:  # another process has removed it
            pass
        finally:
            unlock(lock)


def _leftovers(target: Path) -> list[tuple[Path, bool]]:
    """Return the temporary folders beside ``target``, and whether each is a backup of the old target."""
    name = re.compile(re.escape(f".{target.name}.coterie-") + r"(new|old)-[a-z0-9_]{8}")
    try:
        with os.scandir(target.parent) as entries:
            found = [(entry.path, name.fullmatch(entry.name)) for entry in entries]
    except OSError:  # the folder cannot be listed
        return []
    return [(Path(path), match[1] == "old") for path, match in sorted(found, key=str) if match]


def lock_folder(folder: Path, *, wait: bool = True) -> int | None:
    """Return a descriptor that holds a lock on ``folder``, or None if that is not possible."""
    if fcntl is None:
        return None
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def unlock(descriptor: int | None) -> None:
    """Release a lock of :func:`lock_folder`."""
    if descriptor is not None:
        os.close(descriptor)
