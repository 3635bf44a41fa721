"""CSV and TSV. Cells stay strings, so a table is written back exactly as it was read, plus new columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from coterie.data.files.table import Table
from coterie.data.limits import COLUMNS, check_table
from coterie.errors import InputError
from coterie.printable import listed

_CELLS_AT_ONCE = 100_000
_SAMPLE = 2**16  # characters from which the delimiter is guessed


def read_delimited(stream: io.TextIOWrapper, delimiter: str, name: str) -> tuple[list[str], list[list[str]]]:
    """Return the first row of a CSV file, and its columns below that row."""
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(_lines(stream, delimiter, name), delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])
        COLUMNS.check(len(header), name)
        columns: list[list[str]] = [[] for _ in header]
        for rows in _rows_at_once(reader, header, delimiter, name):
            for column, cells in zip(columns, zip(*rows, strict=True), strict=True):
                column.extend(cells)
            check_table(len(columns[0]), len(columns), name)
    except csv.Error as error:
        raise InputError(f"{name}, line {reader.line_num}: {error}. Is a quote left open?") from None
    return header, columns


def _lines(stream: io.TextIOWrapper, delimiter: str, name: str) -> Iterator[str]:
    """Yield the lines of a file; a line of a million delimiters is refused before its fields take memory."""
    limit = COLUMNS.value
    for line in stream:
        if line.count(delimiter) >= limit:
            COLUMNS.check(_without_quoted(line).count(delimiter) + 1, name)
        yield line


def _rows_at_once(
    reader: Iterator[list[str]], header: list[str], delimiter: str, name: str
) -> Iterator[list[list[str]]]:
    """Yield some rows at a time, each as long as the header."""
    width = len(header)
    size = max(_CELLS_AT_ONCE // max(width, 1), 1)
    rows = []
    for row in reader:
        if row and len(row) != width:
            raise InputError(
                f"{name}, line {reader.line_num}: {len(row)} fields, but the header has {width} "  # type: ignore[attr-defined]
                f"({listed(header)}). Quote fields that contain {delimiter!r}, or name another --delimiter."
            )
        if row or width == 1:  # in a file with one column an empty line is an empty text
            rows.append(row or [""])
        if len(rows) == size:
            yield rows
            rows = []
    if rows:
        yield rows


def skip_excel_hint(stream: io.TextIOWrapper) -> str | None:
    """Skip a first line like ``sep=;``, which tells Excel the delimiter, and return the delimiter that it names."""
    hint = re.fullmatch(r"sep=([^\"\r\n])[\r\n]*", stream.readline(20), flags=re.I)
    if hint is None:
        stream.seek(0)
        return None
    return hint[1]


def guess_delimiter(stream: io.TextIOWrapper) -> str:
    """Return the delimiter of the header: the one that gives the first rows equally many fields, or a comma."""
    start = stream.tell()
    sample = stream.read(_SAMPLE)
    stream.seek(start)
    header = _without_quoted(re.split(r"[\r\n]", sample, maxsplit=1)[0])
    marks = [mark for mark in ",;\t|" if mark in header]
    regular = [mark for mark in marks if _is_regular(sample, mark)]
    return next(iter(regular or marks), ",")


def _is_regular(sample: str, delimiter: str) -> bool:
    """Whether the rows of the sample, without its last, which may be cut, have equally many fields."""
    try:
        rows = [row for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter) if row]
    except csv.Error:
        return False
    return len({len(row) for row in (rows[:-1] if len(sample) == _SAMPLE else rows)}) == 1


def check_delimiter(delimiter: str) -> str:
    """Return the delimiter that an option names."""
    delimiter = "\t" if delimiter == "\\t" else delimiter
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise InputError(f"--delimiter must be one character, such as ; or |, got {delimiter!r}.")
    return delimiter


def _without_quoted(line: str) -> str:
    return re.sub(r'"[^"]*"', "", line)


def dump_delimited(table: Table) -> str:
    """Return the table as CSV."""
    stream = io.StringIO(newline="")
    cells = [*table.columns, *(cell for values in table.columns.values() for cell in values)]
    # Quote everything where the file could be misread: Python before 3.13 does not quote a carriage return,
    # and the delimiter is guessed from the header.
    quote_all = any("\r" in cell for cell in cells if isinstance(cell, str)) or any(
        mark in name for name in table.columns for mark in ";\t|"
    )
    writer = csv.writer(
        stream,
        delimiter=table.delimiter,
        lineterminator="\n",
        quoting=csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL,
    )
    writer.writerow(table.columns)
    writer.writerows(zip(*table.columns.values(), strict=True))
    return stream.getvalue()
