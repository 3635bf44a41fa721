"""Check and clean the texts once, first, so that nothing later has to."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from coterie.data.rows import OnEmpty, Rows, collapse, frame_column
from coterie.errors import InputError


class BlankTextWarning(UserWarning):
    """Some texts say nothing and get no cluster."""


class Texts(Rows[list[str]]):
    """Distinct, clean texts and the way back to the rows they came from."""

    noun = "texts"
    warning = BlankTextWarning

    @property
    def complaint(self) -> str:
        """What to say of the blank rows."""
        return f"{self.n_blank} of {self.n_rows} texts are blank and get no cluster."

    def contents(self) -> Iterator[bytes]:
        """Yield the bytes of each distinct text."""
        return (text.encode() for text in self.unique)


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
    return Texts(*collapse(text or None for text in rows))


def _rows(texts: Any, column: str | None) -> Iterable[Any]:
    if isinstance(texts, str | bytes):
        raise InputError("Expected many texts, got a single string. Put it in a list: [text].")
    if hasattr(texts, "columns"):  # a pandas or polars data frame
        return frame_column(texts, column, "text")
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
