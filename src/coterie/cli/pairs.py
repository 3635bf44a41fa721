"""`coterie pairs`: the pairs of texts whose similarity training changed most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli import options
from coterie.cli.input import Input, read_input
from coterie.cli.output import print_json, print_table, progress

if TYPE_CHECKING:
    from coterie.clusterer import Clusterer
    from coterie.evaluation.moved_pairs import Pair


def pairs(
    model: options.Model,
    file: options.File,
    truth: Annotated[str, typer.Option("--truth", "-t", help="The column of the true labels.")],
    before: Annotated[
        str,
        typer.Option("--before", help="Encoder to compare with.", show_default="the model's encoder before training"),
    ] = "",
    n_pairs: Annotated[int, typer.Option("--pairs", "-n", min=1, help="Number of pairs of each kind.")] = 10,
    column: options.Column = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    allow_encoder: options.AllowEncoder = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Show the pairs of texts of FILE whose cosine similarity MODEL changed most.

    There are five kinds: same label and similar before and after training, same
    label and moved together or apart, other label and moved together or apart.
    The true labels are used only to group the pairs.
    """
    from coterie.artifact import load

    given = read_input(file, column, file_format, encoding, delimiter)
    with progress(quiet):
        found, texts, labels = _find(load(model, allow=allow_encoder or ()), given, truth, before, n_pairs)
    rows = [_row(pair, texts, labels) for pair in found]
    if as_json:
        print_json(rows)
        return
    columns = ["kind", "before", "after", "labels", "texts"]
    cells = [
        [row["kind"], f"{row['before']:.3f}", f"{row['after']:.3f}", "\n".join(row["labels"]), "\n".join(row["texts"])]
        for row in rows
    ]
    print_table(columns, cells, right=["before", "after"], cut=["texts"])


def _find(model: Clusterer, given: Input, truth: str, before: str, n: int) -> tuple[list[Pair], list[str], list[str]]:
    """Return the pairs, the distinct texts, and the label of each distinct text."""
    from coterie.data.text_column import text_column
    from coterie.data.texts import check_texts
    from coterie.encoders.encoder import make_encoder
    from coterie.evaluation.moved_pairs import moved_pairs

    labels = given.table.columns[text_column(given.table.columns, truth)]
    checked = check_texts(given.texts)
    first_row: dict[int, int] = {}  # of each distinct text
    for row, position in enumerate(checked.inverse.tolist()):
        if position >= 0:
            first_row.setdefault(position, row)
    texts = checked.unique
    text_labels = [str(labels[first_row[position]]) for position in range(len(texts))]
    untrained = make_encoder(before).fit(texts) if before else model.encoder_
    found = moved_pairs(untrained.embed(texts), model.transform(texts), text_labels, n_pairs=n)
    return found, texts, text_labels


def _row(pair: Pair, texts: list[str], labels: list[str]) -> dict[str, Any]:
    members = (pair.first, pair.second)
    return {
        "kind": pair.kind,
        "before": round(pair.before, 4),
        "after": round(pair.after, 4),
        "labels": [labels[i] for i in members],
        "texts": [texts[i] for i in members],
    }
