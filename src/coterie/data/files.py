"""Read and write tables of texts: CSV, TSV, JSONL, Parquet, plain text; gzipped or not; or stdin.

Cells of a CSV stay the strings they were, so what is written back is what was read, plus new columns.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from coterie.data.atomic import atomic_file
from coterie.errors import InputError, MissingExtraError

Format = Literal["csv", "tsv", "jsonl", "parquet", "txt"]
_SUFFIXES: dict[str, Format] = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".parquet": "parquet", ".pq": "parquet", ".txt": "txt", ".text": "txt",
}  # fmt: skip


@dataclass(frozen=True)
class Table:
    """Named columns of equal length, and how they were stored."""

    columns: dict[str, list[Any]]
    format: Format
    delimiter: str = ","
    gzipped: bool = False

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values()), []))

    def with_columns(self, **new: list[Any]) -> Table:
        """Return the table with columns added at the end; a name already taken is replaced."""
        kept = {name: values for name, values in self.columns.items() if name not in new}
        return replace(self, columns=kept | new)

    @property
    def suffix(self) -> str:
        """The file ending under which :func:`write_table` keeps the format."""
        kind = "csv" if self.format == "txt" else self.format  # lines of text have no room for columns
        return f".{kind}" + (".gz" if self.gzipped else "")


def read_table(
    source: str | Path,
    *,
    file_format: Format | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
) -> Table:
    """Read ``source`` (a path, or ``-`` for stdin), or raise :class:`InputError` saying where it breaks."""
    name = "stdin" if str(source) == "-" else str(source)
    kind, gzipped = _kind(name, file_format)
    data = _bytes(source)
    if data[:2] == b"\x1f\x8b":
        data, gzipped = _gunzip(data, name), True
    if kind == "parquet":
        return Table(_read_parquet(data, name), kind, gzipped=gzipped)
    text = _decode(data, encoding, name)
    if kind == "jsonl":
        return Table(_read_jsonl(text, name), kind, gzipped=gzipped)
    if kind == "txt":
        return Table({"text": _lines(text)}, kind, gzipped=gzipped)
    delimiter = _check_delimiter(delimiter) if delimiter else "\t" if kind == "tsv" else _guess_delimiter(text)
    return Table(_read_delimited(text, delimiter, name), kind, delimiter, gzipped)


def _kind(name: str, given: Format | None) -> tuple[Format, bool]:
    path = Path(name.lower())
    gzipped = path.suffix == ".gz"
    suffix = path.with_suffix("").suffix if gzipped else path.suffix
    if given is not None:
        return given, gzipped
    if name == "stdin":
        return "txt", False
    if suffix not in _SUFFIXES:
        raise InputError(
            f"{name}: cannot tell the format from the name. Say it with --format: {', '.join(get_args(Format))}."
        )
    return _SUFFIXES[suffix], gzipped


def _bytes(source: str | Path) -> bytes:
    if str(source) == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(source).read_bytes()
    except FileNotFoundError:
        raise InputError(f"There is no file {source}.") from None
    except OSError as error:
        raise InputError(f"Cannot read {source}: {error.strerror}.") from None


def _gunzip(data: bytes, name: str) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name} is not a whole gzip file ({error}). Fetch or pack it again.") from None


def _decode(data: bytes, encoding: str, name: str) -> str:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        guess = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "latin-1 or cp1252"
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            f"{name} is not {encoding}: byte {error.start} (line {line}) is 0x{data[error.start]:02x}. "
            f"Name its encoding, e.g. --encoding {guess}."
        ) from None
    except LookupError:
        raise InputError(f"There is no encoding called {encoding!r}. Try utf-8, latin-1, cp1252.") from None
    if "\0" in text:
        raise InputError(
            f"{name} holds a zero byte at character {text.index(chr(0))}: it is binary, or in another "
            "encoding, e.g. --encoding utf-16."
        )
    return text.removeprefix("\ufeff") if codecs.lookup(encoding).name == "utf-8" else text


def _lines(text: str) -> list[str]:
    """Split at line feeds only: str.splitlines would also cut at characters that occur inside texts."""
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def _guess_delimiter(text: str) -> str:
    """Return the separator of the header: a comma unless another one is there and the comma is not."""
    header = re.sub(r'"[^"]*"', "", text.split("\n", 1)[0])
    return next((mark for mark in ",;\t|" if mark in header), ",")


def _check_delimiter(delimiter: str) -> str:
    delimiter = "\t" if delimiter == "\\t" else delimiter
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise InputError(f"--delimiter must be one character, such as ; or |, got {delimiter!r}.")
    return delimiter


def _read_delimited(text: str, delimiter: str, name: str) -> dict[str, list[Any]]:
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])
        rows = []
        for row in reader:
            if row and len(row) != len(header):
                raise InputError(
                    f"{name}, line {reader.line_num}: {len(row)} fields, but the header has {len(header)} "
                    f"({', '.join(header)}). Quote fields that hold a {delimiter!r}, or name another --delimiter."
                )
            if row or len(header) == 1:  # in a file of one column an empty line is an empty text
                rows.append(row or [""])
    except csv.Error as error:
        raise InputError(f"{name}, line {reader.line_num}: {error}. Is a quote left open?") from None
    if twice := sorted({column for column in header if header.count(column) > 1}):
        raise InputError(f"{name}: the column {twice[0]!r} is there twice. Rename one of them.")
    return {column: [row[i] for row in rows] for i, column in enumerate(header)}


def _read_jsonl(text: str, name: str) -> dict[str, list[Any]]:
    records: list[dict[str, Any]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            if r"\ud" in line.lower():  # half a surrogate pair is valid JSON, but no text: it becomes "?"
                value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{name}, line {number}: not valid JSON ({error}).") from None
        value = {"text": value} if isinstance(value, str) else value
        if not isinstance(value, dict):
            raise InputError(f"{name}, line {number}: expected an object or a string, got {line[:40]!r}.")
        records.append(value)
    names = dict.fromkeys(key for record in records for key in record)
    return {column: [record.get(column) for record in records] for column in names}


def _read_parquet(data: bytes, name: str) -> dict[str, list[Any]]:
    arrow, parquet = _pyarrow()
    try:
        columns: dict[str, list[Any]] = parquet.read_table(io.BytesIO(data)).to_pydict()
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{name} is not a whole Parquet file ({str(error).splitlines()[0]}).") from None
    return columns


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("Reading and writing Parquet", "parquet") from None
    return pyarrow, pyarrow.parquet


def named_for(table: Table, target: Path) -> Table:
    """Return the table in the format that the name of ``target`` asks for; its own when the name says nothing."""
    gzipped = target.suffix.lower() == ".gz"
    wanted = _SUFFIXES.get((target.with_suffix("") if gzipped else target).suffix.lower())
    if wanted == "txt":
        raise InputError(f"{target}: plain text has no room for columns. Name a .csv, .tsv, .jsonl or .parquet file.")
    if wanted is None:
        return table
    delimiter = {"csv": table.delimiter if table.format == "csv" else ",", "tsv": "\t"}.get(wanted, ",")
    return replace(table, format=wanted, gzipped=gzipped, delimiter=delimiter)


def write_table(table: Table, target: Path) -> None:
    """Write ``table`` in its own format, whole or not at all."""
    data = dump_table(table)
    with atomic_file(target) as temporary:
        temporary.write_bytes(gzip.compress(data, mtime=0) if table.gzipped else data)


def dump_table(table: Table) -> bytes:
    """Return the bytes of ``table`` in its own format, not compressed."""
    dump: Callable[[Table], bytes] = {"jsonl": _dump_jsonl, "parquet": _dump_parquet}.get(table.format, _dump_delimited)
    return dump(table)


def _dump_delimited(table: Table) -> bytes:
    stream = io.StringIO(newline="")
    cells = [*table.columns, *(cell for values in table.columns.values() for cell in values)]
    # Python before 3.13 does not quote a bare carriage return; a header without a comma may be misread.
    risky = any("\r" in cell for cell in cells if isinstance(cell, str)) or any(
        mark in name for name in table.columns for mark in ";\t|"
    )
    writer = csv.writer(
        stream,
        delimiter=table.delimiter,
        lineterminator="\n",
        quoting=csv.QUOTE_ALL if risky else csv.QUOTE_MINIMAL,
    )
    writer.writerow(table.columns)
    writer.writerows(zip(*table.columns.values(), strict=True))
    return stream.getvalue().encode()


def _dump_jsonl(table: Table) -> bytes:
    rows = zip(*table.columns.values(), strict=True)
    lines = (json.dumps(dict(zip(table.columns, row, strict=True)), ensure_ascii=False, default=str) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def _dump_parquet(table: Table) -> bytes:
    arrow, parquet = _pyarrow()
    stream = io.BytesIO()
    parquet.write_table(arrow.table(table.columns), stream)
    return stream.getvalue()
