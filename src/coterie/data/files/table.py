"""A table of named columns, as files hold it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from coterie.errors import InputError

Format = Literal["csv", "tsv", "jsonl", "parquet", "xlsx", "txt"]
SUFFIXES: dict[str, Format] = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".parquet": "parquet", ".pq": "parquet", ".xlsx": "xlsx", ".xlsm": "xlsx", ".txt": "txt", ".text": "txt",
}  # fmt: skip
Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class Table:
    """Named columns of equal length, and how their file is written."""

    columns: Columns
    format: Format
    delimiter: str = ","
    gzipped: bool = False
    encoding: str = "utf-8"
    bom: bool = False  # whether a UTF-8 file begins with a byte order mark, as those of Excel do
    notes: tuple[str, ...] = field(default=(), compare=False)  # what was detected, in sentences

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values()), []))

    def with_columns(self, **new: list[Any]) -> Table:
        """Return the table with new columns at the end; they replace columns of the same name."""
        kept = {name: values for name, values in self.columns.items() if name not in new}
        return replace(self, columns=kept | new)

    @property
    def suffix(self) -> str:
        """The file suffix of the format."""
        kind = "csv" if self.format == "txt" else self.format  # plain text has no columns
        return f".{kind}" + (".gz" if self.gzipped else "")


def format_of(name: str) -> tuple[Format | None, bool]:
    """Return the format that a file name says, and whether it says that the file is gzipped."""
    path = Path(name.lower())
    gzipped = path.suffix == ".gz"
    return SUFFIXES.get((path.with_suffix("") if gzipped else path).suffix), gzipped


def known_format_of(name: str, file_format: Format | None) -> tuple[Format, bool]:
    """Return the format of a file to read: the one that is named, or the one that its name says."""
    if name == "stdin":
        return file_format or "txt", False
    named, gzipped = format_of(name)
    if (found := file_format or named) is None:
        if not Path(name).exists():
            raise InputError(f"There is no file or folder {name}.")
        known = ", ".join(get_args(Format))
        raise InputError(f"{name}: unknown file name suffix. Name the format with --format: {known}.")
    return found, gzipped
