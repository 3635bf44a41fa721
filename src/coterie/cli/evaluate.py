"""`coterie evaluate`: how good are the groups?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from coterie.cli import options
from coterie.cli.reading import Input, read_input
from coterie.cli.tables import print_json, print_table, progress

_MEANING = {
    "acc": "share of texts in the right group, groups matched to labels one to one",
    "nmi": "shared information, 0 to 1 (arithmetic mean)",
    "nmi_geometric": "the same with the geometric mean",
    "ari": "agreement over pairs of texts, 0 is chance",
    "ami": "shared information, 0 is chance",
    "purity": "share of texts in the majority label of their group",
    "silhouette": "how much nearer the own group is than the next, -1 to 1",
    "dunn": "least distance between groups over largest within",
    "intra_distance": "mean distance to the own group's mean",
    "inter_distance": "mean distance of a group's mean to the nearest other",
    "coherence": "how often words of a topic are in one text, -1 to 1 (NPMI)",
    "diversity": "share of different words among the words of all topics",
}


def evaluate(
    file: options.File,
    truth: Annotated[str | None, typer.Option("--truth", "-t", help="The column of the true labels.")] = None,
    model: Annotated[
        Path | None, typer.Option("--model", help="A saved model that groups the texts; adds silhouette and the like.")
    ] = None,
    cluster: Annotated[
        str, typer.Option("--cluster", help="The column of the clusters, when no model is given.")
    ] = "cluster",
    column: options.Column = None,
    file_format: options.Format = None,
    encoding: options.Encoding = "utf-8",
    delimiter: options.Delimiter = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare clusters with true labels, or judge them without.

    FILE holds the true labels (--truth) and either the column that
    `coterie cluster` wrote, or texts that --model is to group.
    Labels are used for these numbers only.
    """
    from coterie.errors import InputError

    if truth is None and model is None:
        raise InputError("Nothing to compare with: name the true labels with --truth, or a model with --model.")
    if model is None:
        given = read_input(file, column or cluster, file_format, encoding, delimiter)
        scores = _against_truth(given, truth, given.table.columns[_there(given, cluster)])
    else:
        given = read_input(file, column, file_format, encoding, delimiter)
        with progress(quiet):
            scores = _with_model(model, given, truth)
    if as_json:
        print_json(scores)
    else:
        print_table(["metric", "value", "meaning"], [[k, f"{v:.4f}", _MEANING[k]] for k, v in scores.items()])


def _with_model(folder: Path, given: Input, truth: str | None) -> dict[str, float]:
    from coterie.artifact import load
    from coterie.describe.topics import top_words
    from coterie.evaluation.metrics import shape
    from coterie.evaluation.topics import coherence, diversity

    model = load(folder)
    labels = model.predict(given.texts)
    scores = _against_truth(given, truth, labels) if truth else {}
    told = labels >= 0
    scores |= shape(model.transform(given.texts)[told], labels[told])
    if words := top_words(model):
        texts = [str(given.texts[i]) for i in told.nonzero()[0]]
        scores |= {"coherence": coherence(words, texts), "diversity": diversity(words)}
    return scores


def _against_truth(given: Input, truth: str | None, clusters: Any) -> dict[str, float]:
    from coterie.evaluation.metrics import agreement

    true_labels = given.table.columns[_there(given, truth)]
    pairs = [(str(y), str(k)) for y, k in zip(true_labels, clusters, strict=True) if str(k) not in ("", "None", "-1")]
    return agreement([y for y, _ in pairs], [k for _, k in pairs])


def _there(given: Input, name: str | None) -> str:
    from coterie.data.columns import text_column

    return text_column(given.table, name)
