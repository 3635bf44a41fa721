"""What training adds: `refine` beside k-means and the clusters that it starts from, on whole data sets.

Epoch 0 of a curve are the clusters of `neighbors`, from the same encoder, precision and seed; k-means is a result of
its own with the same three. Scores are means over the seeds of `refine`. Minutes are of one processor.

    make bench-refine            # runs what is missing, and prints the table
    python benchmarks/refine.py  # prints the table; benchmarks/documents.py writes it into documents
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from coterie.datasets import DATASETS
from coterie.experiments.recipe import published
from coterie.experiments.results import read_results
from coterie.wording import count

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "refine.jsonl"
TUNED_ON = ("agnews", "searchsnippets", "stackoverflow", "tweet")
Result = dict[str, Any]
_JOINED = "bundled+e5"
_COLUMNS = ("kmeans", "neighbors", "refine")


def main() -> None:
    """Print the table."""
    print(table(runs()))


class Run:
    """`refine` on one data set with one encoder: a result for each seed, and those of k-means."""

    def __init__(self, refined: Sequence[Result], kmeans: Sequence[Result]) -> None:
        self.refined, self.kmeans = refined, kmeans
        first = refined[0]
        self.name, self.n, self.k, self.encoder = first["set"], first["n"], first["k"], _encoder_name(first)
        self.is_tuned = self.name in TUNED_ON

    @property
    def seeds(self) -> list[int]:
        """The seeds, in their order."""
        return sorted(result["seed"] for result in self.refined)

    def of(self, row: str) -> dict[str, float] | None:
        """Return mean ACC and NMI of a row of the table; None where a seed is missing."""
        points: dict[str, Callable[[], list[dict[str, float]]]] = {
            "kmeans": lambda: [result["label_based"] for result in self.kmeans],
            "neighbors": lambda: [result["curve"][0] for result in self.refined],
            "refine": lambda: [result["label_based"] for result in self.refined],
            "best epoch": lambda: [max(r["curve"][1:], key=lambda point: point["nmi"]) for r in self.refined],
        }
        found = points[row]()
        if len(found) < len(self.refined):
            return None
        return {metric: 100 * mean(point[metric] for point in found) for metric in ("acc", "nmi")}

    @property
    def kept(self) -> str:
        """The epoch that the guard kept, for each seed."""
        return ", ".join(str(result["guard"]["kept"] or "untrained") for result in self.refined)

    @property
    def minutes(self) -> str:
        """The mean of the processor time."""
        return f"{mean(result['processor_seconds'] for result in self.refined) / 60:.1f}"


def runs(results: Sequence[Result] | None = None) -> list[Run]:
    """Return the runs of some results, or of the file: tuned sets first, each encoder by itself."""
    by_key: dict[tuple[str, str], dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for result in sorted(read_results(RESULTS) if results is None else results, key=lambda result: result["seed"]):
        by_key[_encoder_name(result), result["set"]][result["method"]].append(result)
    found_runs = []
    for found in by_key.values():
        seeds = {result["seed"] for result in found["refine"]}
        if seeds:
            found_runs.append(Run(found["refine"], [result for result in found["kmeans"] if result["seed"] in seeds]))
    order = list(DATASETS)
    return sorted(found_runs, key=lambda run: (run.encoder, not run.is_tuned, order.index(run.name)))


def _encoder_name(result: Result) -> str:
    parts = re.findall(r"bundled|e5", str(result["encoder"]["params"].get("encoders", "")))
    return "+".join(parts) or str(result["encoder"]["name"])


def table(runs: Sequence[Run]) -> str:
    """Return all of it, and the mean gain on both kinds of data sets."""
    head = "| set | encoder | seeds | N | K | k-means | neighbors | refine | kept epoch | best epoch | minutes |"
    rows = [head, "|---|---|--:|--:|--:|--:|--:|--:|---|--:|--:|"]
    for run in runs:
        cells = [_set_name(run), run.encoder, _seeds(run), run.n, run.k, *map(_pair, map(run.of, _COLUMNS)), run.kept,
                 _pair(run.of("best epoch")), run.minutes]  # fmt: skip
        rows.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join([*rows, "", *_gains(runs)])


def short_table(runs: Sequence[Run]) -> str:
    """Return the table of the README: bundled, `refine` above two encoders, and the best published scores."""
    head = "| data set | k-means | neighbors | refine | minutes | refine, bundled+e5 | best published |"
    rows = [head, "|---|--:|--:|--:|--:|--:|--:|"]
    joined = {run.name: run for run in runs if run.encoder == _JOINED}
    for run in runs:
        if run.encoder == "bundled":
            best = published("neighbors", run.name)
            shown = f"{best.acc:.1f} / {best.nmi:.1f}" if best else "–"
            above_two = _pair(joined[run.name].of("refine") if run.name in joined else None)
            cells = [_set_name(run), *map(_pair, map(run.of, _COLUMNS)), run.minutes, above_two, shown]
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _gains(runs: Sequence[Run]) -> list[str]:
    """Return the mean and the worst gain over `neighbors`, of tuned and of held-out sets, by encoder."""
    lines = []
    for encoder in dict.fromkeys(run.encoder for run in runs):
        for kind, is_kind in (("tuned on", True), ("held out", False)):
            chosen = [run for run in runs if run.encoder == encoder and run.is_tuned is is_kind]
            if chosen:
                gains = list(zip(*map(_gain, chosen), strict=True))  # of ACC, of NMI
                average, worst = (" / ".join(f"{f(column):+.1f}" for column in gains) for f in (mean, min))
                which = f"{encoder}, {kind}, {count(len(chosen), 'sets')}"
                lines.append(f"- {which}: {average} on average, {worst} at worst.")
    return lines


def _gain(run: Run) -> list[float]:
    """Return what training adds to ACC and NMI; both rows are of the same results."""
    before, after = run.of("neighbors") or {}, run.of("refine") or {}
    return [after[metric] - before[metric] for metric in before]


def _set_name(run: Run) -> str:
    return run.name if run.is_tuned else f"{run.name} (held out)"


def _seeds(run: Run) -> str:
    return f"{run.seeds[0]} to {run.seeds[-1]}" if len(run.seeds) > 1 else str(run.seeds[0])


def _pair(scores: dict[str, float] | None) -> str:
    return f"{scores['acc']:.1f} / {scores['nmi']:.1f}" if scores else "–"


if __name__ == "__main__":
    main()
