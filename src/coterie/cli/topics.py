"""`coterie topics`: the topics of the clusters of a model, and the topics of single texts."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli import options
from coterie.cli.input import Input, read_input
from coterie.cli.output import check_printable, print_json, print_topics, progress, say, write_or_print
from coterie.cli.results import add_columns, for_spreadsheets
from coterie.cli.targets import reserve_file

if TYPE_CHECKING:
    from coterie.clusterer import Clusterer
    from coterie.data.files import Table


def topics(
    model: options.Model,
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="Texts whose topic proportions are computed; - for stdin.")
    ] = None,
    words: Annotated[int, typer.Option("--words", "-n", min=1, max=10, help="Number of words of a topic.")] = 5,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="With FILE: the file to write.", show_default="stdout")
    ] = None,
    column: options.Column = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    allow_encoder: options.AllowEncoder = None,
    force: options.Force = False,
    raw: options.Raw = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Show the topics of each cluster of MODEL: their share of its texts, and their most probable words.

    With FILE, add to the table the cluster of each text and the proportion of
    each topic of that cluster (topic_1, topic_2, ... as in the table of topics),
    in the format of the file. Only models of the method deccrl have topics.
    """
    from coterie.artifact.model import Artifact
    from coterie.errors import InputError

    reserve_file(out, force=force)
    artifact = Artifact.open(model)
    saved = artifact.config.get("notes", {}).get("topics")
    if not saved:
        origin = _origin(artifact.config)
        raise InputError(f"{model} has no topics. The method 'deccrl' learns topics from texts; this is {origin}.")
    if file is None:
        _show(saved, words, as_json=as_json)
        return
    given = read_input(file, column, file_format, encoding, delimiter)
    check_printable(given.table, out, as_json=as_json)
    with progress(quiet):
        table = _with_proportions(artifact.load(allow=allow_encoder or ()), given)
    table = table if as_json else for_spreadsheets(table, raw=raw, quiet=quiet)
    _write(table, out, as_json=as_json, quiet=quiet)


def _origin(config: dict[str, Any]) -> str:
    reconstruct = config["params"].get("reconstruct")
    return f"made by {config['method']!r}" + (f" with reconstruct={reconstruct}" if reconstruct else "")


def _show(saved: list[list[dict[str, Any]]], n_words: int, *, as_json: bool) -> None:
    if not as_json:
        print_topics(enumerate(saved), n_words=n_words)
        return
    shortened = [[topic | {"words": topic["words"][:n_words]} for topic in topics] for topics in saved]
    print_json([{"cluster": cluster, "topics": topics} for cluster, topics in enumerate(shortened)])


def _with_proportions(model: Clusterer, given: Input) -> Table:
    """Return the table with the columns cluster and topic_1 to topic_T; they are empty for blank texts."""
    from coterie.errors import BlankTextWarning
    from coterie.topic_clusterer import TopicClusterer

    assert isinstance(model, TopicClusterer)  # only its models save topics
    labels = model.predict(given.texts)
    with warnings.catch_warnings(action="ignore", category=BlankTextWarning):  # already shown by predict
        proportions = model.proportions(given.texts)
    columns = {
        f"topic_{number}": [
            round(float(share), 4) if label >= 0 else None for share, label in zip(shares, labels, strict=True)
        ]
        for number, shares in enumerate(proportions.T, start=1)
    }
    clusters = [int(label) if label >= 0 else None for label in labels]
    return add_columns(given.table, {"cluster": clusters} | columns)


def _write(table: Table, out: Path | None, *, as_json: bool, quiet: bool) -> None:
    from coterie.data.files import convert_for
    from coterie.wording import count

    if out is None:
        write_or_print(table, None, as_json=as_json)
        return
    write_or_print(convert_for(table, out), out, as_json=False)
    say(f"{count(table.n_rows, 'texts')}, written to {out}", quiet=quiet)
