"""Tables on stdout, messages and progress on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer


@contextmanager
def progress(quiet: bool) -> Iterator[None]:
    """Show bars with the time left, unless asked not to or nobody is watching."""
    from coterie.progress import bars

    if quiet:
        yield
    else:
        with bars():
            yield


def say(message: str, *, quiet: bool = False) -> None:
    """Tell the user something that is not data."""
    if not quiet:
        typer.echo(message, err=True)


def print_json(value: Any) -> None:
    """Print data for another program."""
    typer.echo(json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False))


def _finite(value: Any) -> Any:
    """Return ``value`` with null for what JSON has no number for."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = (), cut: Sequence[str] = ()
) -> None:
    """Print a table that fits the terminal (120 characters where there is none), the columns ``cut`` cut to fit."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, expand=bool(cut))
    for name in columns:
        number, one_line = name in right, name in cut
        table.add_column(
            name,
            justify="right" if number else "left",
            no_wrap=number or one_line,
            overflow="ellipsis" if one_line else "fold",
            ratio=1 if one_line else None,
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))  # Text: a text may look like rich's markup
    width = None if sys.stdout.isatty() else 120
    Console(width=width, highlight=False, soft_wrap=False).print(table)


def print_clusters(rows: Iterable[dict[str, Any]], noun: str = "texts") -> None:
    """Print the cluster table; only of texts are there keywords."""
    with_words, typical = noun == "texts", f"typical {noun}"
    print_table(
        ["cluster", "size", "share", "sure", *(["keywords"] if with_words else []), typical],
        [
            [
                str(row["cluster"]),
                str(row["size"]),
                f"{row['share']:.1%}",
                f"{row['confidence']:.2f}",
                *([", ".join(row["keywords"])] if with_words else []),
                "\n".join(row["examples"]),
            ]
            for row in rows
        ],
        right=["cluster", "size", "share", "sure"],
        cut=[typical],
    )


def print_topics(clusters: Iterable[tuple[int, Sequence[dict[str, Any]]]], *, n_words: int = 5) -> None:
    """Print the topics of every cluster: its share of the cluster's texts, and its most likely words."""
    print_table(
        ["cluster", "topic", "weight", "words"],
        [
            [str(cluster), str(number), f"{topic['weight']:.2f}", ", ".join(topic["words"][:n_words])]
            for cluster, topics in clusters
            for number, topic in enumerate(topics, start=1)
        ],
        right=["cluster", "topic", "weight"],
    )
