"""Write a table in any format."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

from coterie.data.atomic import atomic_file
from coterie.data.files.delimited import dump_delimited
from coterie.data.files.encodings import encode
from coterie.data.files.excel import check_excel, dump_excel
from coterie.data.files.jsonl import dump_jsonl
from coterie.data.files.parquet import dump_parquet
from coterie.data.files.table import Table, format_of
from coterie.errors import InputError


def convert_for(table: Table, target: Path) -> Table:
    """Return the table in the format of the file name ``target``; unchanged if the name has no known suffix."""
    file_format, gzipped = format_of(target.name)
    if file_format == "txt":
        raise InputError(f"{target}: plain text has no columns. Name a .csv, .tsv, .jsonl, .parquet or .xlsx file.")
    if file_format is None:
        return table
    if file_format == "xlsx":
        check_excel(table, str(target))
        return replace(table, format=file_format, gzipped=False)
    delimiter = ","
    if file_format == "tsv":
        delimiter = "\t"
    elif file_format == table.format == "csv":
        delimiter = table.delimiter
    return replace(table, format=file_format, gzipped=gzipped, delimiter=delimiter)


def write_table(table: Table, target: Path) -> None:
    """Write ``table`` in its own format; an interrupted write leaves ``target`` as it was."""
    data = dump_table(table)
    with atomic_file(target) as temporary:
        temporary.write_bytes(gzip.compress(data, mtime=0) if table.gzipped else data)


def dump_table(table: Table) -> bytes:
    """Return the bytes of ``table`` in its own format and encoding, without gzip; JSON is always UTF-8."""
    if table.format == "parquet":
        return dump_parquet(table)
    if table.format == "xlsx":
        return dump_excel(table)
    if table.format == "jsonl":
        return dump_jsonl(table).encode()
    return encode(dump_delimited(table), table.encoding, bom=table.bom)
