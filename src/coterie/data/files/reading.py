"""Read a table in any format, from a file or from stdin."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from coterie.data.files.delimited import check_delimiter, guess_delimiter, read_delimited, skip_excel_hint
from coterie.data.files.encodings import Encoding, find_encoding, open_text
from coterie.data.files.excel import read_excel
from coterie.data.files.header import name_columns
from coterie.data.files.jsonl import read_jsonl
from coterie.data.files.parquet import read_parquet
from coterie.data.files.plain import read_lines, read_text_folder
from coterie.data.files.source import read_bytes
from coterie.data.files.table import Format, Table, known_format_of
from coterie.errors import InputError


def read_table(
    source: str | Path,
    *,
    file_format: Format | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    sheet: str | None = None,
) -> Table:
    """Return the table in ``source``: a file, a folder of text files, or ``-`` for stdin.

    What is not given is found, and ``Table.notes`` says what was found: the encoding and the delimiter, whether the
    first row is a header, and the sheet of a workbook. Raises :class:`InputError` with file and line.
    """
    name = "stdin" if str(source) == "-" else str(source)
    if name != "stdin" and Path(source).is_dir():
        return read_text_folder(Path(source), encoding)
    kind, gzipped = known_format_of(name, file_format)
    if sheet is not None and kind != "xlsx":
        raise InputError(f"--sheet is for Excel files; {name} is read as {kind}.")
    data, unpacked = read_bytes(source, name)
    table = Table({}, kind, gzipped=gzipped or unpacked)
    if kind == "parquet":
        return replace(table, columns=read_parquet(data, name))
    if kind == "xlsx":
        first, below, notes = read_excel(data, sheet, name)
        columns, more = name_columns(first, below, header, name)
        return replace(table, columns=columns, notes=notes + more)
    return _read_text(table, data, find_encoding(data, encoding, name), delimiter, header, name)


def _read_text(
    table: Table, data: bytes, found: Encoding, delimiter: str | None, header: bool | None, name: str
) -> Table:
    """Return the table with its columns from a format that is text."""
    table = replace(table, encoding=found.name, bom=found.bom, notes=found.notes)
    if table.format in ("jsonl", "txt"):
        read = read_jsonl if table.format == "jsonl" else read_lines
        return replace(table, columns=read(open_text(data, found, newline="\n"), name))
    stream = open_text(data, found, newline="")
    notes = table.notes
    hint = skip_excel_hint(stream)
    if delimiter:
        delimiter = check_delimiter(delimiter)
    elif hint:
        delimiter = hint
        notes += (f"{name} has {delimiter!r} between its columns, as its first line says.",)
    elif table.format == "tsv":
        delimiter = "\t"
    elif (delimiter := guess_delimiter(stream)) != ",":
        notes += (f"{name} has {delimiter!r} between its columns.",)
    first, below = read_delimited(stream, delimiter, name)
    columns, more = name_columns(first, below, header, name)
    return replace(table, columns=columns, delimiter=delimiter, notes=notes + more)
