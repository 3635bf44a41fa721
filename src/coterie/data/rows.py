"""The rows of an input with duplicates removed, for every type of item."""

from __future__ import annotations

import copy
import hashlib
import warnings
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from coterie.arrays import is_large, subsample
from coterie.errors import KeptColumnWarning, user_level

OnEmpty = Literal["keep", "error"]
"""What happens to blank texts and unreadable images: keep them without a cluster, or raise an error."""
T = TypeVar("T", bound=Any)
H = TypeVar("H", str, bytes)


@dataclass(frozen=True)
class Rows(ABC, Generic[T]):
    """The distinct items of an input, and the distinct item of each row.

    A row is blank if it has no item: a blank text or an unreadable image file. Blank rows get no cluster.
    """

    noun: ClassVar[str]
    """What the items are called in messages."""
    blank_warning: ClassVar[type[UserWarning]]
    """Category of the warning about blank rows."""

    unique: T  # the distinct items, sorted: what is computed from them does not depend on the order of the rows
    inverse: NDArray[np.int64]  # (n_rows,) position in `unique`; -1 for a blank row
    counts: NDArray[np.int64]  # (n_distinct,) number of rows of each distinct item

    @property
    def n_rows(self) -> int:
        """Number of rows of the input."""
        return len(self.inverse)

    @property
    def n_distinct(self) -> int:
        """Number of distinct items."""
        return len(self.unique)

    @property
    def n_blank(self) -> int:
        """Number of blank rows."""
        return int((self.inverse < 0).sum())

    @property
    @abstractmethod
    def blank_message(self) -> str:
        """Text of the warning about blank rows."""

    @abstractmethod
    def digests(self) -> Iterator[bytes]:
        """Yield bytes that identify each distinct item."""

    def too_few_message(self, n_clusters: int) -> str:
        """Return the error message for fewer distinct items than clusters."""
        rows = f" (of {self.n_rows} rows, {self.n_blank} of them blank)" if self.n_rows != self.n_distinct else ""
        verb = "is" if self.n_distinct == 1 else "are"
        return (
            f"{n_clusters} clusters need at least {n_clusters} distinct {self.noun}, but there {verb} "
            f"{self.n_distinct}{rows}. Use fewer clusters or more {self.noun}."
        )

    def expand(self, values: NDArray[Any], blank: Any) -> NDArray[Any]:
        """Return the values (n_distinct, ...) of distinct items as values (n_rows, ...) of rows.

        Blank rows get the value ``blank``.
        """
        full = np.full((self.n_rows, *values.shape[1:]), blank, dtype=np.result_type(values, type(blank)))
        valid = self.inverse >= 0
        full[valid] = values[self.inverse[valid]]
        return full

    def take(self, rows: NDArray[np.int64]) -> Any:
        """Return some of the distinct items."""
        return [self.unique[i] for i in rows] if isinstance(self.unique, list) else self.unique[rows]

    def sample(self, items: NDArray[np.int64]) -> Self:
        """Return the rows of some of the distinct items, which are given in ascending order."""
        position = np.full(self.n_distinct + 1, -1)  # the last one is for blank rows
        position[items] = np.arange(len(items))
        inverse = position[self.inverse]
        part = copy.copy(self)
        fields = {"unique": self.take(items), "inverse": inverse[inverse >= 0], "counts": self.counts[items]}
        for name, value in fields.items():
            object.__setattr__(part, name, value)  # the class is frozen
        return part

    def training_sample(self) -> Self:
        """Return what an encoder is trained on: the rows of a sample, the same in every fit, if there are very many."""
        return self.sample(subsample(self.n_distinct)) if is_large(self.n_distinct) else self

    def sha256(self) -> str:
        """Return a hash of all rows in order."""
        digests = [b"", *self.digests()]  # position 0 is for blank rows
        digest = hashlib.sha256()
        for position in self.inverse:
            digest.update(digests[position + 1] + b"\n")
        return digest.hexdigest()


def deduplicate(keys: Iterable[H | None]) -> tuple[list[H], NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys, sorted, the position of each row in them (-1 for None), and the counts."""
    rows = list(keys)
    distinct = sorted({key for key in rows if key is not None})
    positions: dict[H | None, int] = {key: position for position, key in enumerate(distinct)}
    positions[None] = -1
    inverse = np.array([positions[key] for key in rows], dtype=np.int64)
    counts = np.bincount(inverse[inverse >= 0], minlength=len(distinct))
    return distinct, inverse, counts.astype(np.int64)


def free_names(new: Collection[str], taken: Collection[Any]) -> list[str]:
    """Return the names of new columns; where the user has a column of one of them, all have a number: ``cluster_2``."""
    number, names = 1, list(new)
    while any(name in taken for name in names):
        number += 1
        names = [f"{name}_{number}" for name in new]
    return names


def kept_message(new: Collection[str], taken: Collection[Any]) -> str:
    """Return a sentence about the user's column that has a name of ours; empty if there is none."""
    theirs = [name for name in new if name in taken]
    if not theirs:
        return ""
    ours = ", ".join(repr(name) for name in free_names(new, taken))
    return f"Your column {theirs[0]!r} is kept. The new columns are called {ours}."


def with_columns(frame: Any, **new: NDArray[Any]) -> Any:
    """Return a copy of a pandas or polars data frame with more columns; the user's columns stay, see ``free_names``."""
    taken = list(frame.columns)
    if message := kept_message(new, taken):
        warnings.warn(message, KeptColumnWarning, stacklevel=user_level())
    columns = dict(zip(free_names(new, taken), new.values(), strict=True))
    if hasattr(frame, "with_columns"):  # polars
        return frame.with_columns(**{name: frame.__class__({name: values})[name] for name, values in columns.items()})
    return frame.assign(**columns)
