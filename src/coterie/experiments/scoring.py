"""Scores of a fitted model, and of every epoch of a training."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import normalized_mutual_info_score

from coterie.clusterer import Clusterer
from coterie.clustering.matching import match_clusters
from coterie.contracts import Items, Labels, Vectors
from coterie.data.rows import Rows
from coterie.datasets import Dataset
from coterie.errors import InputError
from coterie.evaluation.contrast_metrics import contrast_scores
from coterie.evaluation.metrics import accuracy, agreement, dunn, inter_distance, intra_distance, silhouette
from coterie.experiments.unfinished import Spent
from coterie.fitting import most_probable
from coterie.probabilities import Calibration
from coterie.training.trainer import Evaluation, Record

Scores = dict[str, float | None]
Metric = Callable[[Any, Any], float]
_INTERNAL_METRICS: dict[str, Metric] = {
    "silhouette": silhouette,
    "intra_distance": intra_distance,
    "inter_distance": inter_distance,
}
_N_BINS = 10


def label_based(true_labels: Labels, model: Clusterer, uncalibrated: NDArray[np.float64]) -> Scores:
    """Return the scores that need true labels (N,): those of :func:`agreement`, and ``ece``, also before calibration.

    ``uncalibrated`` (N,) are the confidences of :func:`uncalibrated_confidence`.
    """
    scores: Scores = {**agreement(true_labels, model.labels_)}
    scores["ece"] = calibration_error(true_labels, model.labels_, model.confidence_)
    scores["ece_uncalibrated"] = calibration_error(true_labels, model.labels_, uncalibrated)
    return _rounded(scores)


def uncalibrated_confidence(items: Items, h: Vectors, model: Clusterer) -> NDArray[np.float64]:
    """Return the confidence (N,) in the labels of the items with embeddings h (N, D) before calibration."""
    valid = np.flatnonzero(model.labels_ >= 0)
    objective = copy.copy(model.objective_)
    objective.calibration = Calibration()
    chosen = [items[i] for i in valid.tolist()] if isinstance(items, list) else np.asarray(items)[valid]
    confidence = np.full(len(h), np.nan)
    confidence[valid] = most_probable(objective, h[valid], chosen).confidence
    return confidence


def label_free(h: Vectors, model: Clusterer) -> Scores:
    """Return the scores that need no labels. Distances are between the embeddings h (N, D) of the fitted model.

    The Dunn index is left out, because it compares all pairs of texts and a single outlier determines it.
    """
    valid = model.labels_ >= 0
    h = h[valid]
    labels = model.labels_[valid]
    scores: Scores = {name: _value_or_none(metric, h, labels) for name, metric in _INTERNAL_METRICS.items()}
    scores["confidence"] = float(model.confidence_[valid].mean())
    return _rounded(scores)


def calibration_error(true_labels: Labels, labels: Labels, confidence: NDArray[np.float64]) -> float:
    """Return the expected calibration error (ECE) over ten bins; see :func:`reliability_curve`."""
    bins = reliability_curve(true_labels, labels, confidence)
    return sum(size * abs(accuracy - mean) for size, mean, accuracy in bins)


def reliability_curve(
    true_labels: Labels, labels: Labels, confidence: NDArray[np.float64]
) -> list[tuple[float, float, float]]:
    """Return share of the texts, mean confidence and accuracy of each of ten equal bins of confidence that has texts.

    All arguments have shape (N,). Clusters are matched to classes first. Blank texts (label -1) are left out.
    """
    valid = labels >= 0
    true_labels = true_labels[valid]
    labels = labels[valid]
    confidence = confidence[valid]
    match = match_clusters(true_labels, labels)
    correct = np.array([match.get(k, -1) for k in labels.tolist()]) == true_labels
    bins = np.minimum((confidence * _N_BINS).astype(int), _N_BINS - 1)
    in_bin = [bins == b for b in sorted(set(bins.tolist()))]
    return [(float(rows.mean()), float(confidence[rows].mean()), float(correct[rows].mean())) for rows in in_bin]


@dataclass
class Curve:
    """A training callback that scores every epoch (SCCL Fig. 4). It does not influence the training."""

    data: Dataset
    rows: Rows[Any]
    before: list[dict[str, Any]] = field(default_factory=list)  # points of a training that is resumed
    keep: Callable[[], None] | None = None  # called after every epoch
    spent: Spent = field(default_factory=Spent)  # in this callback, not in training
    h: Vectors | None = None  # (rows, D) after the last epoch; NaN for blank rows
    scored: list[tuple[Record, dict[str, Any]]] = field(default_factory=list)

    def __call__(self, evaluation: Evaluation) -> None:
        """Score the rows of the data set, expanded from the distinct items of ``evaluation``."""
        start = Spent.now()
        valid = self.rows.inverse >= 0
        rows = self.rows.inverse[valid]
        self.h = self.rows.expand(evaluation.h, np.nan).astype(np.float32, copy=False)
        h = evaluation.h[rows]
        labels = evaluation.labels[rows]
        true_labels = self.data.true_labels[valid]
        scores: dict[str, Any] = {
            "assigned_by": evaluation.objective.final.assigned_by,
            "acc": accuracy(true_labels, labels),
            "nmi": float(normalized_mutual_info_score(true_labels, labels)),
            "intra_true": _value_or_none(intra_distance, h, true_labels),
            "inter_true": _value_or_none(inter_distance, h, true_labels),
            "intra": _value_or_none(intra_distance, h, labels),
            "inter": _value_or_none(inter_distance, h, labels),
            "silhouette": _value_or_none(silhouette, h, labels),
            **contrast_scores(evaluation.objective, h, true_labels),
        }
        if evaluation.ends_stage:  # all pairs of texts are slow: once per stage, as in ClusterBERT Fig. 3
            scores["dunn"] = _value_or_none(dunn, evaluation.h, evaluation.labels)
        self.scored.append((evaluation.record, scores))
        if self.keep:
            self.keep()
        self.spent += Spent.now() - start

    def points(self) -> list[dict[str, Any]]:
        """Return, for every epoch, the record of the training and the scores."""
        own = [_rounded({**record, **scores}) for record, scores in self.scored]
        by_step = {point["step"]: point for point in [*self.before, *own]}  # an epoch after the checkpoint is repeated
        return [by_step[step] for step in sorted(by_step)]


def _value_or_none(metric: Metric, h: NDArray[Any], labels: Labels) -> float | None:
    """Return the metric, or None where it is undefined, e.g. for a single cluster."""
    try:
        return metric(h, labels)
    except InputError:
        return None


def _rounded(scores: dict[str, Any]) -> dict[str, Any]:
    """Return the scores with four decimals; NaN and infinity become None, because JSON has neither."""
    return {name: _round(value) if isinstance(value, float) else value for name, value in scores.items()}


def _round(value: float) -> float | None:
    return round(value, 4) if math.isfinite(value) else None
