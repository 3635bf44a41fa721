"""`coterie assign`: assign new texts or images to the clusters of a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coterie.cli import bulk, options
from coterie.cli.input import read_folder, read_input
from coterie.cli.output import check_printable, progress, say, write_or_print
from coterie.cli.results import for_spreadsheets, with_assignments
from coterie.cli.targets import reserve_file

if TYPE_CHECKING:
    from coterie.fitting import Assignment


def assign(
    model: options.Model,
    files: options.Files,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The file to write; with --engine, the folder.", show_default="stdout"),
    ] = None,
    column: options.Column = None,
    text_columns: options.TextColumns = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    header: options.Header = None,
    sheet: options.Sheet = None,
    vectors: options.Vectors = None,
    min_confidence: options.MinConfidence = None,
    allow_encoder: options.AllowEncoder = None,
    engine: bulk.EngineOption = None,
    workers: bulk.WorkersOption = None,
    on_error: bulk.OnErrorOption = bulk.OnError.stop,
    force: options.Force = False,
    raw: options.Raw = False,
    as_json: options.Json = False,
    show_progress: options.ShowProgress = options.Progress.auto,
    quiet: options.Quiet = False,
) -> None:
    """Add the cluster, its name and the confidence of each text to the table FILE, in the format of the file.

    For a model of images, FILE is a folder and the result is a CSV file.
    """
    from coterie.artifact.model import Artifact
    from coterie.bulk.assigner import Assigner
    from coterie.data.files import convert_for
    from coterie.wording import count

    if engine is not None:
        bulk.refuse(
            text_columns=text_columns, format=file_format, encoding=encoding, delimiter=delimiter, header=header,
            sheet=sheet, vectors=vectors, raw=raw, json=as_json,
        )  # fmt: skip
        assigner = Assigner(model, column=column, min_confidence=min_confidence, allow=allow_encoder or ())
        bulk.assign_in_parts(
            engine, files, out, assigner,
            on_error=on_error, workers=workers, force=force, quiet=quiet, show_progress=show_progress,
        )  # fmt: skip
        return
    reserve_file(out, force=force)
    artifact = Artifact.open(model)
    if artifact.config["encoder"]["input_type"] == "images":
        given = read_folder(
            files, column=column, text_columns=text_columns, format=file_format, delimiter=delimiter, vectors=vectors
        )
    else:
        given = read_input(
            files, column, file_format, encoding, delimiter, vectors,
            text_columns=text_columns, header=header, sheet=sheet,
        )  # fmt: skip
    check_printable(given.table, out, as_json=as_json)
    target = given.table if out is None else convert_for(given.table, out)
    with progress(quiet, show_progress):
        fitted = artifact.load(allow=allow_encoder or ())
        if min_confidence is not None:
            fitted.set_params(min_confidence=min_confidence)
        found = fitted.assignment(given.items)
    table = with_assignments(target, found, artifact.clusters().names)
    table = table if as_json else for_spreadsheets(table, raw=raw, quiet=quiet)
    write_or_print(table, out, as_json=as_json)
    say_set_aside(found, fitted.min_confidence, given.noun, quiet=quiet)
    if out is not None:
        say(f"{count(table.n_rows, given.noun)} assigned, written to {out}", quiet=quiet)


def say_set_aside(found: Assignment, min_confidence: float, noun: str, *, quiet: bool) -> None:
    """Print how many items have no cluster because of their confidence."""
    from coterie.wording import count

    if n := int(((found.labels < 0) & (found.confidence < min_confidence)).sum()):
        say(f"{count(n, noun)} set aside: confidence below {min_confidence:g}.", quiet=quiet)
