"""`coterie topics`: what the clusters of a model are about, and what single texts are about."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli import options
from coterie.cli.reading import Input, read_input
from coterie.cli.tables import print_json, print_topics, progress, say

if TYPE_CHECKING:
    from coterie.data.files import Table


def topics(
    model: options.Model,
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="Texts, to see how much of each topic each has; - for stdin.")
    ] = None,
    words: Annotated[int, typer.Option("--words", "-n", min=1, max=10, help="Words shown of a topic.")] = 5,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="With FILE: a file to write; else stdout.")] = None,
    column: options.Column = None,
    file_format: options.Format = None,
    encoding: options.Encoding = "utf-8",
    delimiter: options.Delimiter = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Show the topics of every cluster of MODEL: their share of its texts, and their most likely words.

    With FILE, give each of its texts its cluster and the share of each topic of
    that cluster (topic_1, topic_2, ... in the order of the table), in the format
    of the file. A method without topics is refused; deccrl has them.
    """
    from coterie.artifact import read_config
    from coterie.errors import InputError

    config = read_config(model)
    told = config.get("notes", {}).get("topics")
    if not told:
        raise InputError(f"{model} has no topics. The method 'deccrl' learns them from texts; this is {_made(config)}.")
    if file is None:
        _show(told, words, as_json=as_json)
        return
    given = read_input(file, column, file_format, encoding, delimiter)
    with progress(quiet):
        table = _proportions(model, given)
    _give(table, out, as_json=as_json, quiet=quiet)


def _made(config: dict[str, Any]) -> str:
    reconstruct = config["params"].get("reconstruct")
    return f"made by {config['method']!r}" + (f" with reconstruct={reconstruct}" if reconstruct else "")


def _show(told: list[list[dict[str, Any]]], n_words: int, *, as_json: bool) -> None:
    if not as_json:
        print_topics(enumerate(told), n_words=n_words)
        return
    cut = [[topic | {"words": topic["words"][:n_words]} for topic in topics] for topics in told]
    print_json([{"cluster": cluster, "topics": topics} for cluster, topics in enumerate(cut)])


def _proportions(folder: Path, given: Input) -> Table:
    """Return the table with the columns cluster and topic_1 to topic_T; empty for blank texts."""
    from coterie.artifact import load
    from coterie.clusterer import BlankTextWarning
    from coterie.topical import TopicalClusterer

    model = load(folder)
    assert isinstance(model, TopicalClusterer)  # its notes hold topics
    labels = model.predict(given.texts)
    with warnings.catch_warnings(action="ignore", category=BlankTextWarning):  # said once, by predict
        shares = model.proportions(given.texts)
    columns = {
        f"topic_{number}": [round(float(share), 4) if k >= 0 else None for share, k in zip(column, labels, strict=True)]
        for number, column in enumerate(shares.T, start=1)
    }
    return given.table.with_columns(cluster=[int(k) if k >= 0 else None for k in labels], **columns)


def _give(table: Table, out: Path | None, *, as_json: bool, quiet: bool) -> None:
    from dataclasses import replace

    from coterie.data.files import dump_table, named_for, write_table
    from coterie.errors import InputError

    if out is not None:
        write_table(named_for(table, out), out)
        say(f"{table.n_rows:,} texts, written to {out}", quiet=quiet)
        return
    if table.format == "parquet" and not as_json:
        raise InputError("Parquet cannot go to the terminal. Name a file with --out, or use --json.")
    sys.stdout.buffer.write(dump_table(replace(table, format="jsonl") if as_json else table))
