"""Check, clean and deduplicate texts before anything else sees them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

import numpy as np

from coterie.data.rows import OnEmpty, Rows, deduplicate
from coterie.data.text_column import text_column
from coterie.errors import BlankTextWarning, InputError
from coterie.printable import shorten
from coterie.wording import count

_LONG = 500  # characters of a text that may have too many accents on one letter


class Texts(Rows[list[str]]):
    """The distinct cleaned texts of an input, and the distinct text of each row."""

    noun = "texts"
    blank_warning = BlankTextWarning

    @property
    def blank_message(self) -> str:
        """Text of the warning about blank texts."""
        verbs = "is blank and gets" if self.n_blank == 1 else "are blank and get"
        return f"{self.n_blank} of {count(self.n_rows, 'texts')} {verbs} no cluster."

    def digests(self) -> Iterator[bytes]:
        """Yield the UTF-8 bytes of each distinct text."""
        return (text.encode() for text in self.unique)


def check_texts(texts: Any, column: str | None = None, *, on_empty: OnEmpty = "keep") -> Texts:
    """Return the cleaned and deduplicated ``texts``, or raise :class:`InputError` with the number of the wrong row.

    ``texts`` is a list, tuple, generator, numpy array, pandas or polars Series, or a data frame,
    whose text ``column`` is found if it is not named.
    """
    rows = [_clean(value, row) for row, value in enumerate(_as_rows(texts, column), start=1)]
    if not rows:
        raise InputError("There are no texts. Give at least as many texts as clusters.")
    blank = [row for row, text in enumerate(rows, start=1) if not text]
    if blank and on_empty == "error":
        raise InputError(
            f"Empty: {len(blank)} of {count(len(rows), 'texts')}, the first in row {blank[0]}. "
            "Remove them, or use on_empty='keep' (--on-empty keep) to leave them without a cluster."
        )
    if len(blank) == len(rows):
        raise InputError(f"All {len(rows)} texts are empty. Is this the right column?")
    return Texts(*deduplicate(text or None for text in rows))


def _as_rows(texts: Any, column: str | None) -> Iterable[Any]:
    if isinstance(texts, str | bytes):
        raise InputError("Expected many texts, got a single string. Put it in a list: [text].")
    if hasattr(texts, "columns"):  # a pandas or polars data frame
        return list(texts[text_column({name: texts[name] for name in texts.columns}, column)])
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
    """Return the text in Unicode form NFC with single spaces; empty if no character is visible."""
    if not isinstance(value, str):
        if value is None or type(value).__name__ in ("NAType", "NaTType") or _is_nan(value):
            return ""  # a missing text is blank, as in a CSV file
        problem = f"{shorten(repr(value), 200)}, a {type(value).__name__}, not a text"
        raise InputError(f"Row {row} is {problem}. Drop or fill such rows first, e.g. with an empty text.")
    text = nfc(value.encode("utf-8", "replace").decode("utf-8"))
    text = " ".join(text.split())
    text = value if type(value) is str and text == value else text  # most are clean: one copy in memory is enough
    return text if any(map(_is_visible, text)) else ""


def nfc(text: str) -> str:
    """Return ``text`` in Unicode form NFC, in linear time: Python sorts the accents of one letter by insertion."""
    if len(text) > _LONG and not text.isascii():
        runs = groupby(text, lambda char: unicodedata.combining(char) > 0)
        text = "".join("".join(_in_order(run) if is_accent else run) for is_accent, run in runs)
    return unicodedata.normalize("NFC", text)


def _in_order(accents: Iterable[str]) -> list[str]:
    """Return the accents of a letter in canonical order."""
    decomposed = "".join(unicodedata.normalize("NFD", accent) for accent in accents)
    return sorted(decomposed, key=unicodedata.combining)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _is_visible(char: str) -> bool:
    return unicodedata.category(char)[0] not in "CZ"  # not a control character, format character or space
