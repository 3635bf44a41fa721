"""The summary of a report in plain words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coterie.report.data import ClusterCard
from coterie.training.guard import Verdict
from coterie.wording import count

DOUBTFUL = 0.5  # a text is doubtful if its own cluster is less probable than all others together


def overview(noun: str, clusters: Sequence[ClusterCard], confidence: NDArray[np.float64]) -> str:
    """Return the size of the largest and the smallest cluster, and how many items are doubtful."""
    largest, smallest = clusters[0], clusters[-1]
    share = float((confidence < DOUBTFUL).mean()) if len(confidence) else 0.0
    doubtful = f"{share:.0%} are" if share >= 0.005 else ("few are" if share else "none is")
    return (
        f"{count(len(confidence), noun)} in {count(len(clusters), 'clusters')}: the largest, “{largest.name}”, "
        f"has {count(largest.size, noun)}, the smallest, “{smallest.name}”, has {smallest.size:,}. Of all {noun}, "
        f"{doubtful} doubtful: their own cluster has a probability below one half."
    )


def explain(verdict: Verdict, noun: str) -> str:
    """Return the guard's verdict for readers who do not know what a guard is."""
    if verdict.mode == "off":
        return "Training was not supervised: the state after the last epoch was kept."
    kept = (
        f"Of {count(verdict.epochs, 'epochs')} of training, the state after epoch {verdict.kept} was the best and was "
        "kept."
        if verdict.kept
        else "No epoch of training was clearly better, so the clusters without training were kept."
    )
    stopped = f" It was stopped early: {verdict.stopped}." if verdict.stopped else ""
    if verdict.untrained is None:
        return f"{kept}{stopped}"
    compared = (
        f"Score: {verdict.score:.2f}; without training {verdict.untrained:.2f}, plain k-means {verdict.baseline:.2f}. "
        f"It says how well the clusters explain the {noun}, by what was known before training."
    )
    return f"{kept}{stopped} {compared}"
