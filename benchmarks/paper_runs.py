"""How the protocols of the papers end here: preset paper with the bundled encoder, before training and after it.

Single epochs differ by points where k-means finds other clusters each time, so the mean of the last tenth of the epochs
stands beside the last epoch. Minutes are of one processor.

    python benchmarks/paper_runs.py  # prints the table; benchmarks/documents.py writes it into documents
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from coterie.experiments.collection import Results, collect, read_folder
from coterie.experiments.recipe import published
from coterie.experiments.registry import experiment

FOLDER = Path(__file__).parent / "results"
EXPERIMENTS = (
    "sccl-paper-tweet", "aecl-paper-tweet", "aecl-paper-rstc-tweet", "deccrl-paper", "clusterbert-paper", "tcc-paper",
    "sccl-paper-views", "aecl-paper-views",
)  # fmt: skip
_HEAD = "| run | set | views | epochs, steps | minutes, GB | before | last tenth | last | published |"
_METRICS = ("acc", "nmi")
Result = dict[str, Any]
Point = dict[str, Any]


def main() -> None:
    """Print the table."""
    print(table(read_folder(FOLDER)))


def table(results: Results) -> str:
    """Return a row for every run that there is."""
    rows = [_HEAD, "|---|---|---|--:|--:|--:|--:|--:|--:|"]
    for name in EXPERIMENTS:
        for run, cells in collect(experiment(name), results).cells.items():
            rows += [f"| {' | '.join([run, *_cells(result)])} |" for cell in cells.values() for result in cell]
    return "\n".join(rows)


def _cells(result: Result) -> list[str]:
    """Return what the table says of a run, but its name."""
    curve = [point for point in result["curve"] if all(point.get(metric) is not None for metric in _METRICS)]
    last, theirs = curve[-1], published(result["method"], result["set"])
    return [
        result["set"],
        "published" if "views" in result else result["params"]["augmenter"],
        f"{len(curve) - 1}, {last['step']}",
        f"{result['processor_seconds'] / 60:.0f}, {result['peak_gb']:.1f}" if "processor_seconds" in result else "–",
        _scores(curve[:1]),
        _scores(curve[-max(1, (len(curve) - 1) // 10) :]),
        _scores(curve[-1:]),
        f"{theirs.acc:.1f} / {theirs.nmi:.1f}" if theirs else "–",
    ]


def _scores(points: Sequence[Point]) -> str:
    """Return the mean ACC and NMI of some epochs, in percent."""
    return " / ".join(f"{100 * mean(point[metric] for point in points):.1f}" for metric in _METRICS)


if __name__ == "__main__":
    main()
