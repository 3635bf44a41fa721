"""Read the input of a command: a table of texts, with ready vectors if there are some, or a folder of images."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.cli import results
from coterie.cli.options import FileFormat
from coterie.cli.output import say

if TYPE_CHECKING:
    from coterie.data.files import Table


@dataclass(frozen=True)
class Input:
    """A table, its texts or file names as people read them, and the items to cluster."""

    table: Table
    columns: tuple[str, ...]  # of the texts, or of the file names
    texts: list[Any]
    items: Any  # the texts, ready vectors, or image files
    noun: str = "texts"  # what a row of the table is
    title: str = "texts"  # the name of the file or folder

    @property
    def source(self) -> str:
        """Where the items come from, for messages."""
        if self.noun != "texts":
            return self.title
        return f"column{'s' * (len(self.columns) > 1)} {', '.join(map(repr, self.columns))}"


def read_input(
    files: str | Sequence[str],
    column: str | None,
    file_format: FileFormat | None,
    encoding: str | None,
    delimiter: str | None,
    vectors: Path | None = None,
    *,
    text_columns: str | None = None,
    header: bool | None = None,
    sheet: str | None = None,
    without_results: bool = False,
) -> Input:
    """Read files of texts as one table, and the file of their vectors; perhaps without columns that coterie added."""
    from coterie.data.files import join_tables, read_table
    from coterie.errors import InputError

    names = [files] if isinstance(files, str) else list(files)
    if len(set(names)) < len(names):
        raise InputError("A file is named twice. Name every file once.")
    tables = {
        name: read_table(
            name,
            file_format=file_format.value if file_format else None,
            encoding=encoding,
            delimiter=delimiter,
            header=header,
            sheet=sheet,
        )
        for name in names
    }
    table = join_tables(tables)
    for note in table.notes:
        say(note)
    table = results.without_results(table) if without_results else table
    columns, texts = _texts(table, column, text_columns)
    items = texts if vectors is None else _read_vectors(vectors, len(texts))
    return Input(table, columns, texts, items, title=_title(names, "texts"))


def _texts(table: Table, column: str | None, text_columns: str | None) -> tuple[tuple[str, ...], list[Any]]:
    """Return the names of the text columns, and their cells; several are joined row by row."""
    from coterie.data.text_column import text_column
    from coterie.errors import InputError

    if text_columns is None:
        name = text_column(table.columns, column)
        cells = table.columns[name]
        if table.format == "xlsx":  # a spreadsheet makes numbers and dates of what looks like them
            cells = [cell if cell is None else str(cell) for cell in cells]
        return (name,), cells
    if column is not None:
        raise InputError("--column names one text column and --text-columns several: use one of the two.")
    names = tuple(text_column(table.columns, name.strip()) for name in text_columns.split(","))
    rows = zip(*(table.columns[name] for name in names), strict=True)
    return names, [" ".join(str(cell) for cell in row if cell not in (None, "")) for row in rows]


def read_folder(folders: str | Sequence[str], **text_options: Any) -> Input:
    """Find the images below a folder; raise an error if one of ``text_options`` is set."""
    from coterie.data.files import Table
    from coterie.data.images import image_files
    from coterie.errors import InputError

    if used := [name for name, value in text_options.items() if value is not None]:
        raise InputError(f"--{used[0].replace('_', '-')} is for files of texts; for images, name only their folder.")
    folders = [folders] if isinstance(folders, str) else folders
    files = [path for folder in folders for path in image_files(folder)]
    names = [_name(path) for path in files]
    return Input(Table({"file": names}, "csv"), ("file",), names, files, "images", _title(folders, "images"))


def _title(names: Sequence[str], default: str) -> str:
    """Return the names of files without their folders."""
    return ", ".join(Path(name).name or default for name in names if name != "-") or default


def _name(path: Path) -> str:
    r"""Return a file name as text; bytes that are not UTF-8 become escapes like ``\xff``."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _read_vectors(path: Path, n_rows: int) -> Any:
    from tokenize import TokenError  # numpy's parser of old headers raises it

    import numpy as np

    from coterie.errors import InputError

    try:
        # Mapped, because a header may promise more numbers than the file, or the memory, has.
        with np.errstate(over="raise"):
            h = np.lib.format.open_memmap(path, mode="r")
    except (OSError, ValueError, ArithmeticError, EOFError, MemoryError, SyntaxError, TokenError) as error:
        raise InputError(f"{path} is not an array saved by numpy.save ({error}).") from None
    if not np.issubdtype(h.dtype, np.number):
        raise InputError(f"{path} has {h.dtype} values, not numbers.")
    if h.ndim != 2 or len(h) != n_rows:
        raise InputError(f"{path} has shape {h.shape}; expected one row for each of the {n_rows} texts.")
    return np.array(h)
