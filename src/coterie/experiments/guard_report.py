"""How well the guard selects epochs: the NMI of the kept epoch compared with the best and the last epoch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from scipy.stats import spearmanr

from coterie.experiments.jobs import Result

_HEADER = """\
| set | method | seed | initial NMI | last | best | kept | rank correlation |
|---|---|--:|--:|--:|--:|--:|--:|"""
_TOLERANCE = 0.005  # half a point of NMI


def make_guard_report(results: Iterable[Result]) -> str:
    """Return a Markdown table with a row per guarded training, and a summary of how often the guard chose well.

    The last column is Spearman's correlation of guard score and NMI over the epochs.
    """
    rows = []
    n_near_best = 0
    n_not_below_last = 0
    for result in results:
        curve = result.get("curve", [])
        if len(curve) < 2 or "guard" not in curve[0]:
            continue
        nmi = [point["nmi"] for point in curve]
        epoch = result["guard"]["kept"]
        n_near_best += nmi[epoch] >= max(nmi) - _TOLERANCE
        n_not_below_last += nmi[epoch] >= nmi[-1] - _TOLERANCE
        scores = [_percent(value) for value in (nmi[0], nmi[-1], max(nmi), nmi[epoch])]
        rows.append(
            f"| {result['set']} | {result['method']} | {result['seed']} | {' | '.join(scores)} (epoch {epoch}) "
            f"| {_rank_correlation(curve)} |"
        )
    summary = (
        f"The kept epoch is within half a point of NMI of the best epoch in {n_near_best} of {len(rows)} trainings, "
        f"and not more than half a point below the last epoch in {n_not_below_last}."
    )
    return "\n".join([_HEADER, *rows, "", summary])


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


def _rank_correlation(curve: Sequence[dict[str, Any]]) -> str:
    judged = [point for point in curve if "guard" in point]
    if len(judged) <= 2:
        return "–"
    guard_scores = [point["guard"] for point in judged]
    nmi = [point["nmi"] for point in judged]
    return f"{spearmanr(guard_scores, nmi).statistic:.2f}"
