"""Write whole or not at all: work under a temporary name beside the target, then rename."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coterie.errors import InputError


@contextmanager
def atomic_file(target: Path) -> Iterator[Path]:
    """Yield a temporary path that becomes ``target`` when the block ends well."""
    _check_parent(target)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _flush(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes ``target``; a folder already there is replaced at the end."""
    target = target.resolve()
    _check_parent(target)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield temporary
        for path in temporary.rglob("*"):
            _flush(path)
            path.chmod((0o777 if path.is_dir() else 0o666) & ~_umask())  # whatever the library that wrote it thinks
        temporary.chmod(0o777 & ~_umask())
        if target.exists():  # a folder cannot be renamed over a full one: move the old one aside first
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
            _swap(target, old, temporary)
            shutil.rmtree(old)
        else:
            temporary.replace(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _swap(target: Path, old: Path, new: Path) -> None:
    """Move ``target`` to ``old`` and ``new`` to ``target``; if that fails, ``target`` is as it was."""
    try:
        target.replace(old)
    except OSError:
        old.rmdir()
        raise
    try:
        new.replace(target)
    except BaseException:
        old.replace(target)
        raise


def _check_parent(target: Path) -> None:
    if not target.parent.is_dir():
        raise InputError(f"Cannot write {target}: the folder {target.parent} does not exist.")


def _flush(path: Path) -> None:
    """Make sure the bytes are on disk before a rename says that they are."""
    if path.is_file():
        with path.open("rb") as stream:
            os.fsync(stream.fileno())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
