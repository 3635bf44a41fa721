"""How much probabilities mean: the expected calibration error (ECE) and the reliability curve, before and after.

    python benchmarks/reliability.py run --methods kmeans,neighbors --sets tweet,searchsnippets,agnews,stackoverflow
    python benchmarks/reliability.py table
    python benchmarks/reliability.py figure docs/figures/reliability.svg

"Before" is q of the method itself, "after" is calibrated without labels (coterie/calibration.py). K is the true number,
the encoder that of the recipes for the CPU, the seed 0. Clusters are matched to classes. True labels are used for these
scores only.

The table also has the results of `coterie bench run -o benchmarks/results/calibration.jsonl` (preset `cpu`, means over
the seeds). Other files (--results baselines.jsonl,cpu.jsonl) hold errors of earlier ways to calibrate, too.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results" / "reliability.jsonl"
_DRAWN = 0.005  # share of the texts in a bin that is drawn; fewer are noise
ENCODER = "bundled(max_length=32,precision=float32)"  # as in the recipes
SETS = (
    "helpdesk", "agnews", "searchsnippets", "stackoverflow", "biomedical",
    "googlenews-ts", "googlenews-t", "googlenews-s", "tweet",
)  # fmt: skip


def main() -> None:
    """Run one command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "table", "figure"])
    parser.add_argument("target", nargs="?", type=Path, default=Path("docs/figures/reliability.svg"))
    parser.add_argument("--methods", default="kmeans,neighbors")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--results", default="calibration.jsonl", help="files of `coterie bench run`, for the table")
    given = parser.parse_args()
    if given.command == "table":
        print(table(_read() | measured([RESULTS.parent / name for name in given.results.split(",")])))
    elif given.command == "figure":
        draw(_read(), given.target)
    else:
        for name in given.sets.split(","):
            for method in given.methods.split(","):
                run(name, method)


def run(name: str, method: str) -> None:
    """Fit a method to a data set, and append its scores to the results."""
    from coterie import datasets
    from coterie.clusterer import METHODS
    from coterie.evaluation.metrics import accuracy
    from coterie.experiments.embedding_cache import CachedEncoder, default_folder
    from coterie.probabilities import Calibration

    data = datasets.load(name)
    encoder = CachedEncoder(inner=ENCODER, folder=default_folder())
    n_clusters = len(np.unique(data.true_labels))
    model = METHODS[method](n_clusters=n_clusters, encoder=encoder, random_state=0).fit(data.texts)
    calibration = model.objective_.calibration
    after = _scores(data.true_labels, model.labels_, model.confidence_)
    model.objective_.calibration = Calibration()
    before = _scores(data.true_labels, model.labels_, model.predict_proba(data.texts).max(axis=1))
    row = {
        "set": name, "method": method, "seed": 0, "n": len(data.texts),
        "acc": round(accuracy(data.true_labels, model.labels_), 4),
        "temperature": round(calibration.temperature, 3), "noise": round(calibration.noise, 4),
        "before": before, "after": after,
    }  # fmt: skip
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    print(f"{name} {method}: accuracy {row['acc']}, ECE {before['ece']} -> {after['ece']}", flush=True)


def _scores(true_labels: Any, labels: Any, confidence: Any) -> dict[str, Any]:
    from coterie.experiments.scoring import calibration_error, reliability_curve

    curve = reliability_curve(true_labels, labels, confidence)
    return {
        "ece": round(calibration_error(true_labels, labels, confidence), 4),
        "confidence": round(float(np.nanmean(confidence)), 4),
        "curve": [[round(value, 4) for value in point] for point in curve],
    }


def _read() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the last result of every method on every set."""
    lines = RESULTS.read_text(encoding="utf-8").splitlines()
    return {(row["set"], row["method"]): row for row in map(json.loads, lines)}


def measured(files: Sequence[Path]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the results of `coterie bench run` in ``files`` that have the ECE before and after calibration.

    Where the guard kept the clusters without training, they are those of `neighbors`, and are left out.
    """
    from coterie.experiments.results import read_results

    found: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for file in files:
        for result in read_results(file, strict=False):
            kept_untrained = (result.get("guard") or {}).get("kept") == 0 and result["guard"]["mode"] == "on"
            has_both = result["label_based"].get("ece_uncalibrated") is not None
            if has_both and _is_usual(result) and not kept_untrained:
                method = result["method"] + (", guard off" if result["overrides"] else "")
                found.setdefault((result["set"], method), {})[result["seed"]] = result
    return {key: _mean(list(seeds.values())) for key, seeds in found.items()}


def _is_usual(result: dict[str, Any]) -> bool:
    """Whether a result is that of a recipe for the CPU, with or without the guard."""
    is_recipe = result["preset"] == "cpu" and not result["variant"] and result["encoder"].get("name") == "bundled"
    return is_recipe and result["overrides"] in ({}, {"guard": "off"})


def _mean(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean over seeds, in the form of a result of `run`."""

    def mean(part: str, name: str) -> float:
        return float(np.mean([result[part][name] for result in results]))

    return {
        "acc": mean("label_based", "acc"), "seeds": len(results),
        "before": {"ece": mean("label_based", "ece_uncalibrated")},
        "after": {"ece": mean("label_based", "ece"), "confidence": mean("label_free", "confidence")},
    }  # fmt: skip


def table(results: dict[tuple[str, str], dict[str, Any]]) -> str:
    """Return a table in Markdown."""
    lines = ["| set | method | seeds | accuracy | confidence | ECE before | after |", "|---|---|--:|--:|--:|--:|--:|"]
    for (name, method), row in sorted(results.items()):
        before, after = row["before"], row["after"]
        lines.append(
            f"| {name} | {method} | {row.get('seeds', 1)} | {row['acc']:.3f} | {after['confidence']:.3f} "
            f"| {before['ece']:.3f} | {after['ece']:.3f} |"
        )
    return "\n".join(lines)


def draw(results: dict[tuple[str, str], dict[str, Any]], target: Path) -> None:
    """Draw accuracy over confidence for every method: a line for each set, before and after."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "coterie"  # the same picture each time
    from matplotlib import pyplot as plt

    methods = sorted({method for _, method in results})
    figure, axes = plt.subplots(
        len(methods), 2, figsize=(9, 3.2 * len(methods)), sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    for row, method in zip(axes, methods, strict=True):
        for axis, when in zip(row, ("before", "after"), strict=True):
            axis.plot([0, 1], [0, 1], color="0.7", linewidth=1)
            for name in sorted(name for name, other in results if other == method):
                curve = [point for point in results[name, method][when]["curve"] if point[0] >= _DRAWN]
                _, confidence, accuracy = zip(*curve, strict=True)
                axis.plot(confidence, accuracy, marker="o", markersize=3, label=name)
            axis.set_title(f"{method}, {when}")
            axis.set_xlabel("confidence")
        row[0].set_ylabel("accuracy")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right center", fontsize=8, frameon=False)
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main()
