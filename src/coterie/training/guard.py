"""Training may make clusters worse: the guard keeps the best epoch, or the untrained clusters, by a label-free score.

The score of a labeling is J of the mixture (:mod:`coterie.clustering.mixture`) over the embeddings before training, the
words and the neighbors. Training cannot change these, so it cannot raise the score without a better explanation of the
items. J rises when clusters become more equal in size, whatever they contain, so their entropy is subtracted.

Epoch 0 are the clusters without training. Mostly they maximize J, so other clusters score a little lower even where
they are better. Of all epochs the one with the highest score is kept, unless that is clearly below epoch 0: how far it
may be below is the objective's `max_loss`.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from torch import Tensor

from coterie.clustering.mixture import Evidence, MixtureSettings, fit_mixture
from coterie.contracts import Labels, Objective, Vectors
from coterie.errors import CollapseWarning, TrainingError, user_level

if TYPE_CHECKING:
    from coterie.training.trainer import Evaluation

Mode = Literal["on", "off"]
_MIN_ENTROPY = 0.5  # of the cluster sizes, relative to k-means
_EVENNESS = 2.0  # weight of the entropy of the cluster sizes
_AS_THEY_ARE = MixtureSettings(max_rounds=0)


@dataclass(frozen=True)
class Verdict:
    """What the guard decided. Its string form is one line."""

    baseline: float  # score of k-means on the pretrained encoder
    score: float  # score of the state that was kept
    kept: int  # epoch of that state; 0: the clusters without training
    epochs: int
    stopped: str = ""  # why training ended early
    mode: Mode = "on"
    untrained: float | None = None  # score of the clusters without training; None: nothing is known to judge by

    def check(self) -> None:
        """Raise :class:`ValueError` if a value is not of its kind, as in a checkpoint that someone altered."""
        numbers = [self.baseline, self.score, *([] if self.untrained is None else [self.untrained])]
        is_right = (
            all(type(number) in (int, float) for number in numbers)
            and all(type(epoch) is int and epoch >= 0 for epoch in (self.kept, self.epochs))
            and type(self.stopped) is str
            and self.mode in ("on", "off")
        )
        if not is_right:
            raise ValueError("what the guard decided is not a decision of the guard")

    def __str__(self) -> str:
        if self.mode == "off":
            return "Guard: off; the state after the last epoch is kept."
        kept = f"epoch {self.kept} of {self.epochs}" if self.kept else "the clusters without training"
        end = f" Training stopped early: {self.stopped}." if self.stopped else ""
        if self.untrained is None:
            return f"Guard: kept {kept}; it watches for collapse only, because the network started from scratch.{end}"
        if not self.epochs:
            return f"Guard: kept {kept}; no epoch was trained.{end}"
        if not self.kept:
            return f"Guard: kept {kept}; every epoch explains the items worse (score {self.score:.3f}).{end}"
        how = "better than" if self.score > self.untrained else "nearly as well as"
        return (
            f"Guard: kept {kept}, which explains the items {how} the clusters without training "
            f"(score {self.score:.3f}, without training {self.untrained:.3f}, k-means {self.baseline:.3f}).{end}"
        )


class Guard:
    """Scores labels by a mixture over what was known before training.

    Without ``evidence`` nothing is known, as for pixels: then the last state that did not collapse is kept.
    """

    def __init__(self, mode: Mode, evidence: Evidence | None, baseline: Labels, n_clusters: int) -> None:
        self.active, self.n_clusters = mode == "on", n_clusters
        self.best: dict[str, Tensor] = {}
        self.best_h: Vectors | None = None  # (N, D) embeddings of the best state, or the last; None: not known
        self._evidence = evidence
        self._entropy = _entropy(baseline, n_clusters)
        j = self.score(baseline) if self.active else 0.0
        self.verdict = Verdict(j, j, kept=0, epochs=0, mode=mode)

    def score(self, labels: Labels) -> float:
        """Return J of ``labels`` (N,) as they are, minus the weighted entropy of the cluster sizes."""
        if self._evidence is None:
            return 0.0
        mixture = fit_mixture(self._evidence, labels, self.n_clusters, _AS_THEY_ARE)
        return mixture.score - _EVENNESS * mixture.size_entropy

    def begin(self, evaluation: Evaluation) -> None:
        """Record the untrained clusters as the best so far."""
        if self.active:
            j = self._record(evaluation)
            self.verdict = replace(self.verdict, score=j, untrained=None if self._evidence is None else j)
            self._keep(evaluation)

    def update(self, evaluation: Evaluation) -> None:
        """Record the score, keep the state if it is the best so far, and raise TrainingError on a collapse."""
        if not self.active:
            self.best_h = evaluation.h
            return
        score, epoch = self._record(evaluation), self.verdict.epochs + 1
        self.verdict = replace(self.verdict, epochs=epoch)
        self._check_collapse(evaluation.labels)
        allowed = 0.0 if self.verdict.kept else evaluation.objective.max_loss * math.log(self.n_clusters)
        if score > self.verdict.score - allowed or self._evidence is None:
            self.verdict = replace(self.verdict, score=score, kept=epoch)
            self._keep(evaluation)

    def _keep(self, evaluation: Evaluation) -> None:
        self.best, self.best_h = _copy(evaluation.objective), evaluation.h

    def skip(self) -> None:
        """Count an epoch whose labels mean nothing yet."""
        self.best_h = self.best_h if self.active else None
        self.verdict = replace(self.verdict, epochs=self.verdict.epochs + 1)

    def _record(self, evaluation: Evaluation) -> float:
        score = self.score(evaluation.labels)
        if self._evidence is not None:
            evaluation.record["guard"] = score
        return score

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
            stacklevel=user_level(),
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
        verdict.check()
        self.verdict, self.best = verdict, best


def _copy(objective: Objective) -> dict[str, Tensor]:
    """Return the trained state; what assigns in its place is fitted anew to the embeddings."""
    state = objective.trained_state().items()
    return {name: value.detach().clone() for name, value in state if not name.startswith("closing.")}


def _entropy(labels: Labels, n_clusters: int) -> float:
    share = np.bincount(labels, minlength=n_clusters) / len(labels)
    share = share[share > 0]
    return float(-(share * np.log(share)).sum())
