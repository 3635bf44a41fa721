"""Cells that a spreadsheet would run as a formula, written so that it shows them instead."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from coterie.data.files.table import Table

# A formula begins with one of these, also in their wide forms, or with a tab or line end that Excel skips.
_FORMULA = re.compile(r"[\s\ufeff]*[=+\-@＝＋－＠]")  # noqa: RUF001
_NUMBER = re.compile(r"[+-]?[\d.,\s]+(?:[eE][+-]?\d+)?\s?%?|[+-]+")  # -5, +49 170 12, 3 %; and dashes for "nothing"


def is_formula(cell: Any) -> bool:
    """Whether a spreadsheet may run this cell of a CSV file; numbers are not run."""
    return isinstance(cell, str) and bool(_FORMULA.match(cell)) and not _NUMBER.fullmatch(cell)


def without_formulas(table: Table) -> tuple[Table, int]:
    """Return the table with an apostrophe before every formula, and their number.

    Only CSV and TSV are changed: the cells of other formats have types.
    """
    if table.format not in ("csv", "tsv", "txt"):
        return table, 0
    n_formulas = sum(is_formula(cell) for column, cells in table.columns.items() for cell in (column, *cells))
    if not n_formulas:
        return table, 0
    columns = {_safe(column): [_safe(cell) for cell in cells] for column, cells in table.columns.items()}
    return replace(table, columns=columns), n_formulas


def _safe(cell: Any) -> Any:
    return f"'{cell}" if is_formula(cell) else cell
