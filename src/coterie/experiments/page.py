"""The page of all results, docs/benchmarks.md: made from the JSON lines by `make benchmarks`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from coterie.experiments.collection import Collection, Results, collect
from coterie.experiments.paper_table import make
from coterie.experiments.registry import experiments
from coterie.experiments.status import missing_time, needs
from coterie.experiments.table_formats import render

NOT_MEASURED = "## Not measured"
_TIMES = """Times are for two CPU cores, by the results and the time of a step: with the recipes, which have float32,
and with `--precision bfloat16` on a processor that has it."""
_INTRO = """# Benchmarks

Every table and figure of the five papers that has results, ours beside the published scores. This page is made from
`benchmarks/results/*.jsonl` by `make benchmarks`; do not edit it. `coterie bench run NAME` computes what is missing,
`coterie bench table NAME` and `coterie bench figure NAME` show a single one. Scores are in percent, mean ± standard
deviation over seeds. True labels are used for scores only; K is the number of classes. Every score is from a line of
these files, which has its settings, seed and versions."""
_WITHOUT = ("statistics", "script", "map", "pairs")  # not tables of results


def make_page(results: Results, conclusions: str, figures: Path) -> str:
    """Return the page. ``conclusions`` is its only part that is written by hand; ``figures`` is their folder."""
    found = [collect(experiment, results) for experiment in experiments().values()]
    sections = [_section(one, figures) for one in found if one.results and one.experiment.kind not in _WITHOUT]
    missing = [one for one in found if one.missing or one.experiment.kind == "script"]
    return "\n\n".join([_INTRO, conclusions.strip(), *sections, _not_measured(missing, results)]) + "\n"


def _section(found: Collection, figures: Path) -> str:
    name = found.experiment.name
    parts = [f"## {name}", make(found, only_measured=True)]
    if (figures / f"{name}.svg").is_file():
        parts.append(f"![{found.experiment.title}]({figures.name}/{name}.svg)")
    return "\n\n".join(parts)


def _not_measured(missing: Sequence[Collection], results: Results) -> str:
    """What is missing, with its command, the expected time on two cores and what else it needs."""
    rows = [["command", "jobs", "expected time", "in bfloat16", "needs", "what"]]
    for found in missing:
        experiment = found.experiment
        command = experiment.script or f"coterie bench run {experiment.name}"
        times = [missing_time(found, results), missing_time(found, results, "bfloat16")]
        rows.append([f"`{command}`", str(len(found.missing)), *times, needs(found, results), experiment.title])
    return "\n\n".join([NOT_MEASURED, _TIMES, render(rows, [])])
