"""JSON lines: an object or a string a line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from coterie.data.files.table import Columns, Table
from coterie.data.limits import CELLS, check_table
from coterie.errors import InputError
from coterie.printable import shorten

_NESTED = 4  # an object or a list takes the memory of so many values


def read_jsonl(lines: Iterable[str], name: str) -> Columns:
    """Return a column for every key; a string is the value of ``text``."""
    records: list[dict[str, Any]] = []
    names: dict[str, None] = {}
    n_values = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        n_nested = line.count("[") + line.count("{")
        n_values += line.count(",") + _NESTED * max(n_nested - 1, 0) + 1  # at most so many, also inside lists
        CELLS.check(n_values, name)
        record = _parse(line, f"{name}, line {number}")
        records.append(record)
        names |= dict.fromkeys(record)
        check_table(len(records), len(names), name)
    return {column: [record.get(column) for record in records] for column in names}


def _parse(line: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
        if r"\ud" in line.lower():  # half a surrogate pair is valid JSON, but not valid text: it becomes "?"
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not valid JSON ({error}).") from None
    value = {"text": value} if isinstance(value, str) else value
    if not isinstance(value, dict):
        raise InputError(f"{where}: expected an object or a string, got {shorten(line.strip(), 40)!r}.")
    return value


def dump_jsonl(table: Table) -> str:
    """Return the table with an object for every row."""
    rows = zip(*table.columns.values(), strict=True)
    lines = (json.dumps(dict(zip(table.columns, row, strict=True)), ensure_ascii=False, default=str) for row in rows)
    return "".join(f"{line}\n" for line in lines)
