"""`coterie assign`: file new texts, or images, in the groups of a saved model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli import options
from coterie.cli.reading import read_folder, read_input
from coterie.cli.tables import progress, say

if TYPE_CHECKING:
    from coterie.data.files import Table


def assign(
    model: options.Model,
    file: options.FileOrFolder,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="A file to write; stdout without it.")] = None,
    column: options.Column = None,
    file_format: options.Format = None,
    encoding: options.Encoding = "utf-8",
    delimiter: options.Delimiter = None,
    vectors: options.Vectors = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Give each text of FILE its cluster and how sure that is, in the format of the file.

    MODEL is the folder `model` inside what `coterie cluster --out` wrote. Where
    it was made of images, FILE is a folder, and the answer a CSV.
    """
    from coterie.artifact import load, read_config
    from coterie.data.files import dump_table, named_for, write_table
    from coterie.errors import InputError

    if read_config(model)["encoder"].get("reads") == "images":
        given = read_folder(file, column=column, format=file_format, delimiter=delimiter, vectors=vectors)
    else:
        given = read_input(file, column, file_format, encoding, delimiter, vectors)
    check_column(given.column)
    if out is None and given.table.format == "parquet" and not as_json:
        raise InputError("Parquet cannot go to the terminal. Name a file with --out, or use --json.")
    target = None if out is None else named_for(given.table, out)
    with progress(quiet):
        labels, confidence = load(model).assign(given.items)
    table = with_assignments(target or given.table, labels, confidence)
    table = _as_jsonl(table) if as_json else table
    if out is None:
        sys.stdout.buffer.write(dump_table(table))
    else:
        write_table(table, out)
        say(f"{table.n_rows:,} {given.noun} assigned, written to {out}", quiet=quiet)


def check_column(column: str) -> None:
    """Refuse texts in a column that the result would overwrite."""
    from coterie.errors import InputError

    if column in ("cluster", "confidence"):
        raise InputError(f"The texts are in a column called {column!r}, which the result needs. Rename it first.")


def with_assignments(table: Table, labels: Any, confidence: Any) -> Table:
    """Return the table with the columns cluster and confidence; both empty for blank texts."""
    return table.with_columns(
        cluster=[int(k) if k >= 0 else None for k in labels],
        confidence=[round(float(c), 4) if c == c else None for c in confidence],  # noqa: PLR0124
    )


def _as_jsonl(table: Table) -> Table:
    from dataclasses import replace

    return replace(table, format="jsonl")
