"""The tables that commands write: the user's columns with ours beside them, and the table of clusters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from coterie.cli.output import say

if TYPE_CHECKING:
    from coterie.data.files import Table
    from coterie.describe.cluster_table import ClusterTable
    from coterie.fitting import Assignment


RESULT_COLUMNS = ("cluster", "cluster_name", "confidence", "second_cluster", "margin")
"""The columns that coterie adds to a table. Where the user has one of them, ours have a number: ``cluster_2``."""


def with_assignments(table: Table, found: Assignment, names: Mapping[int, str]) -> Table:
    """Return the table with the columns of the result; cells that have no value are empty."""
    return add_columns(
        table,
        {
            "cluster": _indices(found.labels),
            "cluster_name": [names.get(int(label)) for label in found.labels],
            "confidence": _rounded(found.confidence),
            "second_cluster": _indices(found.second),
            "margin": _rounded(found.margin),
        },
    )


def _indices(labels: Any) -> list[int | None]:
    return [None if label < 0 else int(label) for label in labels]


def _rounded(values: Any) -> list[float | None]:
    return [None if math.isnan(value) else round(float(value), 4) for value in values]


def add_columns(table: Table, new: dict[str, list[Any]]) -> Table:
    """Return the table with new columns; where the user has columns of these names, ours are called ``cluster_2``."""
    from coterie.data.rows import free_names, kept_message

    if message := kept_message(new, table.columns):
        say(message)
    return table.with_columns(**dict(zip(free_names(new, table.columns), new.values(), strict=True)))


def without_results(table: Table) -> Table:
    """Return the table without the columns that coterie added last; the user's columns of such names stay."""
    from dataclasses import replace

    ours, number = list(RESULT_COLUMNS), 2
    while all(f"{name}_{number}" in table.columns for name in RESULT_COLUMNS):
        ours, number = [f"{name}_{number}" for name in RESULT_COLUMNS], number + 1
    if not all(name in table.columns for name in ours):
        return table
    return replace(table, columns={name: cells for name, cells in table.columns.items() if name not in ours})


def cluster_columns(clusters: ClusterTable, like: Table) -> Table:
    """Return the table of clusters for a spreadsheet, written like the user's CSV file.

    Numbers are rounded, and every example has a column of its own.
    """
    from dataclasses import replace

    from coterie.data.files import Table

    columns: dict[str, list[Any]] = {}
    for name in clusters.columns:
        values = [getattr(row, name) for row in clusters]
        if name == "examples":
            for i in range(max(map(len, values), default=0)):
                columns[f"example_{i + 1}"] = [_cell(value[i]) if i < len(value) else "" for value in values]
        elif name == "topics":
            columns[name] = [_cell(" | ".join(", ".join(topic.words[:5]) for topic in topics)) for topics in values]
        else:
            columns[name] = [_cell(", ".join(value) if name == "keywords" else value) for value in values]
    if like.format == "csv":
        return replace(like, columns=columns, gzipped=False)
    return Table(columns, "csv")


def for_spreadsheets(table: Table, *, raw: bool, quiet: bool = False) -> Table:
    """Return the table without cells that a spreadsheet would run as formulas; unchanged if ``raw``."""
    from coterie.data.files.formulas import without_formulas
    from coterie.wording import count

    if raw:
        return table
    safe, n_formulas = without_formulas(table)
    if n_formulas:
        cells = count(n_formulas, "cells")
        say(f"{cells} that a spreadsheet would run as a formula got an apostrophe in front (--raw: none).", quiet=quiet)
    return safe


def _cell(value: Any) -> Any:
    """Return a rounded number, or a text without line ends: not every program reads a cell of several lines."""
    if isinstance(value, str):
        return " ".join(value.split())
    return round(value, 4) if isinstance(value, float) else value
