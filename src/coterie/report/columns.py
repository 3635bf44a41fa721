"""Columns of the user's table that a map can be colored by: numbers, and columns with few different values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.report.data import Column

_MAX_COLUMNS = 12
_MAX_LEVELS = 30  # a column with no more different numbers than this holds grades, labels or years
_MAX_VALUES = 1_000  # of a column with different values
_MAX_SHARE = 0.5  # a column with more different values than this share of its rows identifies rows
_MAX_LENGTH = 80  # characters of a value


def color_columns(table: Mapping[str, Sequence[Any]], rows: NDArray[np.int64]) -> list[Column]:
    """Return the columns of ``table`` that say something about groups of rows, for the given ``rows`` (n,)."""
    columns = []
    for name, values in table.items():
        column = _column(name, [values[row] for row in rows.tolist()])
        if column is not None:
            columns.append(column)
    return columns[:_MAX_COLUMNS]


def _column(name: str, cells: list[Any]) -> Column | None:
    texts = ["" if cell is None else str(cell).strip() for cell in cells]
    n_distinct = len({text for text in texts if text})
    if n_distinct < 2:
        return None
    numbers = _numbers(texts)
    if numbers is not None and n_distinct > _MAX_LEVELS:
        return Column(name, numbers=numbers)
    if n_distinct > min(_MAX_VALUES, max(_MAX_SHARE * len(texts), _MAX_LEVELS)):
        return None
    values = [value for value, _ in sorted(Counter(filter(None, texts)).items(), key=lambda item: (-item[1], item[0]))]
    code = {value: i for i, value in enumerate(values)}
    codes = np.array([code.get(text, -1) for text in texts], dtype=np.int64)
    return Column(name, codes=codes, values=[_short(value) for value in values])


def _numbers(texts: list[str]) -> NDArray[np.float64] | None:
    """Return the cells as numbers, NaN for empty ones; None if a cell is not a finite number."""
    try:
        numbers = np.array([float(text) if text else np.nan for text in texts])
    except ValueError:
        return None
    return None if np.isinf(numbers).any() else numbers


def _short(value: str) -> str:
    return value if len(value) <= _MAX_LENGTH else f"{value[: _MAX_LENGTH - 1]}…"
