"""Training may make clusters worse: the guard keeps the best epoch by a label-free score, compared with k-means."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from torch import Tensor

from coterie.contracts import Labels, Objective
from coterie.errors import CollapseWarning, TrainingError
from coterie.knn.graph import KNNGraph
from coterie.knn.mutual_information import N_NEIGHBORS, neighbor_mutual_information

if TYPE_CHECKING:
    from coterie.training.trainer import Evaluation

Mode = Literal["on", "off"]
_MIN_ENTROPY = 0.5  # of the cluster sizes, relative to k-means
_INIT_MARGIN = 0.01  # the score favors the initial labels, which were made from the same neighbors


@dataclass(frozen=True)
class Verdict:
    """What the guard decided. Its string form is one line."""

    baseline: float  # score of k-means on the pretrained encoder
    score: float  # score of the state that was kept
    kept: int  # epoch of that state; 0 is the state before training
    epochs: int
    stopped: str = ""  # why training ended early
    mode: Mode = "on"

    def __str__(self) -> str:
        if self.mode == "off":
            return "Guard: off; the state after the last epoch is kept."
        change = "better than" if self.score > self.baseline else "no better than"
        kept = f"epoch {self.kept} of {self.epochs}" if self.kept else "the state before training"
        end = f" Training stopped early: {self.stopped}." if self.stopped else ""
        return (
            f"Guard: kept {kept}, {change} k-means on the pretrained encoder "
            f"(neighbor agreement {self.score:.3f}, k-means {self.baseline:.3f}).{end}"
        )


class Guard:
    """Scores labels by their mutual information with the labels of neighbors, found before training."""

    def __init__(self, mode: Mode, graph: KNNGraph, baseline: Labels, n_clusters: int) -> None:
        self.active, self.n_clusters = mode == "on", n_clusters
        self.best: dict[str, Tensor] = {}
        self._graph = graph.first(N_NEIGHBORS)
        self._entropy = _entropy(baseline, n_clusters)
        score = self.score(baseline)
        self.verdict = Verdict(score, score, kept=0, epochs=0, mode=mode)

    def score(self, labels: Labels) -> float:
        """Return the mutual information between the labels of neighbors, normalized to 0..1."""
        return neighbor_mutual_information(self._graph, labels, self.n_clusters)

    def begin(self, evaluation: Evaluation) -> None:
        """Record the state before training as the best so far."""
        if self.active:
            evaluation.record["guard"] = self.score(evaluation.labels)
            self.verdict = replace(self.verdict, score=evaluation.record["guard"])
            self.best = _copy(evaluation.objective)

    def update(self, evaluation: Evaluation) -> None:
        """Record the score, keep the state if it is the best so far, and raise TrainingError on a collapse."""
        if not self.active:
            return
        score, epoch = self.score(evaluation.labels), self.verdict.epochs + 1
        evaluation.record["guard"] = score
        self.verdict = replace(self.verdict, epochs=epoch)
        self._check_collapse(evaluation.labels)
        if score > self.verdict.score - (0 if self.verdict.kept else _INIT_MARGIN):
            self.verdict = replace(self.verdict, score=score, kept=epoch)
            self.best = _copy(evaluation.objective)

    def skip(self) -> None:
        """Count an epoch whose labels mean nothing yet."""
        self.verdict = replace(self.verdict, epochs=self.verdict.epochs + 1)

    def _check_collapse(self, labels: Labels) -> None:
        empty = self.n_clusters - len(np.unique(labels))
        entropy = _entropy(labels, self.n_clusters)
        if empty > self.n_clusters / 2:
            raise TrainingError(f"{empty} of {self.n_clusters} clusters are empty")
        if entropy < _MIN_ENTROPY * self._entropy:
            raise TrainingError(
                f"nearly all items are in a few clusters (entropy {entropy:.2f}, k-means {self._entropy:.2f})"
            )

    def stop(self, step: int, reason: str) -> None:
        """Record why training stopped. With the guard off there is no earlier state to keep: raise TrainingError."""
        advice = "Lower encoder_lr or head_lr, or use fewer epochs"
        if not self.active:
            raise TrainingError(f"Training stopped at step {step}: {reason}. {advice}.")
        self.verdict = replace(self.verdict, stopped=reason)
        warnings.warn(
            f"Training stopped at step {step}: {reason}. The best state before that is kept. {advice}.",
            CollapseWarning,
            stacklevel=2,
        )

    def restore_best(self, objective: Objective) -> None:
        """Load the best state into ``objective``."""
        if self.active:
            objective.load_state_dict(self.best, strict=False)

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint stores beside :attr:`best`."""
        return asdict(self.verdict)

    def restore(self, state: dict[str, Any], best: dict[str, Tensor]) -> None:
        """Load what a checkpoint stored."""
        verdict = Verdict(**state)
        str(verdict)  # fails here if a number is none, instead of after the training
        self.verdict, self.best = verdict, best


def _copy(objective: Objective) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in objective.trained_state().items()}


def _entropy(labels: Labels, n_clusters: int) -> float:
    share = np.bincount(labels, minlength=n_clusters) / len(labels)
    share = share[share > 0]
    return float(-(share * np.log(share)).sum())
