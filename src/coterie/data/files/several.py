"""Several files as one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from coterie.data.files.excel import check_excel
from coterie.data.files.table import Columns, Table
from coterie.data.limits import check_table


def join_tables(tables: Mapping[str, Table]) -> Table:
    """Return the rows of all tables, with the column ``file`` in front; written like the first of them.

    A table without one of the columns has empty cells there.
    """
    if len(tables) == 1:
        return next(iter(tables.values()))
    names = dict.fromkeys(column for table in tables.values() for column in table.columns)
    file = next(name for name in ("file", "source_file", "coterie_file") if name not in names)
    check_table(sum(table.n_rows for table in tables.values()), len(names) + 1, "These files together")
    columns: Columns = {file: [name for name, table in tables.items() for _ in range(table.n_rows)]}
    for column in names:
        columns[column] = [cell for table in tables.values() for cell in table.columns.get(column, _empty(table))]
    notes = tuple(note for table in tables.values() for note in table.notes)
    joined = replace(next(iter(tables.values())), columns=columns, notes=(*notes, *_missing(tables, list(names))))
    if joined.format == "xlsx":
        check_excel(joined, "These files together")
    return joined


def _empty(table: Table) -> list[Any]:
    return [None] * table.n_rows


def _missing(tables: Mapping[str, Table], names: list[str]) -> tuple[str, ...]:
    """Return a note about the first column that a file does not have."""
    return tuple(
        f"{file} has no column {missing[0]!r}, so its rows are empty there."
        for file, table in tables.items()
        if (missing := [name for name in names if name not in table.columns])
    )
