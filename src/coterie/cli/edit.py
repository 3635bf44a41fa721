"""`coterie edit`: merge and rename the clusters of a saved model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coterie.cli import options
from coterie.cli.input import Input
from coterie.cli.output import progress
from coterie.cli.report import assignments_beside, make_page, read_items
from coterie.cli.result_folder import described, result_tables, say_written, show_clusters, write_results
from coterie.cli.targets import reserve_default_folder, reserve_folder

if TYPE_CHECKING:
    from coterie.clusterer import Clusterer

_MAX_DIGITS = 9
_EXAMPLE = "coterie edit MODEL --merge 3,7 --rename 2=Billing"


def edit(
    model: options.Model,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="The texts, or the folder of images, that the model was fitted to.",
            show_default="the assignments beside the model",
        ),
    ] = None,
    merge: Annotated[
        list[str] | None,
        typer.Option("--merge", metavar="3,7", help="Make one cluster of these; may be repeated."),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option("--rename", metavar="2=NAME", help="Give a cluster a name of your own; may be repeated."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The folder to write.", show_default="MODEL-edited", rich_help_panel="Output"),
    ] = None,
    force: options.Force = False,
    no_report: options.NoReport = False,
    no_texts: options.NoTexts = False,
    raw: options.Raw = False,
    column: options.Column = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    vectors: options.Vectors = None,
    allow_encoder: options.AllowEncoder = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Merge and rename clusters of MODEL, and write the result to another folder. MODEL stays as it is.

    A merged cluster has the smallest of the numbers; all other clusters keep
    theirs. Texts that the new model assigns follow. The folder is like that of
    `coterie cluster`. Without the texts, it has only the model.
    """
    from coterie.artifact.model import Artifact
    from coterie.errors import InputError

    groups, names = _groups(merge), _names(rename)
    if not groups and not names:
        raise InputError(f"There is nothing to edit. For example: {_EXAMPLE}")
    artifact = Artifact.open(model)
    if out is not None and out.resolve() == artifact.folder.resolve():
        raise InputError(f"{out} is the model itself, which stays as it is. Name another folder.")
    if out is None:
        out = reserve_default_folder(str(model), suffix="edited", force=force)
    else:
        reserve_folder(out, force=force)
    given = None
    if file is not None or assignments_beside(artifact.folder):
        given = read_items(
            artifact, file, column=column, file_format=file_format, encoding=encoding, delimiter=delimiter,
            vectors=vectors,
        )  # fmt: skip
    with progress(quiet):
        fitted = artifact.load(allow=allow_encoder or ())
        _edit(fitted, groups, names, given)
        page = None
        if given is not None and not no_report:
            assigned = None if groups else fitted.assigned_sample(given.items)
            page = make_page(fitted, given, fitted.clusters_, assigned, with_texts=not no_texts)
    tables = {} if given is None else result_tables(given, fitted, fitted.clusters_, raw=raw)
    write_results(out, fitted, tables, fitted.clusters_, page, overwrite=force)
    show_clusters(fitted.clusters_, as_json=as_json)
    noun = "images" if fitted.encoder_.input_type == "images" else "texts"
    say_written(out, fitted, noun, has_page=page is not None, quiet=quiet)


def _edit(model: Clusterer, groups: list[list[int]], names: dict[int, str], given: Input | None) -> None:
    """Merge and rename; with the items, merged clusters are described anew."""
    from coterie.errors import InputError

    if given is not None and given.table.n_rows != model.n_texts_:
        raise InputError(
            f"{given.title} has {given.table.n_rows:,} rows, but the model was fitted to {model.n_texts_:,}. Name the "
            "file that it was fitted to."
        )
    if groups:
        model.merge(groups, None if given is None else given.items)
        if given is not None:
            described(model, given)
    model.rename(names)


def _groups(merge: Sequence[str] | None) -> list[list[int]]:
    """Return the groups of clusters that --merge names."""
    from coterie.errors import InputError

    groups = []
    for text in merge or ():
        numbers = [part.strip() for part in text.split(",")]
        if len(numbers) < 2 or not all(map(_is_number, numbers)):
            raise InputError(f"--merge {text}: write the numbers of at least two clusters with commas, such as 3,7.")
        groups.append([int(number) for number in numbers])
    return groups


def _names(rename: Sequence[str] | None) -> dict[int, str]:
    """Return the names that --rename gives, by the numbers of the clusters."""
    from coterie.errors import InputError

    names: dict[int, str] = {}
    for text in rename or ():
        number, equals, name = text.partition("=")
        if not equals or not _is_number(number.strip()):
            raise InputError(f"--rename {text}: write the number of a cluster and its name, such as 2=Billing.")
        if int(number) in names:
            raise InputError(f"--rename names cluster {int(number)} twice.")
        names[int(number)] = name
    return names


def _is_number(text: str) -> bool:
    """Whether a text is the number of a cluster."""
    return text.isdecimal() and len(text) <= _MAX_DIGITS
