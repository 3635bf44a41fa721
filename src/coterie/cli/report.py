"""`coterie report`: the page about a clustering, made again from a saved model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli import options
from coterie.cli.input import Input, read_folder, read_input
from coterie.cli.output import progress, say
from coterie.cli.results import without_results

if TYPE_CHECKING:
    from coterie.artifact.model import Artifact
    from coterie.clusterer import Clusterer
    from coterie.data.sample import Sample
    from coterie.describe.cluster_table import ClusterTable
    from coterie.fitting import Assignment


def report(
    model: options.Model,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="The texts, or the folder of images.",
            show_default="the assignments beside the model",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The page to write.", show_default="report.html beside the assignments"),
    ] = None,
    no_texts: options.NoTexts = False,
    column: options.Column = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    vectors: options.Vectors = None,
    allow_encoder: options.AllowEncoder = None,
    quiet: options.Quiet = False,
) -> None:
    """Write a page about the clusters of MODEL: a map, cards, a table of the texts, the training.

    `coterie cluster` writes it already. This makes it again, or for
    other texts. The page is one file that needs no network.
    """
    from coterie.artifact.model import Artifact
    from coterie.report.recount import recount

    artifact = Artifact.open(model)
    target = out or (Path("report.html") if file is not None else _assignments(artifact.folder).parent / "report.html")
    check_page(target)
    given = read_items(
        artifact, file, column=column, file_format=file_format, encoding=encoding, delimiter=delimiter, vectors=vectors
    )
    if file is None:  # the folder has a better name than its file `assignments.csv`
        given = replace(given, title=artifact.folder.absolute().parent.name)
    with progress(quiet):
        loaded = artifact.load(allow=allow_encoder or ())
        assignment, sample = loaded.assigned_sample(given.items)
        table = recount(artifact.clusters(), assignment)
        page = make_page(loaded, given, table, (assignment, sample), with_texts=not no_texts)
    write_page(page, target)
    say(f"Written to {target}", quiet=quiet)


def make_page(
    model: Clusterer,
    given: Input,
    table: ClusterTable,
    assigned: tuple[Assignment, Sample] | None = None,
    *,
    with_texts: bool,
) -> str:
    """Return the page about the rows of a table: those that the model was fitted to, or ``assigned`` ones."""
    from coterie.report.build import Items, make_report
    from coterie.report.page import render

    texts = ["" if cell is None else str(cell) for cell in given.texts]
    columns = {name: cells for name, cells in given.table.columns.items() if name not in given.columns}
    items = Items(*(assigned or model.assigned_sample()), texts, columns)
    return render(make_report(model, items, table, title=given.title, with_texts=with_texts))


def read_items(artifact: Artifact, file: str | None, **how: Any) -> Input:
    """Return the items of a file or folder, or those that were assigned beside the model, without our own columns."""
    source = file or str(_assignments(artifact.folder))
    if artifact.config["encoder"]["input_type"] != "images":
        return read_input(source, **how, without_results=True)
    how["format"] = how.pop("file_format")
    return _images(Path(source), **how)


def write_page(page: str, target: Path) -> None:
    """Write a page atomically. In a folder that coterie wrote it is one more file of ours."""
    from coterie.data.atomic import atomic_file
    from coterie.data.ownership import add_to_marker

    with atomic_file(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    add_to_marker(target)


def check_page(target: Path) -> None:
    """Raise :class:`InputError` before the work if the page cannot be written, or if it is not ours to replace."""
    from coterie.errors import InputError

    if target.is_dir():
        raise InputError(f"{target} is a folder; --out names a file.")
    if not target.parent.is_dir():
        raise InputError(f"Cannot write {target}: the folder {target.parent} does not exist.")
    if target.is_file():
        with target.open("rb") as stream:
            if b'<meta name="generator" content="coterie' not in stream.read(4096):
                raise InputError(
                    f"{target} exists and is not a page of coterie, so it is not replaced. Name another file."
                )


def assignments_beside(folder: Path) -> Path | None:
    """Return the file of assignments beside a model folder."""
    return next(iter(sorted(folder.parent.glob("assignments.*"))), None)


def _assignments(folder: Path) -> Path:
    from coterie.errors import InputError

    found = assignments_beside(folder)
    if found is None:
        raise InputError(
            f"A model does not hold its texts, and there are no assignments beside {folder}. Name the FILE."
        )
    return found


def _images(source: Path, **text_options: Any) -> Input:
    """Return the images of a folder, or those that a file of assignments lists."""
    if source.is_dir():
        return read_folder(str(source), **text_options)
    from coterie.data.files import read_table
    from coterie.data.text_column import text_column

    table = without_results(read_table(source))
    names = table.columns[text_column(table.columns, "file")]
    return Input(table, ("file",), names, [Path(name) for name in names], "images", source.name)
