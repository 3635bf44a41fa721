"""Distinct items and the way back to the rows they came from, whatever the items are."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from coterie.errors import InputError

OnEmpty = Literal["keep", "error"]
T = TypeVar("T", bound=Any)
H = TypeVar("H", bound=Hashable)


@dataclass(frozen=True)
class Rows(ABC, Generic[T]):
    """Each distinct item once. A row that has none, a blank text or an unreadable file, gets no cluster."""

    noun: ClassVar[str]
    warning: ClassVar[type[UserWarning]]

    unique: T
    inverse: NDArray[np.int64]  # (rows,) position in `unique`; -1 where the row is blank
    counts: NDArray[np.int64]  # (len(unique),)

    @property
    def n_rows(self) -> int:
        """How many rows the caller gave."""
        return len(self.inverse)

    @property
    def n_blank(self) -> int:
        """How many of them say nothing."""
        return int((self.inverse < 0).sum())

    @property
    @abstractmethod
    def complaint(self) -> str:
        """What to say of the blank rows."""

    @abstractmethod
    def contents(self) -> Iterator[bytes]:
        """Yield what tells each distinct item from the others."""

    def spread(self, values: NDArray[Any], blank: Any) -> NDArray[Any]:
        """Give each row the value of its distinct item, and ``blank`` to blank rows."""
        full = np.full((self.n_rows, *values.shape[1:]), blank, dtype=np.result_type(values, type(blank)))
        told = self.inverse >= 0
        full[told] = values[self.inverse[told]]
        return full

    def sha256(self) -> str:
        """Return a hash of all rows in order."""
        contents = [b"", *self.contents()]
        digest = hashlib.sha256()
        for position in self.inverse:
            digest.update(contents[position + 1] + b"\n")
        return digest.hexdigest()


def collapse(keys: Iterable[H | None]) -> tuple[list[H], NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys in order of appearance, the place of each row (-1 for None), and their counts."""
    position: dict[H, int] = {}
    inverse = np.array([-1 if key is None else position.setdefault(key, len(position)) for key in keys], dtype=np.int64)
    counts = np.bincount(inverse[inverse >= 0], minlength=len(position))
    return list(position), inverse, counts.astype(np.int64)


def frame_column(frame: Any, column: str | None, what: str) -> list[Any]:
    """Return a column of a pandas or polars data frame: the one that is named, or the only one."""
    names = list(frame.columns)
    if column is None and len(names) == 1:
        column = names[0]
    if column is None or column not in names:
        asked = f"Name the {what} column" if column is None else f"There is no column {column!r}"
        raise InputError(f"{asked}: column=... is one of {', '.join(map(repr, names))}.")
    return list(frame[column])
