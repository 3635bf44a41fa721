"""Deep training may make things worse. The guard keeps the best state, and says how it compares with k-means."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from torch import Tensor

from coterie.contracts import Labels, Objective
from coterie.errors import TrainingError
from coterie.graph.information import known_by
from coterie.graph.nearest import Links

if TYPE_CHECKING:
    from coterie.training.trainer import Evaluation

Mode = Literal["on", "off"]
JUDGES = 10  # nearest texts whose labels a text's label is compared with
_LEAST_ENTROPY = 0.5  # of the cluster sizes, as a share of the baseline's
_FLATTERY = 0.01  # what the score may fall when training begins: the first groups were made from these very neighbours


class CollapseWarning(UserWarning):
    """Training went wrong and was stopped."""


@dataclass(frozen=True)
class Verdict:
    """What the guard found; printed, it is one line."""

    baseline: float  # score of k-means on the untouched encoder
    score: float  # of the state that was kept
    kept: int  # its epoch; 0 is the state before training
    epochs: int
    stopped: str = ""  # why training ended early
    mode: Mode = "on"

    def __str__(self) -> str:
        if self.mode == "off":
            return "Guard: off; the last state is kept, whatever it is worth."
        change = "better than" if self.score > self.baseline else "no better than"
        kept = f"epoch {self.kept} of {self.epochs}" if self.kept else "the state before training"
        end = f" Training stopped early: {self.stopped}." if self.stopped else ""
        return (
            f"Guard: kept {kept}, {change} k-means on the untouched encoder "
            f"(neighbours agree {self.score:.3f}, k-means {self.baseline:.3f}).{end}"
        )


class Guard:
    """Judges labels by how much a text's nearest texts, as they were before training, know of its label."""

    def __init__(self, mode: Mode, links: Links, baseline: Labels, n_clusters: int) -> None:
        self.active, self.n_clusters = mode == "on", n_clusters
        self.best: dict[str, Tensor] = {}
        self._links = links.first(JUDGES)
        self._entropy = _entropy(baseline, n_clusters)
        score = self.score(baseline)
        self.verdict = Verdict(score, score, kept=0, epochs=0, mode=mode)

    def score(self, labels: Labels) -> float:
        """Return the share of a label's information that its neighbours' labels hold, 0 to 1."""
        return known_by(self._links, labels, self.n_clusters)

    def begin(self, evaluation: Evaluation) -> None:
        """Take the state before training as the first to beat."""
        if self.active:
            evaluation.record["guard"] = self.score(evaluation.labels)
            self.verdict = replace(self.verdict, score=evaluation.record["guard"])
            self.best = _copy(evaluation.objective)

    def see(self, evaluation: Evaluation) -> None:
        """Put the score on record, keep the state if it is the best so far, and stop a collapse."""
        if not self.active:
            return
        score, epoch = self.score(evaluation.labels), self.verdict.epochs + 1
        evaluation.record["guard"] = score
        self.verdict = replace(self.verdict, epochs=epoch)
        self._check_collapse(evaluation.labels)
        if score > self.verdict.score - (0 if self.verdict.kept else _FLATTERY):
            self.verdict = replace(self.verdict, score=score, kept=epoch)
            self.best = _copy(evaluation.objective)

    def _check_collapse(self, labels: Labels) -> None:
        empty = self.n_clusters - len(np.unique(labels))
        entropy = _entropy(labels, self.n_clusters)
        if empty > self.n_clusters / 2:
            raise TrainingError(f"{empty} of {self.n_clusters} clusters are empty")
        if entropy < _LEAST_ENTROPY * self._entropy:
            raise TrainingError(
                f"nearly everything is in a few clusters (entropy {entropy:.2f}, k-means {self._entropy:.2f})"
            )

    def stop(self, step: int, reason: str) -> None:
        """Say why training ends here; without a state to go back to, that is an error."""
        advice = "Lower encoder_lr or head_lr, or use fewer epochs"
        if not self.active:
            raise TrainingError(f"Training stopped at step {step}: {reason}. {advice}.")
        self.verdict = replace(self.verdict, stopped=reason)
        warnings.warn(
            f"Training stopped at step {step}: {reason}. The best state before that is kept. {advice}.",
            CollapseWarning,
            stacklevel=2,
        )

    def settle(self, objective: Objective) -> None:
        """Leave ``objective`` in the best state."""
        if self.active:
            objective.load_state_dict(self.best, strict=False)

    def notes(self) -> dict[str, Any]:
        """Return what a checkpoint keeps beside :attr:`best`."""
        return asdict(self.verdict)

    def resume(self, notes: dict[str, Any], best: dict[str, Tensor]) -> None:
        """Take back what a checkpoint kept."""
        self.verdict, self.best = Verdict(**notes), best


def _copy(objective: Objective) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in objective.learnt().items()}


def _entropy(labels: Labels, n_clusters: int) -> float:
    share = np.bincount(labels, minlength=n_clusters) / len(labels)
    share = share[share > 0]
    return float(-(share * np.log(share)).sum())
