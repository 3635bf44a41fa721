"""What training adds: `refine` beside the clusters that it starts from, on whole data sets.

Epoch 0 of a curve are the clusters of `neighbors`, from the same encoder, precision and seed. Minutes are of the
processor. k-means is shown where the file has its results.

    coterie bench run -m refine -s papers,helpdesk,wordnet,debian --preset cpu --precision bfloat16 \
        -o benchmarks/results/refine.jsonl
    python benchmarks/refine.py [benchmarks/results/refine.jsonl]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coterie.experiments.results import read_results

RESULTS = Path(__file__).parent / "results" / "refine.jsonl"
TUNED_ON = ("agnews", "searchsnippets", "stackoverflow", "tweet")


def main() -> None:
    """Print a row for each result, tuned sets first, and the mean gain of both kinds of sets."""
    results = read_results(Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS)
    refined = [result for result in results if result["method"] == "refine"]
    refined.sort(key=lambda result: (result["set"] not in TUNED_ON, result["encoder"]["name"], result["set"]))
    print("| set | encoder | seed | N | K | k-means | neighbors | refine | kept | best epoch | minutes |")
    print("|---|---|--:|--:|--:|--:|--:|--:|---|--:|--:|")
    for result in refined:
        print(f"| {' | '.join(map(str, _cells(result, results)))} |")
    for kind, is_kind in (("tuned on", True), ("held out", False)):
        _print_gain(kind, [result for result in refined if (result["set"] in TUNED_ON) is is_kind])


def _cells(result: dict[str, Any], results: Sequence[dict[str, Any]]) -> list[Any]:
    curve, kept = result["curve"], result["guard"]["kept"]
    name = result["set"] + ("" if result["set"] in TUNED_ON else " (held out)")
    best = max(curve[1:], key=lambda point: point["nmi"])
    return [
        name, result["encoder"]["name"], result["seed"], result["n"], result["k"], _kmeans(result, results),
        _pair(curve[0]), _pair(result["label_based"]), f"epoch {kept}" if kept else "untrained", _pair(best),
        f"{result['processor_seconds'] / 60:.1f}",
    ]  # fmt: skip


def _kmeans(result: dict[str, Any], results: Sequence[dict[str, Any]]) -> str:
    key = ("set", "encoder", "seed")
    same = [other for other in results if other["method"] == "kmeans" and all(other[k] == result[k] for k in key)]
    return _pair(same[0]["label_based"]) if same else "–"


def _print_gain(kind: str, results: Sequence[dict[str, Any]]) -> None:
    if results:
        gains = [[100 * (r["label_based"][name] - r["curve"][0][name]) for name in ("acc", "nmi")] for r in results]
        mean = [sum(column) / len(gains) for column in zip(*gains, strict=True)]
        worst = [min(column) for column in zip(*gains, strict=True)]
        print(f"\n{kind}, {len(gains)} runs: mean {mean[0]:+.1f} / {mean[1]:+.1f}, ", end="")
        print(f"worst {worst[0]:+.1f} / {worst[1]:+.1f}")


def _pair(scores: dict[str, Any]) -> str:
    return f"{100 * scores['acc']:.1f} / {100 * scores['nmi']:.1f}"


if __name__ == "__main__":
    main()
