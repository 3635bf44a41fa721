"""Collect everything that a report shows from a fitted model and the items it clustered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coterie.arrays import unit_rows
from coterie.artifact.model import library_versions
from coterie.contracts import Labels, Vectors
from coterie.data.sample import Sample
from coterie.describe.cluster_table import ClusterTable
from coterie.describe.tree import TreeNode as ClusterTreeNode
from coterie.fitting import Assignment
from coterie.report.colors import assign_colors
from coterie.report.columns import color_columns
from coterie.report.contact_sheet import contact_sheets
from coterie.report.data import ClusterCard, Curve, Neighbor, Points, Report, Training, TreeNode
from coterie.report.layout import layout
from coterie.report.sentences import explain, overview
from coterie.report.word_counts import word_counts
from coterie.wording import count

if TYPE_CHECKING:
    from coterie.clusterer import Clusterer

_N_EXAMPLES = 5  # typical and doubtful items of a card
_N_NEAREST = 3
_TEXT_BYTES = 6_000_000  # of all texts of a page
_LENGTHS = (2_000, 1_000, 600, 400, 250, 150, 80)  # characters that a text may be cut to


@dataclass(frozen=True)
class Items:
    """What was clustered, row by row, and where it went."""

    assignment: Assignment  # of the rows; confidence is NaN for blank ones
    sample: Sample
    texts: Sequence[str] = ()  # (N,) the texts, or the names of image files; empty if they are unknown
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def labels(self) -> Labels:
        """The cluster of each row (N,); -1 for rows without one."""
        return self.assignment.labels


def make_report(
    model: Clusterer, items: Items, table: ClusterTable, *, title: str, with_texts: bool = True, seed: int = 0
) -> Report:
    """Return the report on ``items``, whose clusters ``table`` describes.

    Without texts, the page has neither texts nor images nor columns; names and keywords remain.
    """
    is_image = model.encoder_.input_type == "images"
    noun = "images" if is_image else "texts"
    xy, algorithm = layout(items.sample.h, seed=seed)
    texts, cut_note = _shown_texts(items) if with_texts else (None, "")
    points = _points(items, xy, texts, with_texts=with_texts)
    clusters = _cards(table, items, points, with_words=not is_image)
    sentences, training = _training(model, noun)
    clustered = items.labels >= 0
    return Report(
        title=title,
        noun="images" if is_image else "texts",
        n_rows=len(items.labels),
        n_blank=int((~clustered).sum()),
        clusters=clusters,
        points=points,
        method=model.name,
        layout=algorithm,
        sentences=[overview(noun, clusters, items.assignment.confidence[clustered]), *sentences],
        notes=[note for note in (*_notes(items, noun, algorithm, with_texts=with_texts), cut_note) if note],
        tree=_tree_node(model.tree().renamed(table.names).root),
        training=training,
        curve=_curve(model),
        settings=model.saved_params(),
        versions=library_versions(),
        facts={
            "encoder": _encoder(model),
            "fitted to": count(model.n_texts_, noun),
            "SHA-256 of these": model.texts_sha256_,
            "map": algorithm,
        }
        | ({"names": str(model.naming_)} if hasattr(model, "naming_") else {}),
    )


def _tree_node(node: ClusterTreeNode) -> TreeNode:
    return TreeNode(node.name, node.size, node.cluster, [_tree_node(child) for child in node.children])


def _encoder(model: Clusterer) -> str:
    encoder = model.encoder_
    settings = ", ".join(f"{name}={value}" for name, value in encoder.params().items())
    return f"{encoder.name}, {encoder.dim} dimensions" + (f" ({settings})" if settings else "")


def _points(items: Items, xy: NDArray[np.float32], texts: Sequence[str] | None, *, with_texts: bool) -> Points:
    sample = items.sample
    has_second = bool((items.assignment.second[sample.rows] >= 0).any())  # older models do not store it
    return Points(
        rows=sample.rows + 1,
        xy=xy,
        cluster=items.labels[sample.rows],
        confidence=items.assignment.confidence[sample.rows],
        second=items.assignment.second[sample.rows] if has_second else None,
        margin=items.assignment.margin[sample.rows] if has_second else None,
        texts=texts,
        images=contact_sheets(sample.images) if sample.images is not None and with_texts else None,
        columns=color_columns(items.columns, sample.rows) if with_texts else (),
    )


def _shown_texts(items: Items) -> tuple[Sequence[str] | None, str]:
    """Return the texts of the sample, cut where all of them would make a page too large, and a note about that."""
    if len(items.texts):
        texts = [str(items.texts[row]) for row in items.sample.rows.tolist()]
    elif items.sample.texts is not None:
        texts = list(items.sample.texts)
    else:
        return None, ""
    for length in _LENGTHS:
        shown = [text if len(text) <= length else f"{text[: length - 1]}…" for text in texts]
        if sum(len(text.encode()) for text in shown) <= _TEXT_BYTES:
            break
    cut = sum(a is not b for a, b in zip(texts, shown, strict=True))
    return shown, f"{_are(cut, 'long texts')} cut to {length} characters." if cut else ""


def _cards(table: ClusterTable, items: Items, points: Points, *, with_words: bool) -> list[ClusterCard]:
    valid = np.flatnonzero(items.labels >= 0)
    n_clusters = max((row.cluster for row in table), default=-1) + 1  # numbers of merged clusters are unused
    counted = valid if with_words and len(items.texts) else valid[:0]
    words, n_words = word_counts([str(items.texts[i]) for i in counted.tolist()], items.labels[counted], n_clusters)
    nearest = _nearest(items.sample.h, points.cluster, n_clusters)
    colors = assign_colors(_map_centers(points, [row.cluster for row in table]))
    cards = []
    for row, color in zip(table, colors, strict=True):
        k = row.cluster
        typical, doubtful = _examples(points, k)
        card = ClusterCard(
            cluster=k, name=row.name, size=row.size, share=row.share, confidence=row.confidence,
            keywords=row.keywords, typical=typical, doubtful=doubtful, nearest=nearest[k],
            words=words[k], n_words=n_words[k], topics=[topic.as_dict() for topic in row.topics], color=color,
            cohesion=row.cohesion, stability=row.stability,
        )  # fmt: skip
        cards.append(card)
    return cards


def _examples(points: Points, cluster: int) -> tuple[list[int], list[int]]:
    """Return the positions of the most and of the least confident distinct items of a cluster."""
    members = np.flatnonzero(points.cluster == cluster)
    order = members[np.argsort(-points.confidence[members], kind="stable")].tolist()
    typical = _distinct(order, points)
    doubtful = _distinct([i for i in reversed(order) if i not in set(typical)], points)
    return typical, doubtful


def _distinct(order: Sequence[int], points: Points) -> list[int]:
    chosen: dict[Any, int] = {}
    for i in order:
        if len(chosen) == _N_EXAMPLES:
            break
        chosen.setdefault(i if points.texts is None else points.texts[i], i)
    return list(chosen.values())


def _nearest(h: Vectors, labels: Labels, n_clusters: int) -> list[list[Neighbor]]:
    """Return for each cluster the clusters whose mean embeddings are most similar to its own."""
    means = np.zeros((n_clusters, h.shape[1]))
    np.add.at(means, labels, unit_rows(h))
    e = unit_rows(means)
    similarity = e @ e.T  # (K, K)
    np.fill_diagonal(similarity, -np.inf)
    similarity[:, ~means.any(axis=1)] = -np.inf
    best = np.argsort(-similarity, axis=1, kind="stable")[:, :_N_NEAREST]
    return [
        [Neighbor(int(j), float(similarity[k, j])) for j in best[k] if np.isfinite(similarity[k, j])]
        for k in range(n_clusters)
    ]


def _map_centers(points: Points, clusters: Sequence[int]) -> NDArray[np.float64]:
    """Return the median position (K, 2) of each cluster; empty clusters are far away from all others."""
    centers = np.full((len(clusters), 2), 1e9)
    for i, cluster in enumerate(clusters):
        members = points.xy[points.cluster == cluster]
        if len(members):
            centers[i] = np.median(members, axis=0)
    return centers


def _training(model: Clusterer, noun: str) -> tuple[list[str], Training | None]:
    """Return what the guard decided in plain words, and the curves; nothing for methods that do not train."""
    history, verdict = getattr(model, "history_", None), getattr(model, "guard_", None)
    if history is None or verdict is None:
        return [], None
    guarded = verdict.mode == "on"
    training = Training(history, verdict.kept if guarded else None, verdict.untrained if guarded else None)
    return [explain(verdict, noun)], training


def _curve(model: Clusterer) -> Curve | None:
    """Return the scores of the numbers of clusters that were tried; None if the user named the number."""
    tried = model.n_clusters_curve_
    if tried is None or len(tried.candidates) < 2:
        return None
    scores = {
        "Stability": [candidate.stability for candidate in tried.candidates],
        "Separation": [candidate.separation for candidate in tried.candidates],
    }
    if likelihood := [candidate.likelihood for candidate in tried.candidates if candidate.likelihood]:
        scores["Likelihood of the other half"] = likelihood
    numbers = [candidate.n_clusters for candidate in tried.candidates]
    return Curve(numbers, scores, tried.n_clusters, tried.sentences)


def _notes(items: Items, noun: str, algorithm: str, *, with_texts: bool) -> list[str]:
    """Return what the reader of a page should know."""
    blank = int(np.isnan(items.assignment.confidence).sum())
    clustered, shown = int((items.labels >= 0).sum()), len(items.sample.rows)
    notes = []
    if shown < clustered:
        notes.append(
            f"The map and the table show {shown:,} of {clustered:,} {noun}, a random sample with {noun} of every "
            "cluster. Sizes and keywords are of all."
        )
    if blank:
        notes.append(f"{_are(blank, noun)} {'blank' if noun == 'texts' else 'unreadable'}, without a cluster.")
    if aside := len(items.labels) - clustered - blank:
        notes.append(f"{_are(aside, noun)} not shown: their confidence is below the limit for a cluster.")
    if not with_texts:
        notes.append(f"The {noun} and the columns of the table were left out of this page on request.")
    if algorithm == "PCA" and shown > 100:
        notes.append("The map shows two principal components. A better one needs: pip install 'coterie[report]'")
    return notes


def _are(n: int, noun: str) -> str:
    return f"{count(n, noun)} {'is' if n == 1 else 'are'}"
