"""Atomic writes: write under a temporary name beside the target, then rename.

An interrupted write leaves the target as it was. What a killed process leaves behind is removed by the next write to
the same target.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from coterie.data.exchange import exchange
from coterie.data.ownership import check_folder
from coterie.data.temporary import backup_name, lock_folder, temporary_folder, unlock
from coterie.errors import InputError


@contextmanager
def atomic_file(target: Path) -> Iterator[Path]:
    """Yield the path of a temporary file that replaces ``target`` when the block ends without an error.

    The file is in a temporary folder, because libraries write temporary files of their own beside it.
    """
    _check_parent(target)
    target = target.resolve()
    with temporary_folder(target) as folder, _errors_name(target, folder):
        temporary = folder / target.name
        temporary.touch()
        yield temporary
        _flush(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
        _flush(target.parent)


@contextmanager
def atomic_folder(target: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a temporary folder that gets the name ``target`` when the block ends without an error.

    A folder of that name is replaced if it is empty, or with ``overwrite`` if it has only files that coterie wrote.
    """
    _check_parent(target)
    target = target.resolve()
    with temporary_folder(target) as temporary, _errors_name(target, temporary):
        yield temporary
        for path in temporary.rglob("*"):
            _flush(path)
            mode = 0o777 if path.is_dir() else 0o666  # libraries write files with other modes
            path.chmod(mode & ~_umask())
        temporary.chmod(0o777 & ~_umask())
        check_folder(target, overwrite=overwrite)  # last, because the block may have taken hours
        _replace_folder(target, temporary)
        _flush(target.parent)


def check_writable(target: Path) -> None:
    """Raise :class:`InputError` if nothing can be written beside ``target``; leave nothing behind."""
    _check_parent(target)
    try:
        with temporary_folder(target.resolve()):
            pass
    except OSError as error:
        raise InputError(f"Cannot write {target}: {error.strerror}.") from None


def _replace_folder(target: Path, new: Path) -> None:
    """Give ``new`` the name ``target``. An older folder of that name is then called ``new``, or is deleted."""
    if not target.exists():
        new.replace(target)
    elif not exchange(new, target):
        _rename_twice(target, new)


def _rename_twice(target: Path, new: Path) -> None:
    """Rename ``target`` to a backup and ``new`` to ``target``; undo the first if the second fails."""
    lock = lock_folder(target)  # so that no other process removes the backup as a leftover
    backup = backup_name(target)
    try:
        try:
            target.replace(backup)
        except OSError:
            backup.rmdir()
            raise
        try:
            new.replace(target)
        except BaseException:
            backup.replace(target)
            raise
        shutil.rmtree(backup)
    finally:
        unlock(lock)


@contextmanager
def _errors_name(target: Path, temporary: Path) -> Iterator[None]:
    """Name ``target`` instead of the temporary file in errors of the system; safetensors' become such errors."""
    try:
        yield
    except SafetensorError as error:
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise OSError(None, str(error), str(target)) from error
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(target)) from error
    except OSError as error:
        if error.errno is not None and (error.filename is None or str(error.filename).startswith(str(temporary))):
            error.filename = str(target)
        raise


def _check_parent(target: Path) -> None:
    if not target.parent.is_dir():
        raise InputError(f"Cannot write {target}: the folder {target.parent} does not exist.")


def _flush(path: Path) -> None:
    """Make sure the bytes of a file, or the names in a folder, are on disk."""
    if not path.is_file() and not (path.is_dir() and hasattr(os, "O_DIRECTORY")):  # Windows opens no folders
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
