"""The file list in a folder that coterie wrote. Only such a folder is ever replaced."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from coterie.errors import InputError

MARKER = "coterie.json"
_LISTS: dict[str, Callable[[dict[str, Any]], bool]] = {
    MARKER: lambda value: value.get("written_by") == "coterie",  # outputs, encoders and data sets
    "manifest.json": lambda value: "schema_version" in value and "config.json" in value["files"],  # models
}
"""The files that list the others, and what makes them ours."""
_HOW = "--force on the command line, overwrite=True in Python"
_MAX_BYTES = 2**24
_FILE_MANAGERS = {".DS_Store", "Thumbs.db", "desktop.ini"}
"""Names of files that file managers create in every folder."""


def write_marker(folder: Path) -> None:
    """Write the list of all files in ``folder``, as the last of them."""
    value = {"written_by": "coterie", "files": sorted(_entries(folder))}
    (folder / MARKER).write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def add_to_marker(path: Path) -> None:
    """Add a file that coterie wrote later to the list of its folder, if the folder has one."""
    marker = path.parent / MARKER
    value = _read(marker)
    if isinstance(value, dict) and _LISTS[MARKER](value) and path.name not in value["files"]:
        from coterie.data.atomic import atomic_file  # which imports this module

        value["files"] = sorted([*value["files"], path.name])
        with atomic_file(marker) as temporary:
            temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Raise :class:`InputError` unless ``folder`` may be written: it is new or empty, or ours and ``overwrite``."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"{folder} is a file, not a folder, so it is not replaced. Name another folder.")
    if all(is_from_file_manager(name) for name in os.listdir(folder)):
        return
    if not overwrite:
        raise InputError(f"The folder {folder} is not empty. Name a new one, or replace it: {_HOW}.")
    listed = _listed(folder)
    if listed is None:  # said before all that is in it is listed: it may be a whole disk
        raise InputError(
            f"The folder {folder} was not written by coterie (it has no {MARKER}), so it is not replaced. "
            "Name another folder."
        )
    if foreign := sorted(_entries(folder) - listed):
        raise InputError(
            f"The folder {folder} has the file {foreign[0]!r}, which coterie did not write, so the folder is not "
            "replaced. Move the file away, or name another folder."
        )


def check_file(path: Path, *, overwrite: bool) -> None:
    """Raise :class:`InputError` unless the file ``path`` may be written: it is new, or a file and ``overwrite``."""
    if path.is_dir():
        raise InputError(f"{path} is a folder. Name a file.")
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is a device or a pipe, not a file. Name a file, or leave the option out for stdout.")
    if path.exists() and not overwrite:
        raise InputError(f"The file {path} exists. Name a new one, or replace it: {_HOW}.")


def is_from_file_manager(name: str) -> bool:
    """Whether a file was made by the file manager of the desktop, not by a user or an attacker."""
    return name in _FILE_MANAGERS


def _entries(folder: Path) -> set[str]:
    """Return the files and empty folders below ``folder``, relative to it; a symbolic link counts as a file."""
    found = set()
    for place, folders, names in os.walk(folder, onerror=_raise):
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        found |= {Path(place, name).relative_to(folder).as_posix() for name in [*names, *links]}
        if not names and not folders and place != str(folder):
            found.add(Path(place).relative_to(folder).as_posix())
    return {name for name in found if not is_from_file_manager(Path(name).name)}


def _raise(error: OSError) -> None:
    raise error


def _listed(folder: Path) -> set[str] | None:
    """Return the files that coterie wrote into ``folder``; None if it has no list of them."""
    for name, is_ours in _LISTS.items():
        value = _read(folder / name)
        if isinstance(value, dict) and isinstance(value.get("files"), list | dict) and is_ours(value):
            return {name} | {file for file in value["files"] if isinstance(file, str)}
    return None


def _read(path: Path) -> Any:
    try:
        if path.is_file() and path.stat().st_size <= _MAX_BYTES:
            return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        pass
    return None
