"""Whether the first row of a table names its columns, or is data."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from coterie.data.files.table import Columns
from coterie.data.limits import COLUMNS
from coterie.errors import InputError

_SAMPLE = 50  # cells of a column that the first row is compared with
_NUMBER = re.compile(r"[-+#$€£]?\d[\d.,:/\-\sTZ%]*")  # also dates and times
_YEAR = re.compile(r"(?:19|20)\d\d")
_USUAL = frozenset(
    (
        "id ids key nr no number index name user author date day time timestamp created label class category topic "
        "group cluster confidence score rating type status source url language lang country file text texts message "
        "sentence query question title tweet ticket comment review answer response description subject body content "
        "summary note remark"
    ).split()
)


def name_columns(
    first: Sequence[Any], columns: list[list[Any]], header: bool | None, name: str
) -> tuple[Columns, tuple[str, ...]]:
    """Return the columns by name, and a note if the first row was taken for data.

    ``header`` says whether the first row names the columns; None: find out.
    """
    has_names = not _is_data(first, columns) if header is None else header
    if has_names:
        names = [f"column_{i}" if cell is None else str(cell) for i, cell in enumerate(first, start=1)]
        repeated, n = Counter(names).most_common(1)[0] if names else ("", 0)
        if n > 1:
            raise InputError(f"{name}: the column name {repeated!r} occurs twice. Rename one of the columns.")
        return dict(zip(names, columns, strict=True)), ()
    names = [f"column_{i}" for i in range(1, len(first) + 1)] if len(first) > 1 else ["text"]
    COLUMNS.check(len(names), name)
    for cell, column in zip(first, columns, strict=True):
        column.insert(0, cell)
    called = f"columns are called {names[0]} to {names[-1]}" if len(names) > 1 else "column is called text"
    note = f"{name}: the first row looks like data, so the {called}. If it names the columns, add --header."
    return dict(zip(names, columns, strict=True)), () if header is False else (note,)


def _is_data(first: Sequence[Any], columns: list[list[Any]]) -> bool:
    """Whether the first row is like the others: numbers above numbers, sentences above sentences."""
    if any(str(cell).strip().lower() in _USUAL for cell in first):
        return False
    signs = [_is_like(cell, column[:_SAMPLE]) for cell, column in zip(first, columns, strict=True)]
    return True in signs and False not in signs


def _is_like(cell: Any, sample: list[Any]) -> bool | None:
    """Whether a cell is like those below it; None if nothing can be said."""
    below = [str(value).strip() for value in sample if value not in (None, "")]
    text = "" if cell is None else str(cell).strip()
    if len(below) < 2 or not text:
        return None
    if all(map(_NUMBER.fullmatch, below)):
        if _YEAR.fullmatch(text) and not all(map(_YEAR.fullmatch, below)):
            return False  # a column for every year
        return bool(_NUMBER.fullmatch(text))
    n_words = sum(len(value.split()) for value in below) / len(below)
    if n_words < 2:  # not phrases
        return None
    if text.endswith("?") and sum(value.endswith("?") for value in below) < len(below) / 2:
        return False  # the question of a survey, above its answers
    is_phrase = len(text.split()) >= 3
    return is_phrase if is_phrase or n_words >= 3 else None  # a short name above sentences
