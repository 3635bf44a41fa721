"""Tables and JSON on stdout; messages and progress bars on stderr."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import typer

from coterie.printable import printable, printable_json, printable_lines

if TYPE_CHECKING:
    from pathlib import Path

    from rich.text import Text

    from coterie.cli.options import Progress
    from coterie.data.files import Table

_MIN_WIDTH = 40  # narrower tables cannot be read
_WIDTH = 120  # of tables, where nothing is a terminal


def is_worker() -> bool:
    """Whether this is a process of torchrun that only helps the first: that one prints and writes."""
    return os.environ.get("RANK", "0") != "0" and {"WORLD_SIZE", "MASTER_ADDR"} <= os.environ.keys()


@contextmanager
def progress(quiet: bool, mode: Progress | None = None) -> Iterator[None]:
    """Show progress with the time left on stderr, unless ``quiet``."""
    from coterie.progress_display import show_progress

    if quiet or is_worker():
        yield
    else:
        with show_progress(mode.value if mode else "auto"):
            yield


def say(message: str, *, quiet: bool = False) -> None:
    """Print a message on stderr, unless ``quiet``."""
    if not quiet and not is_worker():
        typer.echo(printable(message), err=True)


def show(text: str) -> None:
    """Print lines of text on stdout."""
    typer.echo(printable_lines(text))


def print_json(value: Any) -> None:
    """Print ``value`` as JSON."""
    typer.echo(printable_json(json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False)))


def _finite(value: Any) -> Any:
    """Return ``value`` with None in place of NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_or_print(table: Table, out: Path | None, *, as_json: bool) -> None:
    """Write a table to the file ``out``, or print it if there is none; JSON lines with ``as_json``."""
    from dataclasses import replace

    from coterie.data.files import dump_table, write_table

    if as_json:
        table = replace(table, format="jsonl")
    if out is not None:
        write_table(table, out)
    elif sys.stdout.isatty():
        show(
            dump_table(table)
            .decode("utf-8" if table.format == "jsonl" else table.encoding, "replace")
            .removesuffix("\n")
        )
    else:
        sys.stdout.buffer.write(dump_table(table))


def check_printable(table: Table, out: Path | None, *, as_json: bool) -> None:
    """Raise :class:`InputError` if a binary table would be printed."""
    from coterie.errors import InputError

    if out is None and table.format in ("parquet", "xlsx") and not as_json:
        kind = "Parquet" if table.format == "parquet" else "Excel"
        raise InputError(f"{kind} cannot be printed. Name a file with --out, or use --json.")


def screen_width() -> int:
    """Return COLUMNS, or the width of the terminal that shows stdout, stderr or stdin; 120 where there is none."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return max(int(columns), _MIN_WIDTH)
    for stream in (1, 2, 0):  # the output may go through a pipe to a terminal, as in `coterie info MODEL | less`
        with suppress(OSError):
            return max(os.get_terminal_size(stream).columns, _MIN_WIDTH)
    return _WIDTH


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = (), cut: Sequence[str] = ()
) -> None:
    """Print a table as wide as the screen.

    Columns in ``right`` are aligned right. Columns in ``cut`` are cut to the remaining width.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, expand=bool(cut))
    for name in columns:
        is_number = name in right
        is_cut = name in cut
        table.add_column(
            _cell(name),
            justify="right" if is_number else "left",
            no_wrap=is_number or is_cut,
            overflow="ellipsis" if is_cut else "fold",
            ratio=1 if is_cut else None,
        )
    for row in rows:
        table.add_row(*map(_cell, row))
    Console(width=screen_width(), highlight=False, soft_wrap=False).print(table)


def _cell(text: str) -> Text:
    """Return the lines of a cell; as Text, because it may look like rich's markup."""
    from rich.text import Text

    return Text("\n".join(printable(line, max_word=200, max_length=1_000) for line in text.split("\n")))


def print_topics(clusters: Iterable[tuple[int, Sequence[dict[str, Any]]]], *, n_words: int = 5) -> None:
    """Print the topics of each cluster: their share of its texts, and their most probable words."""
    print_table(
        ["cluster", "topic", "weight", "words"],
        [
            [str(cluster), str(number), f"{topic['weight']:.2f}", _joined(topic["words"][:n_words])]
            for cluster, topics in clusters
            for number, topic in enumerate(topics, start=1)
        ],
        right=["cluster", "topic", "weight"],
    )


def _joined(words: Iterable[str]) -> str:
    """Return keywords with commas between them; a word may be as long as a text."""
    return ", ".join(printable(word, max_length=40) for word in words)
