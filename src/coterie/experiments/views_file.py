"""A file with views that others computed once, e.g. those published with a paper: `coterie bench run --views FILE`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coterie.contracts import Items
from coterie.data.files import read_table
from coterie.errors import InputError

_TEXT_COLUMNS = ("text", "text0")  # SCCL's and RSTC's files, AECL's files
_VIEW_COLUMNS = ("text1", "text2")
_MIN_EQUAL = 0.95  # published files differ from the data sets in a few characters


@dataclass(frozen=True)
class ViewsFile:
    """A table with a row for each text of a data set: the text, and its views in the columns text1 and text2."""

    path: str
    columns: tuple[str, ...]
    sha256: str

    def to_dict(self) -> dict[str, str]:
        """Return plain values for a result: no folder, because it says nothing about the content."""
        return {"file": Path(self.path).name, "sha256": self.sha256}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ViewsFile:
        """Return the file that an experiment names; ``--views`` says where it is."""
        return cls(values["file"], tuple(values["columns"]), values["sha256"])

    def views(self, names: Sequence[str], items: Items) -> list[list[str]]:
        """Return the views in the columns ``names``, after a check that the file is of ``items``."""
        table = read_table(self.path).columns
        if missing := [name for name in names if name not in table]:
            raise InputError(f"{self.path} has no column {missing[0]!r} with views.")
        column = next(name for name in _TEXT_COLUMNS if name in table)
        n_equal = sum(_words(a) == _words(b) for a, b in zip(table[column], items, strict=False))
        if len(table[column]) != len(items) or n_equal < _MIN_EQUAL * len(items):
            raise InputError(
                f"{self.path} does not belong to this data set: {n_equal:,} of its {len(table[column]):,} texts are "
                f"those of the {len(items):,} rows."
            )
        return [[str(cell or "") for cell in table[name]] for name in names]


def views_file(path: str) -> ViewsFile:
    """Return the description of a file after a check of its columns."""
    table = read_table(path).columns
    columns = tuple(name for name in _VIEW_COLUMNS if name in table)
    if not columns or not any(name in table for name in _TEXT_COLUMNS):
        raise InputError(f"{path}: a file of views has a column text or text0, and views in text1 or text1 and text2.")
    return ViewsFile(path, columns, hashlib.sha256(Path(path).read_bytes()).hexdigest())


def _words(text: object) -> list[str]:
    return str(text).lower().split()
