"""`coterie evaluate`: metrics of clusters, with and without true labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli import options
from coterie.cli.input import Input, read_input
from coterie.cli.output import print_json, print_table, progress

if TYPE_CHECKING:
    from coterie.clusterer import Clusterer

_MEANING = {
    "acc": "accuracy: share of texts in the cluster that is matched to their label, one cluster to one label",
    "nmi": "normalized mutual information, 0 to 1 (arithmetic mean)",
    "nmi_geometric": "normalized mutual information with the geometric mean",
    "ari": "adjusted Rand index: agreement over pairs of texts, 0 is chance",
    "ami": "adjusted mutual information, 0 is chance",
    "purity": "share of texts with the most frequent label of their cluster",
    "silhouette": "how much closer a text is to its own cluster than to the next, -1 to 1",
    "dunn": "smallest distance between clusters over the largest distance within a cluster",
    "intra_distance": "mean distance to the mean of the own cluster",
    "inter_distance": "mean distance of a cluster's mean to the nearest other cluster's mean",
    "coherence": "how often the words of a topic occur in the same text, -1 to 1 (NPMI)",
    "diversity": "share of distinct words among the words of all topics",
}


def evaluate(
    file: options.File,
    truth: Annotated[str | None, typer.Option("--truth", "-t", help="The column of the true labels.")] = None,
    model: Annotated[
        Path | None, typer.Option("--model", help="A saved model that clusters the texts; adds metrics without labels.")
    ] = None,
    cluster: Annotated[str, typer.Option("--cluster", help="The column of the clusters, without --model.")] = "cluster",
    column: options.Column = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    allow_encoder: options.AllowEncoder = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare clusters with true labels, or compute metrics that need no labels.

    FILE has the true labels (--truth), and either the column of clusters that
    `coterie cluster` wrote, or the texts that --model assigns to its clusters.
    Labels are used for the metrics only.
    """
    from coterie.artifact import load
    from coterie.errors import InputError

    if truth is None and model is None:
        raise InputError("Nothing to compare with: name the true labels with --truth, or a model with --model.")
    if model is None:
        given = read_input(file, column or cluster, file_format, encoding, delimiter)
        scores = _compare(given, truth, _cells(given, cluster))
    else:
        given = read_input(file, column, file_format, encoding, delimiter)
        with progress(quiet):
            scores = _evaluate_model(load(model, allow=allow_encoder or ()), given, truth)
    if as_json:
        print_json(scores)
    else:
        rows = [[name, f"{value:.4f}", _MEANING[name]] for name, value in scores.items()]
        print_table(["metric", "value", "meaning"], rows)


def _evaluate_model(model: Clusterer, given: Input, truth: str | None) -> dict[str, float]:
    from coterie.evaluation.metrics import internal_metrics
    from coterie.evaluation.topic_metrics import coherence, diversity

    labels = model.predict(given.texts)
    scores = _compare(given, truth, labels) if truth else {}
    valid = labels >= 0
    scores |= internal_metrics(model.transform(given.texts)[valid], labels[valid])
    if words := _topic_words(model):
        texts = [str(given.texts[i]) for i in valid.nonzero()[0]]
        scores |= {"coherence": coherence(words, texts), "diversity": diversity(words)}
    return scores


def _topic_words(model: Clusterer) -> list[list[str]]:
    """Return the words of each topic of each cluster; empty for a model without topics."""
    from coterie.topic_clusterer import TopicClusterer

    if not isinstance(model, TopicClusterer):
        return []
    return [topic.words for topics in model.topics(n_words=10) for topic in topics]


def _compare(given: Input, truth: str | None, clusters: Any) -> dict[str, float]:
    from coterie.evaluation.metrics import agreement

    pairs = [
        (str(true_label), str(cluster))
        for true_label, cluster in zip(_cells(given, truth), clusters, strict=True)
        if str(cluster) not in ("", "None", "-1")
    ]
    return agreement([true_label for true_label, _ in pairs], [cluster for _, cluster in pairs])


def _cells(given: Input, name: str | None) -> list[Any]:
    from coterie.data.text_column import text_column

    return given.table.columns[text_column(given.table.columns, name)]
