"""A user's own labeled file as a data set of an experiment."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coterie.data.files import read_table
from coterie.data.text_column import text_column
from coterie.datasets import Dataset
from coterie.errors import InputError
from coterie.wording import count


@dataclass(frozen=True)
class UserFile:
    """A file with a column of texts and a column of true labels. The hash tells changed files apart."""

    path: str
    text: str
    truth: str
    sha256: str

    def to_dict(self) -> dict[str, str]:
        """Return plain values for a result."""
        return asdict(self)

    def load(self) -> Dataset:
        """Return the texts and labels."""
        return _read(self.path, self.text, self.truth)[0]


def user_file(path: str, text: str | None, truth: str | None) -> UserFile:
    """Return the description of a file after a check that it can be used; the text column is found if not given."""
    if truth is None:
        raise InputError(f"{path}: name the column of the true labels with --truth.")
    data, text = _read(path, text, truth)
    if len(data.label_names) < 2:
        raise InputError(f"{path}: all labels in column {truth!r} are equal; a comparison needs two or more.")
    return UserFile(path, text, truth, hashlib.sha256(Path(path).read_bytes()).hexdigest())


def _read(path: str, text: str | None, truth: str) -> tuple[Dataset, str]:
    """Return the data set and the name of its text column."""
    table = read_table(path)
    labels = [_as_text(cell) for cell in table.columns[text_column(table.columns, truth)]]
    others = {name: cells for name, cells in table.columns.items() if name != truth}
    name = text_column(others, text)
    texts = [_as_text(cell) for cell in table.columns[name]]
    for column, cells in ((truth, labels), (name, texts)):
        _check_filled(path, column, cells)
    classes = sorted(set(labels))
    number = {label: i for i, label in enumerate(classes)}
    return Dataset(path, texts, np.array([number[label] for label in labels], dtype=np.int64), classes), name


def _as_text(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()


def _check_filled(path: str, column: str, cells: Sequence[str]) -> None:
    blank = [row for row, cell in enumerate(cells, start=1) if not cell]
    if blank:
        n = count(len(cells), "rows")
        raise InputError(
            f"{path}: {len(blank):,} of {n} have nothing in column {column!r}, the first is row {blank[0]}. "
            "Remove them from the file first."
        )
