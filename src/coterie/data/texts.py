"""Check and clean the texts once, first, so that nothing later has to."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from coterie.errors import InputError

OnEmpty = Literal["keep", "error"]


@dataclass(frozen=True)
class Texts:
    """Distinct, clean texts and the way back to the rows they came from."""

    unique: list[str]
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

    def spread(self, values: NDArray[Any], blank: Any) -> NDArray[Any]:
        """Give each row the value of its distinct text, and ``blank`` to blank rows."""
        full = np.full((self.n_rows, *values.shape[1:]), blank, dtype=np.result_type(values, type(blank)))
        told = self.inverse >= 0
        full[told] = values[self.inverse[told]]
        return full


def check_texts(texts: Any, column: str | None = None, *, on_empty: OnEmpty = "keep") -> Texts:
    """Return what can be clustered of ``texts``, or raise :class:`InputError` naming the row.

    ``texts`` is a list, tuple, generator, numpy array, pandas or polars Series, or a data frame
    together with the name of its text ``column``.
    """
    rows = [_clean(value, row) for row, value in enumerate(_rows(texts, column), start=1)]
    if not rows:
        raise InputError("There are no texts. Give at least as many texts as clusters.")
    blank = [row for row, text in enumerate(rows, start=1) if not text]
    if blank and on_empty == "error":
        raise InputError(
            f"{len(blank)} of {len(rows)} texts are empty, the first in row {blank[0]}. "
            "Remove them, or use on_empty='keep' (--on-empty keep) to leave them without a cluster."
        )
    if len(blank) == len(rows):
        raise InputError(f"All {len(rows)} texts are empty. Is this the right column?")
    position: dict[str, int] = {}
    inverse = np.array([position.setdefault(t, len(position)) if t else -1 for t in rows], dtype=np.int64)
    counts = np.bincount(inverse[inverse >= 0], minlength=len(position))
    return Texts(list(position), inverse, counts.astype(np.int64))


def _rows(texts: Any, column: str | None) -> Iterable[Any]:
    if isinstance(texts, str | bytes):
        raise InputError("Expected many texts, got a single string. Put it in a list: [text].")
    if hasattr(texts, "columns"):  # a pandas or polars data frame
        return _column(texts, column)
    if column is not None:
        raise InputError(f"column={column!r} needs a data frame, got {type(texts).__name__}.")
    if getattr(texts, "ndim", 1) != 1:
        raise InputError(
            f"Expected one text a row, got an array of shape {tuple(texts.shape)}. "
            "For ready vectors use encoder='precomputed'."
        )
    if not isinstance(texts, Iterable) or isinstance(texts, Mapping):
        raise InputError(f"Expected texts, got {type(texts).__name__}. Give a list of strings.")
    return texts


def _column(frame: Any, column: str | None) -> Sequence[Any]:
    names = list(frame.columns)
    if column is None and len(names) == 1:
        column = names[0]
    if column is None or column not in names:
        asked = "Name the text column" if column is None else f"There is no column {column!r}"
        raise InputError(f"{asked}: column=... is one of {', '.join(map(repr, names))}.")
    return list(frame[column])


def _clean(value: Any, row: int) -> str:
    """Return the text in one canonical form, so that texts that look equal are equal."""
    if not isinstance(value, str):
        missing = value is None or type(value).__name__ in ("NAType", "NaTType") or _is_nan(value)
        what = "missing (NaN or null)" if missing else f"{value!r}, a {type(value).__name__}, not a text"
        raise InputError(f"Row {row} is {what}. Drop or fill such rows first, e.g. with an empty text.")
    text = unicodedata.normalize("NFC", value.encode("utf-8", "replace").decode("utf-8"))
    text = " ".join(text.split())
    return text if any(map(_visible, text)) else ""


def _is_nan(value: Any) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _visible(char: str) -> bool:
    return unicodedata.category(char)[0] not in "CZ"  # neither control or format character nor space
