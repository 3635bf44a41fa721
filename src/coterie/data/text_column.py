"""Find the column of a table that holds the texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from coterie.errors import InputError
from coterie.printable import listed
from coterie.wording import did_you_mean

_USUAL_NAMES = (
    "text", "texts", "message", "sentence", "query", "question", "title", "tweet", "ticket",
    "comment", "review", "answer", "response", "description", "subject", "body", "content", "summary",
)  # fmt: skip
_SAMPLE_SIZE = 200  # rows whose words are counted


def text_column(columns: Mapping[Any, Sequence[Any]], name: str | None = None) -> Any:
    """Return the name of the text column: ``name`` if it is given, else the only plausible column.

    Plausible is a single column with a usual name, or else a single column with two or more words a cell.
    """
    names = list(columns)
    if not names:
        raise InputError("The file is empty: there is no header and no text.")
    if name is not None:
        if name not in columns:
            hint = did_you_mean(name, map(str, names))
            raise InputError(f"There is no column {name!r}.{hint} The columns are: {listed(names)}.")
        return name
    if len(names) == 1:
        return names[0]
    usual = [column for column in names if str(column).strip().lower() in _USUAL_NAMES]
    wordy = [column for column in names if _mean_words(columns[column]) >= 2]
    for candidates in (usual, wordy):
        if len(candidates) == 1:
            return candidates[0]
    raise InputError(f"Which column holds the texts? Name it (--column, in Python column=): {listed(names)}.")


def _mean_words(values: Sequence[Any]) -> float:
    sample = list(values[:_SAMPLE_SIZE])
    n_words = sum(len(value.split()) for value in sample if isinstance(value, str))
    return n_words / max(len(sample), 1)
