"""What is measured of a fitted model, and of every epoch on the way there."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import normalized_mutual_info_score

from coterie.clusterer import Clusterer
from coterie.contracts import Items, Labels
from coterie.data.datasets import Dataset
from coterie.data.rows import Rows
from coterie.errors import InputError
from coterie.evaluation.contrast import contrast_scores
from coterie.evaluation.matching import match_clusters
from coterie.evaluation.metrics import accuracy, agreement, dunn, inter_distance, intra_distance, silhouette
from coterie.training.trainer import Evaluation, Record

Scores = dict[str, float | None]


def label_based(true_labels: Labels, model: Clusterer) -> Scores:
    """Return every score that needs true labels."""
    scores: Scores = {**agreement(true_labels, model.labels_)}
    scores["ece"] = calibration_error(true_labels, model.labels_, model.confidence_)
    return _rounded(scores)


def label_free(items: Items, model: Clusterer) -> Scores:
    """Return every score that needs none; distances are between the vectors that the model ends with.

    The Dunn index is left out: it looks at every pair of texts, and one odd pair decides it.
    """
    told = model.labels_ >= 0
    h, labels = model.transform(items)[told], model.labels_[told]
    scores = {name: _defined(metric, h, labels) for name, metric in _SHAPE.items()}
    return _rounded({**scores, "confidence": float(model.confidence_[told].mean())})


def calibration_error(true_labels: Labels, labels: Labels, confidence: NDArray[np.float64]) -> float:
    """Return by how much confidence and accuracy differ, on average over ten bins (ECE); blank texts have none."""
    told = labels >= 0
    true_labels, labels, confidence = true_labels[told], labels[told], confidence[told]
    match = match_clusters(true_labels, labels)
    right = np.array([match.get(k, -1) for k in labels.tolist()]) == true_labels
    bins = np.minimum((confidence * 10).astype(int), 9)
    gaps = [(bins == b).mean() * abs(right[bins == b].mean() - confidence[bins == b].mean()) for b in set(bins)]
    return float(sum(gaps))


@dataclass
class Curve:
    """Watches a training and puts every epoch on record (SCCL Fig. 4); the training never hears of it."""

    data: Dataset
    rows: Rows[Any]
    seconds: float = 0.0  # spent here, not in training
    points: list[tuple[Record, Scores]] = field(default_factory=list)

    def __call__(self, evaluation: Evaluation) -> None:
        """Measure the distinct items of ``evaluation`` as the rows they came from."""
        start = time.perf_counter()
        told = self.rows.inverse >= 0
        rows = self.rows.inverse[told]
        h, labels, true_labels = evaluation.h[rows], evaluation.labels[rows], self.data.true_labels[told]
        scores: Scores = {
            "acc": accuracy(true_labels, labels),
            "nmi": float(normalized_mutual_info_score(true_labels, labels)),
            "intra_true": _defined(intra_distance, h, true_labels),
            "inter_true": _defined(inter_distance, h, true_labels),
            "intra": _defined(intra_distance, h, labels),
            "inter": _defined(inter_distance, h, labels),
            "silhouette": _defined(silhouette, h, labels),
            **contrast_scores(evaluation.objective, h, true_labels),
        }
        if evaluation.ends_stage:  # it looks at every pair of texts: once a stage (ClusterBERT Fig. 3) is enough
            scores["dunn"] = _defined(dunn, evaluation.h, evaluation.labels)
        self.points.append((evaluation.record, scores))
        self.seconds += time.perf_counter() - start

    def lines(self) -> list[dict[str, Any]]:
        """Return the training's record of every epoch with what was measured after it."""
        return [_rounded({**record, **scores}) for record, scores in self.points]


def _defined(metric: Callable[[Any, Any], float], h: NDArray[Any], labels: Labels) -> float | None:
    """Return a metric, or None where it has no value: in a collapsed grouping."""
    try:
        return metric(h, labels)
    except InputError:
        return None


def _rounded(scores: dict[str, Any]) -> dict[str, Any]:
    return {
        name: (round(value, 4) if math.isfinite(value) else None) if isinstance(value, float) else value
        for name, value in scores.items()
    }


_SHAPE: dict[str, Callable[[Any, Any], float]] = {
    "silhouette": silhouette, "intra_distance": intra_distance, "inter_distance": inter_distance,
}  # fmt: skip
