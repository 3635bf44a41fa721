"""The list of all experiments: what each needs, and whether its results are there."""

from __future__ import annotations

from collections.abc import Sequence

from coterie.experiments.collection import Collection, Results, collect, is_old, missing_seconds
from coterie.experiments.estimate import show_duration
from coterie.experiments.jobs import with_precision
from coterie.experiments.registry import Experiment
from coterie.experiments.table_formats import render

_GPU_SECONDS = 24 * 3600  # more than a day on two cores
_HEADER = ["name", "kind", "results", "missing", "needs", "what"]


def make_list(chosen: Sequence[Experiment], results: Results) -> str:
    """Return a line for each experiment, as a Markdown table."""
    rows = [_row(collect(experiment, results), results) for experiment in chosen]
    return render([_HEADER, *rows], [])


def _row(found: Collection, results: Results) -> list[str]:
    experiment = found.experiment
    return [experiment.name, experiment.kind, _there(found), missing_time(found, results), needs(found, results),
            experiment.title]  # fmt: skip


def missing_time(found: Collection, results: Results, precision: str = "") -> str:
    """Return the expected time of what is missing, perhaps in another number format."""
    missing = [with_precision(job, precision) for job in found.missing]
    return show_duration(missing_seconds(missing, results)) if missing else "–"


def needs(found: Collection, results: Results) -> str:
    """Return what the missing results need besides time: a GPU, models, files, methods that do not exist yet."""
    wanted = list(found.experiment.needs)
    if missing_seconds(found.missing, results) > _GPU_SECONDS and "GPU" not in wanted:
        wanted.append("GPU")
    wanted += [f"method {run}" for run in found.experiment.unknown_runs]
    return ", ".join(wanted) or "–"


def _there(found: Collection) -> str:
    if found.experiment.kind == "script":
        return found.experiment.script
    if found.experiment.kind == "statistics":
        return "computed when shown"
    n_there, n_old = len(found.results), sum(map(is_old, found.results))
    return f"{n_there} of {n_there + len(found.missing)}" + (f" ({n_old} old)" if n_old else "")
