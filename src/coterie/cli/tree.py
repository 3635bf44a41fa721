"""`coterie tree`: the clusters of a saved model as a tree."""

from __future__ import annotations

from typing import Annotated

import typer

from coterie.cli import options
from coterie.cli.input import read_input
from coterie.cli.output import print_json, progress, show


def tree(
    model: options.Model,
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="With --split: the texts whose clusters are divided.")
    ] = None,
    split: Annotated[
        list[int] | None, typer.Option("--split", help="A cluster to divide further; may be repeated.")
    ] = None,
    parts: Annotated[
        int | None, typer.Option("--parts", min=2, help="The number of parts; if not given, as many as separate best.")
    ] = None,
    column: options.Column = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    allow_encoder: options.AllowEncoder = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Show the clusters of MODEL as a tree: similar clusters in groups, each with a name and its number of texts.

    With --split, clusters are divided further by the texts of FILE: their number
    is that of the tree. The model stays as it is.
    """
    from coterie.artifact.model import Artifact
    from coterie.errors import InputError

    artifact = Artifact.open(model)
    found = artifact.tree()
    if split or found is None:
        if split and file is None:
            raise InputError("--split needs texts, which a model does not store: coterie tree MODEL FILE --split 3")
        texts = None if file is None else read_input(file, column, file_format, encoding, delimiter).texts
        with progress(quiet):
            found = artifact.load(allow=allow_encoder or ()).tree(texts, split=split or (), n_parts=parts)
    if as_json:
        print_json(found.as_dict())
    else:
        show(found.draw())
