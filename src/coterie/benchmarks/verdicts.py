"""How well the guard chose: the NMI of the epoch it kept beside those it could have kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scipy.stats import spearmanr

from coterie.benchmarks.jobs import Result

_HEAD = """\
| set | method | seed | NMI at the start | last | best | kept | rank correlation |
|---|---|--:|--:|--:|--:|--:|--:|"""
_CLOSE = 0.005  # half a point of NMI: as good as the best


def make_verdicts(results: Iterable[Result]) -> str:
    """Return a Markdown table with a row for every training that the guard watched, and how often it chose well."""
    rows, kept_well, beat_last = [], 0, 0
    for result in results:
        curve = [point["nmi"] for point in result.get("curve", [])]
        if len(curve) < 2 or "guard" not in result["curve"][0]:
            continue
        kept, best = curve[result["guard"]["kept"]], max(curve)
        kept_well += kept >= best - _CLOSE
        beat_last += kept >= curve[-1] - _CLOSE
        rows.append(
            f"| {result['set']} | {result['method']} | {result['seed']} | {_percent(curve[0])} | {_percent(curve[-1])} "
            f"| {_percent(best)} | {_percent(kept)} (epoch {result['guard']['kept']}) | {_agreement(result['curve'])} |"
        )
    said = (
        f"Within half a point of NMI of the best epoch in {kept_well} of {len(rows)} trainings, and not more than "
        f"half a point below the last epoch in {beat_last}."
    )
    return "\n".join([_HEAD, *rows, "", said])


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


def _agreement(curve: Sequence[dict[str, float]]) -> str:
    """Return Spearman's correlation of the guard's score and NMI over epochs."""
    score, nmi = ([point[name] for point in curve] for name in ("guard", "nmi"))
    return f"{spearmanr(score, nmi).statistic:.2f}" if len(curve) > 2 else "–"
