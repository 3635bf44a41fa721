"""`coterie cluster`: from a file of texts to groups, a table and a model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli import options
from coterie.cli.reading import Input, read_input
from coterie.cli.tables import print_clusters, print_json, print_topics, progress, say

if TYPE_CHECKING:
    from coterie.clusterer import Clusterer


def cluster(
    file: options.File,
    n_clusters: Annotated[int, typer.Option("--clusters", "-k", help="How many groups.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A new folder for the assignments, the table and the model.")
    ] = None,
    method: Annotated[str, typer.Option("--method", "-m", help="`coterie methods` lists them.")] = "neighbours",
    encoder: Annotated[str, typer.Option("--encoder", "-e", help="`coterie encoders` lists them.")] = "bundled",
    column: options.Column = None,
    file_format: options.Format = None,
    encoding: options.Encoding = "utf-8",
    delimiter: options.Delimiter = None,
    vectors: options.Vectors = None,
    on_empty: Annotated[
        options.OnEmpty, typer.Option("--on-empty", help="Blank texts: keep them without a cluster, or refuse.")
    ] = options.OnEmpty.keep,
    seed: Annotated[int, typer.Option("--seed", help="Decides every random choice.")] = 0,
    settings: options.Settings = None,
    augment: Annotated[
        str | None, typer.Option("--augment", "-a", help="What makes views of a text; `coterie augmenters` lists them.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option("--checkpoint", help="Keeps a running training [default: OUT.checkpoint].")
    ] = None,
    log_dir: Annotated[Path | None, typer.Option("--log-dir", help="Folder for a log of every epoch.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the folder if it is there.")] = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Group the texts of FILE.

    Without --out only the table is shown. With it, a folder is written:
    assignments in the format of FILE with the columns cluster and confidence,
    clusters.csv with the table, and the model for `coterie assign`. A method
    that trains keeps OUT.checkpoint while it runs: stopped or killed, the same
    command goes on from there.
    """
    from coterie.cli.assign import check_column
    from coterie.cli.training import given_views, training_settings
    from coterie.clusterer import METHODS
    from coterie.errors import InputError

    cls = METHODS[method]
    check_target(out, overwrite)
    given = read_input(file, column, file_format, encoding, delimiter, vectors)
    check_column(given.column)
    if encoder == "precomputed" and vectors is None:
        raise InputError("The encoder 'precomputed' needs your vectors: name them with --vectors FILE.npy")
    model = cls(
        n_clusters=n_clusters,
        encoder=encoder if vectors is None else "precomputed",
        on_empty=on_empty.value,
        random_state=seed,
        **training_settings(cls, augment=augment, checkpoint=checkpoint, log_dir=log_dir, out=out),
        **options.parse_settings(settings, cls, owner=f"the method {method!r}"),
    )
    say(f"{given.table.n_rows:,} texts from column {given.column!r}", quiet=quiet)
    start = time.perf_counter()
    with progress(quiet):
        model.fit(given.items, **given_views(model, given))
    rows = _describe(model, given)
    if out is not None:
        _write(out, model, given, rows)
    if as_json:
        print_json(rows)
    else:
        print_clusters(rows)
        if "topics" in rows[0]:
            print_topics((row["cluster"], row["topics"]) for row in rows)
    if hasattr(model, "guard_"):
        say(str(model.guard_), quiet=quiet)
    say(f"{n_clusters} clusters in {time.perf_counter() - start:.0f} s.", quiet=quiet)
    where = f"Written to {out}. New texts: coterie assign {out}/model FILE" if out else "Nothing saved; --out saves."
    say(where, quiet=quiet)


def check_target(out: Path | None, overwrite: bool) -> None:
    """Refuse a place for results that is taken or cannot be made, before the work and not after it."""
    from coterie.errors import InputError

    if out is None:
        return
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; --out names a folder.")
    if out.is_dir() and any(out.iterdir()) and not overwrite:
        raise InputError(f"The folder {out} is not empty. Name a new one, or add --overwrite.")
    if not out.parent.is_dir():
        raise InputError(f"Cannot write {out}: the folder {out.parent} does not exist.")


def _describe(model: Clusterer, given: Input) -> list[dict[str, Any]]:
    from coterie.describe.clusters import describe
    from coterie.describe.topics import topics_of

    texts = ["" if text is None else str(text) for text in given.texts]
    rows = describe(texts, model.labels_, model.confidence_, model.n_clusters, topics=topics_of(model))
    return [row.as_dict() for row in rows]


def _write(out: Path, model: Clusterer, given: Input, rows: list[dict[str, Any]]) -> None:
    from coterie.artifact import save
    from coterie.cli.assign import with_assignments
    from coterie.data.atomic import atomic_folder
    from coterie.data.files import Table, write_table

    table = with_assignments(given.table, model.labels_, model.confidence_)
    summary = {name: [row[name] for row in rows] for name in rows[0]}
    summary["keywords"] = [", ".join(words) for words in summary["keywords"]]
    summary["examples"] = [" | ".join(texts) for texts in summary["examples"]]
    if "topics" in summary:
        summary["topics"] = [" | ".join(", ".join(topic["words"][:5]) for topic in row["topics"]) for row in rows]
    with atomic_folder(out) as folder:
        write_table(table, folder / f"assignments{table.suffix}")
        write_table(Table(summary, "csv"), folder / "clusters.csv")
        save(model, folder / "model", clusters=rows)
