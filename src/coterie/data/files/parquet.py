"""Parquet, by pyarrow (extra ``parquet``)."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Iterator
from typing import Any

from coterie.data.files.table import Columns, Table
from coterie.data.limits import BYTES, CELLS, COLUMNS, ROWS
from coterie.errors import ChangedTypeWarning, InputError, MissingExtraError, user_level

_ROWS_AT_ONCE = 64  # of nested columns


def read_parquet(data: bytes, name: str) -> Columns:
    """Return the columns of a Parquet file, after a look at its size: run-length codes make any size small."""
    arrow, parquet = _pyarrow()
    try:
        # Strings stay codes of a dictionary until their whole length is known.
        schema = parquet.ParquetFile(io.BytesIO(data)).schema_arrow
        strings = [field.name for field in schema if _is_string(arrow, field.type)]
        file = parquet.ParquetFile(io.BytesIO(data), read_dictionary=strings)
        _check_size(file.metadata, name)
        return _read_columns(arrow, file, name)
    except (arrow.ArrowException, OSError, ValueError, TypeError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{name} is not a complete Parquet file ({reason}).") from None


def _check_size(metadata: Any, name: str) -> None:
    ROWS.check(metadata.num_rows, name)
    COLUMNS.check(metadata.num_columns, name)
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    chunks = [group.column(j) for group in groups for j in range(group.num_columns)]
    CELLS.check(sum(chunk.num_values for chunk in chunks), name)
    BYTES.check(sum(chunk.total_uncompressed_size for chunk in chunks), name)


def _read_columns(arrow: Any, file: Any, name: str) -> Columns:
    names = file.schema_arrow.names
    COLUMNS.check(len(names), name)
    if len(set(names)) < len(names):
        raise InputError(f"{name} has two columns of one name. Rename one of them.")
    columns: Columns = {column: [] for column in names}
    n_bytes = 0
    for part in _parts(arrow, file):
        for column, values in zip(part.schema.names, part.columns, strict=True):
            for chunk in getattr(values, "chunks", [values]):
                n_bytes += _n_bytes(arrow, chunk)
                BYTES.check(n_bytes, name)
                columns[column] += _as_list(arrow, chunk, f"{name}: the column {column!r}")
    return columns


def _parts(arrow: Any, file: Any) -> Iterator[Any]:
    """Yield the row groups, and where columns are nested, some of their rows at a time: these have no dictionary."""
    nested = [field.name for field in file.schema_arrow if arrow.types.is_nested(field.type)]
    flat = [name for name in file.schema_arrow.names if name not in set(nested)]
    if flat:
        yield from (file.read_row_group(group, columns=flat) for group in range(file.num_row_groups))
    if nested:
        yield from file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=nested)


def _n_bytes(arrow: Any, values: Any) -> int:
    """Return the size of the values without a dictionary."""
    if not arrow.types.is_dictionary(values.type) or not _is_string(arrow, values.type.value_type):
        return int(values.nbytes)
    lengths = arrow.compute.binary_length(values.dictionary)
    return int(arrow.compute.sum(lengths.take(values.indices).cast("int64")).as_py() or 0)


def _as_list(arrow: Any, values: Any, what: str) -> list[Any]:
    """Return the values of a column in Python's types; dates that Python cannot hold as texts."""
    if arrow.types.is_dictionary(values.type):
        words = _as_list(arrow, values.dictionary, what)
        return [None if code is None else words[code] for code in values.indices.to_pylist()]
    try:
        return list(values.to_pylist())
    except (ValueError, OverflowError):
        if not arrow.types.is_temporal(values.type):
            raise
        warnings.warn(
            f"{what} has dates that Python cannot hold. It is read as text.",
            ChangedTypeWarning,
            stacklevel=user_level(),
        )
        return list(values.cast(arrow.string()).to_pylist())


def dump_parquet(table: Table) -> bytes:
    """Return the table as a Parquet file."""
    arrow, parquet = _pyarrow()
    stream = io.BytesIO()
    columns = {name: _as_array(arrow, values, name) for name, values in table.columns.items()}
    parquet.write_table(arrow.table(columns), stream)
    return stream.getvalue()


def _as_array(arrow: Any, values: list[Any], name: str) -> Any:
    """Return the values as an array of one type; as texts if there is no type for all of them."""
    try:
        return arrow.array(values)
    except (arrow.ArrowException, OverflowError, ValueError, TypeError):
        warnings.warn(
            f"The column {name!r} has values of several types, or numbers beyond 64 bits, and Parquet has no type for "
            "them. It is written as text.",
            ChangedTypeWarning,
            stacklevel=user_level(),
        )
        return arrow.array([_as_text(value) for value in values], arrow.string())


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _is_string(arrow: Any, kind: Any) -> bool:
    types = arrow.types
    return any(test(kind) for test in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary))


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("Reading and writing Parquet", "parquet") from None
    return pyarrow, pyarrow.parquet
