"""Plain text: a text a line, or a text a file of a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from coterie.data.files.encodings import find_encoding, open_text
from coterie.data.files.source import read_bytes
from coterie.data.files.table import Table
from coterie.data.limits import BYTES, ROWS
from coterie.errors import InputError


def read_lines(lines: Iterable[str], name: str) -> dict[str, list[str]]:
    """Return the lines as the column ``text``. They end at line feeds only: other line ends occur inside texts."""
    texts = []
    for line in lines:
        texts.append(line.removesuffix("\n").removesuffix("\r"))
        ROWS.check(len(texts), name)
    return {"text": texts}


def read_text_folder(folder: Path, encoding: str | None) -> Table:
    """Return the columns ``file`` and ``text`` of all text files below a folder, sorted by their names."""
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".txt", ".text") and path.is_file())
    if not files:
        raise InputError(
            f"There are no text files (.txt) in the folder {folder}. Name a file; or for images, add --items images."
        )
    ROWS.check(len(files), str(folder))
    BYTES.check(sum(path.stat().st_size for path in files), str(folder))
    texts = []
    n_bytes = 0
    notes: dict[str, None] = {}
    for path in files:
        data, _ = read_bytes(path, str(path))
        n_bytes += len(data)  # more than the size of the files, if they are gzipped
        BYTES.check(n_bytes, str(folder))
        found = find_encoding(data, encoding, str(path))
        notes |= dict.fromkeys(found.notes)
        with open_text(data, found, newline="") as stream:
            texts.append(stream.read())
    if len(notes) > 1:  # one line, however many files there are
        notes = {f"{len(notes):,} files in {folder} are not UTF-8; the first: {next(iter(notes))}": None}
    names = [os.fsencode(path.relative_to(folder)).decode("utf-8", "backslashreplace") for path in files]
    return Table({"file": names, "text": texts}, "csv", notes=tuple(notes))
