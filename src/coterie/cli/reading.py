"""Read what a command was given: the table, the texts in it, and vectors when the caller has them; or a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

from coterie.cli.options import FileFormat

if TYPE_CHECKING:
    from coterie.data.files import Table


@dataclass(frozen=True)
class Input:
    """A table, the name of its text column, and what a clusterer is to be given."""

    table: Table
    column: str
    items: Any  # the texts, the caller's vectors, or files with images
    noun: str = "texts"

    @property
    def texts(self) -> list[Any]:
        """The texts as the file has them."""
        return self.table.columns[self.column]


def read_input(
    file: str,
    column: str | None,
    file_format: FileFormat | None,
    encoding: str,
    delimiter: str | None,
    vectors: Path | None = None,
) -> Input:
    """Read the file and find its texts."""
    from coterie.data.columns import text_column
    from coterie.data.files import read_table

    table = read_table(
        file, file_format=file_format.value if file_format else None, encoding=encoding, delimiter=delimiter
    )
    name = text_column(table, column)
    texts = table.columns[name]
    return Input(table, name, texts if vectors is None else _read_vectors(vectors, len(texts)))


def read_folder(folder: str, **options: Any) -> Input:
    """Find the images below a folder; ``options`` are for texts, and refused."""
    from coterie.data.files import Table
    from coterie.data.images import image_files
    from coterie.errors import InputError

    if asked := [name for name, value in options.items() if value is not None]:
        raise InputError(f"--{asked[0]} is for texts in a file; of images name only their folder.")
    files = image_files(folder)
    return Input(Table({"file": [str(path) for path in files]}, "csv"), "file", files, "images")


def _read_vectors(path: Path, n_rows: int) -> Any:
    import numpy as np

    from coterie.errors import InputError

    try:
        with path.open("rb") as stream:
            h = np.load(stream, allow_pickle=False)
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise InputError(f"{path} is not an array saved by numpy.save ({error}).") from None
    if not isinstance(h, np.ndarray):
        raise InputError(f"{path} holds several arrays. Save the one with the vectors by numpy.save.")
    if not np.issubdtype(h.dtype, np.number):
        raise InputError(f"{path} holds {h.dtype} values, not numbers.")
    if h.ndim != 2 or len(h) != n_rows:
        raise InputError(f"{path} has shape {h.shape}; expected one row for each of the {n_rows} texts.")
    return h
