"""Excel workbooks (.xlsx), by openpyxl (extra ``excel``)."""

from __future__ import annotations

import datetime
import io
import json
import math
import re
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

from coterie.data.files.table import Table
from coterie.data.limits import BYTES, check_table
from coterie.errors import ChangedTypeWarning, InputError, MissingExtraError, user_level
from coterie.printable import listed
from coterie.wording import count, did_you_mean

MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384  # of a sheet
_MAX_CHARACTERS = 32_767  # of a cell
_MAX_INTEGER = 10**15  # Excel keeps 15 digits
_ILLEGAL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # not in XML


def read_excel(data: bytes, sheet: str | None, name: str) -> tuple[list[Any], list[list[Any]], tuple[str, ...]]:
    """Return the first row of a sheet, its columns below that row, and a note if there are other sheets."""
    openpyxl = _openpyxl()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as parts:
            BYTES.check(sum(part.file_size for part in parts.infolist()), name)
        with warnings.catch_warnings(action="ignore"):  # about styles and other things that are not read
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
            chosen, notes = _choose(book, sheet, name)
            chosen.reset_dimensions()  # a file may say that its sheet is much larger than it is
            first, columns = _columns(chosen.iter_rows(values_only=True), name)
            book.close()
    except InputError:
        raise
    except Exception as error:  # openpyxl raises whatever it stumbles over
        raise InputError(f"{name} is not a complete Excel file ({error}). Save it again as .xlsx.") from None
    return first, columns, notes


def _choose(book: Any, sheet: str | None, name: str) -> tuple[Any, tuple[str, ...]]:
    """Return the named sheet, or the first one that is shown and has cells."""
    sheets = {found.title: found for found in book.worksheets}
    if sheet is not None:
        if sheet not in sheets:
            hint = did_you_mean(sheet, sheets)
            raise InputError(f"{name} has no sheet {sheet!r}.{hint} The sheets are: {listed(sheets)}.")
        return sheets[sheet], ()
    shown = [found for found in sheets.values() if found.sheet_state == "visible"] or list(sheets.values())
    if not shown:
        raise InputError(f"{name} has no sheet with cells.")
    note = f"{name} has {len(sheets)} sheets; {shown[0].title!r} was read. Name another with --sheet."
    return shown[0], (note,) if len(sheets) > 1 else ()


def _columns(rows: Iterator[tuple[Any, ...]], name: str) -> tuple[list[Any], list[list[Any]]]:
    """Return the first row with a value, and the columns below it, without columns that are empty throughout."""
    kept: list[tuple[Any, ...]] = []
    n_filled = width = 0  # rows up to the last with a value, and the widest of them
    for number, row in enumerate(rows, start=1):
        if number > MAX_ROWS:
            raise InputError(f"{name} has more rows than a sheet can have, {MAX_ROWS:,}. Save it again as .xlsx.")
        if any(cell is not None for cell in row):
            kept.append(row)
            n_filled, width = len(kept), max(width, len(row))
        elif kept:
            kept.append(())
        check_table(len(kept), width, name)
    full = [[*row, *[None] * (width - len(row))][:width] for row in kept[:n_filled]]
    columns = [list(column) for column in zip(*full, strict=True)]
    columns = [column for column in columns if any(cell is not None for cell in column)]
    return [column[0] for column in columns], [column[1:] for column in columns]


def check_excel(table: Table, target: str) -> None:
    """Raise :class:`InputError` before the work if a sheet cannot hold the table."""
    if table.n_rows >= MAX_ROWS or len(table.columns) > MAX_COLUMNS - 10:  # the header, and the columns that are added
        raise InputError(
            f"{target}: a sheet of Excel has at most {MAX_ROWS:,} rows and {MAX_COLUMNS:,} columns. Name a .csv file."
        )


def dump_excel(table: Table) -> bytes:
    """Return the table as a workbook of one sheet. Texts are written as texts, never as formulas."""
    openpyxl = _openpyxl()
    check_excel(table, "This table")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("Sheet1")
    sheet.append([_cell(openpyxl, sheet, column) for column in table.columns])
    for row in zip(*table.columns.values(), strict=True):
        sheet.append([_cell(openpyxl, sheet, value) for value in row])
    too_long = [cell for cells in table.columns.values() for cell in cells if _is_too_long(cell)]
    if too_long:
        warnings.warn(
            f"Excel holds {_MAX_CHARACTERS:,} characters in a cell: {count(len(too_long), 'cells')} cut.",
            ChangedTypeWarning,
            stacklevel=user_level(),
        )
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def _is_too_long(value: Any) -> bool:
    return isinstance(value, str) and len(value) > _MAX_CHARACTERS


def _cell(openpyxl: Any, sheet: Any, value: Any) -> Any:
    value = _value(value)
    if not isinstance(value, str):
        return value
    cell = openpyxl.cell.WriteOnlyCell(sheet, _ILLEGAL.sub("\ufffd", value)[:_MAX_CHARACTERS])
    cell.data_type = "s"  # not a formula, and not an error value
    return cell


def _value(value: Any) -> Any:
    """Return a value that Excel has a type for; others as texts."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < _MAX_INTEGER else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        fits = getattr(value, "tzinfo", None) is None and getattr(value, "year", 1900) >= 1900
        return value if fits else str(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _openpyxl() -> Any:
    try:
        import openpyxl
        import openpyxl.cell
    except ImportError:
        raise MissingExtraError("Reading and writing Excel files", "excel") from None
    return openpyxl
