"""Find the column that holds the texts, or ask for it by name."""

from __future__ import annotations

from typing import Any

from coterie.data.files import Table
from coterie.errors import InputError

_USUAL_NAMES = (
    "text", "texts", "message", "sentence", "query", "question", "title", "tweet", "ticket",
    "comment", "review", "answer", "response", "description", "subject", "body", "content", "summary",
)  # fmt: skip


def text_column(table: Table, name: str | None = None) -> str:
    """Return the name of the text column: the one asked for, or the only obvious one."""
    names = list(table.columns)
    if not names:
        raise InputError("The file is empty: there is no header and no text.")
    if name is not None:
        if name not in table.columns:
            raise InputError(f"There is no column {name!r}. The columns are: {_listed(names)}.")
        return name
    if len(names) == 1:
        return names[0]
    usual = [column for column in names if column.strip().lower() in _USUAL_NAMES]
    wordy = [column for column in names if _mean_words(table.columns[column]) >= 2]
    for candidates in (usual, wordy):
        if len(candidates) == 1:
            return candidates[0]
    raise InputError(f"Which column holds the texts? Name it with --column: {_listed(names)}.")


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names))


def _mean_words(values: list[Any], sample: int = 200) -> float:
    texts = [value for value in values[:sample] if isinstance(value, str)]
    return sum(len(text.split()) for text in texts) / max(len(values[:sample]), 1)
