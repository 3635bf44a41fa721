"""`coterie cluster`: from a file of texts, or a folder of images, to groups, a table and a model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli import options
from coterie.cli.reading import Input, read_folder, read_input
from coterie.cli.tables import print_clusters, print_json, print_topics, progress, say

if TYPE_CHECKING:
    from coterie.clusterer import Clusterer


def cluster(
    file: options.FileOrFolder,
    n_clusters: Annotated[int, typer.Option("--clusters", "-k", help="How many groups.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A new folder for the assignments, the table and the model.")
    ] = None,
    method: Annotated[str, typer.Option("--method", "-m", help="`coterie methods` lists them.")] = "neighbours",
    encoder: Annotated[
        str | None, typer.Option("--encoder", "-e", help="`coterie encoders` lists them [default: bundled, or image].")
    ] = None,
    items: Annotated[options.Kind, typer.Option("--items", help="What FILE holds.")] = options.Kind.texts,
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
    """Group the texts of FILE, or with --items images the images of a folder.

    Without --out only the table is shown. With it, a folder is written:
    assignments in the format of FILE with the columns cluster and confidence,
    clusters.csv with the table, and the model for `coterie assign`. A method
    that trains keeps OUT.checkpoint while it runs: stopped or killed, the same
    command goes on from there.
    """
    from coterie.cli.assign import check_column
    from coterie.cli.training import given_views, training_settings
    from coterie.clusterer import METHODS

    cls = METHODS[method]
    check_target(out, overwrite)
    if items is options.Kind.images:
        given = read_folder(file, column=column, format=file_format, delimiter=delimiter, vectors=vectors)
    else:
        given = read_input(file, column, file_format, encoding, delimiter, vectors)
    check_column(given.column)
    model = cls(
        n_clusters=n_clusters,
        encoder=_chosen(encoder, items, vectors),
        on_empty=on_empty.value,
        random_state=seed,
        **training_settings(cls, augment=augment, checkpoint=checkpoint, log_dir=log_dir, out=out),
        **options.parse_settings(settings, cls, owner=f"the method {method!r}"),
    )
    place = f"column {given.column!r}" if given.noun == "texts" else file
    say(f"{given.table.n_rows:,} {given.noun} from {place}", quiet=quiet)
    start = time.perf_counter()
    with progress(quiet):
        model.fit(given.items, **given_views(model, given))
    rows = _describe(model, given)
    if out is not None:
        _write(out, model, given, rows)
    _show(rows, given.noun, as_json=as_json)
    if hasattr(model, "guard_"):
        say(str(model.guard_), quiet=quiet)
    say(f"{n_clusters} clusters in {time.perf_counter() - start:.0f} s.", quiet=quiet)
    what = "FILE" if given.noun == "texts" else "FOLDER"
    where = f"Written to {out}. New {given.noun}: coterie assign {out}/model {what}"
    say(where if out else "Nothing saved; --out saves.", quiet=quiet)


def _chosen(encoder: str | None, items: options.Kind, vectors: Path | None) -> str:
    """Return the encoder that fits what is clustered."""
    from coterie.encoders.encoder import kind_of
    from coterie.errors import InputError

    if vectors is not None:
        return "precomputed"
    encoder = encoder or {"texts": "bundled", "images": "image"}[items.value]
    if encoder == "precomputed":
        raise InputError("The encoder 'precomputed' needs your vectors: name them with --vectors FILE.npy")
    if kind_of(encoder) != items.value:
        raise InputError(f"The encoder {encoder!r} reads {kind_of(encoder)}, not {items.value}: see --items.")
    return encoder


def _show(rows: list[dict[str, Any]], noun: str, *, as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    print_clusters(rows, noun)
    if "topics" in rows[0]:
        print_topics((row["cluster"], row["topics"]) for row in rows)


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
    words = given.noun == "texts"  # the name of a file says little
    rows = describe(
        texts, model.labels_, model.confidence_, model.n_clusters, topics=topics_of(model), with_words=words
    )
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
