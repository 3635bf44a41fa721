"""`coterie pairs`: which texts training moved together, and which apart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli import options
from coterie.cli.reading import Input, read_input
from coterie.cli.tables import print_json, print_table, progress

if TYPE_CHECKING:
    from coterie.evaluation.pairs import Pair


def pairs(
    model: options.Model,
    file: options.File,
    truth: Annotated[str, typer.Option("--truth", "-t", help="The column of the true labels.")],
    before: Annotated[
        str, typer.Option("--before", help="Encoder to compare with [default: the model's, as it was]; see `encoders`.")
    ] = "",
    n_pairs: Annotated[int, typer.Option("--pairs", "-n", min=1, help="Pairs of every kind.")] = 10,
    column: options.Column = None,
    file_format: options.Format = None,
    encoding: options.Encoding = "utf-8",
    delimiter: options.Delimiter = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Show pairs of texts of FILE whose cosine MODEL changed most, by whether their labels are the same.

    Five kinds: same label and close before and after, same label moved together
    or apart, other label moved together or apart. The true labels are used to
    sort the pairs only.
    """
    given = read_input(file, column, file_format, encoding, delimiter)
    with progress(quiet):
        found, texts, labels = _find(model, given, truth, before, n_pairs)
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


def _find(folder: Path, given: Input, truth: str, before: str, n: int) -> tuple[list[Pair], list[str], list[str]]:
    from coterie.artifact import load
    from coterie.data.columns import text_column
    from coterie.data.texts import check_texts
    from coterie.encoders.encoder import make_encoder
    from coterie.evaluation.pairs import telling_pairs

    labels = given.table.columns[text_column(given.table, truth)]
    checked = check_texts(given.texts)
    first: dict[int, int] = {}
    for row, position in enumerate(checked.inverse.tolist()):  # equal texts are one; blank ones none
        if position >= 0:
            first.setdefault(position, row)
    texts = checked.unique
    kept = [str(labels[first[position]]) for position in range(len(texts))]
    model = load(folder)
    untouched = make_encoder(before).fit(texts) if before else model.encoder_
    return telling_pairs(untouched.embed(texts), model.transform(texts), kept, n_pairs=n), list(texts), kept


def _row(pair: Pair, texts: list[str], labels: list[str]) -> dict[str, Any]:
    rows = (pair.first, pair.second)
    return {
        "kind": pair.kind, "before": round(pair.before, 4), "after": round(pair.after, 4),
        "labels": [labels[i] for i in rows], "texts": [texts[i] for i in rows],
    }  # fmt: skip
