"""The results of an experiment: which there are, which are missing, and how long the missing ones take."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import coterie
from coterie.experiments.estimate import estimate
from coterie.experiments.jobs import Job, Result
from coterie.experiments.registry import Experiment, run_of
from coterie.experiments.results import read_results
from coterie.experiments.table import assignments

FOLDER = Path("benchmarks") / "results"
_USUAL_PRECISION = "float32"  # of the recipes
Row = str
"""A row of a table: a run, with the point of its grid."""


class Results:
    """All results of a folder, found by job."""

    def __init__(self, results: Iterable[Result]) -> None:
        self.all = list(results)
        self._by_key: dict[tuple[object, ...], list[Result]] = defaultdict(list)
        for result in self.all:
            self._by_key[_key(result)].append(result)

    def find(self, job: Job, *, any_precision: bool = False) -> Result | None:
        """Return the newest result of a job; with ``any_precision`` it may be in another number format.

        A result of this version counts before those of earlier ones, then one in the job's own number format.
        """
        known = self._by_key[_key(job.to_dict())]
        found = [result for result in known if job.is_in([result], any_precision=any_precision)]
        return min(reversed(found), key=lambda result: (is_old(result), not job.is_in([result])), default=None)


@dataclass
class Collection:
    """The results of one experiment, by row and data set."""

    experiment: Experiment
    cells: dict[Row, dict[str, list[Result]]] = field(default_factory=dict)
    missing: list[Job] = field(default_factory=list)

    @property
    def results(self) -> list[Result]:
        """All results that there are."""
        return [result for row in self.cells.values() for cell in row.values() for result in cell]

    @property
    def sets(self) -> list[str]:
        """The data sets with a result."""
        found = {result["set"] for result in self.results}
        return [name for name in self.experiment.known_sets if name in found]

    def matched(self) -> Collection:
        """Return the same with only those seeds of a data set that all its rows have, so that means can be compared."""
        shared: dict[str, set[int]] = {}
        for row in self.cells.values():
            for name, cell in row.items():
                seeds = {result["seed"] for result in cell}
                shared[name] = shared.get(name, seeds) & seeds
        cells = {
            label: {name: [r for r in cell if r["seed"] in shared[name]] for name, cell in row.items() if shared[name]}
            for label, row in self.cells.items()
        }
        return replace(self, cells=cells)

    @property
    def reference(self) -> Row | None:
        """The row that others are compared with, if it has results."""
        name = self.experiment.reference or next(iter(self.experiment.known_runs), "")
        return name if self.cells.get(name) else None


def collect(experiment: Experiment, results: Results) -> Collection:
    """Return the results of an experiment, rows in the order of its runs.

    A result in another number format counts where there is none in that of the recipe, unless the experiment names one.
    """
    found = Collection(experiment)
    order = {run: place for place, run in enumerate(experiment.known_runs)}
    for job in sorted(experiment.jobs(), key=lambda job: order[run_of(job)]):
        row = found.cells.setdefault(row_of(job, experiment.settings), {})
        result = results.find(job, any_precision=not experiment.precision)
        if result is None:
            found.missing.append(job)
        else:
            row.setdefault(job.dataset, []).append(result)
    found.missing.sort(key=lambda job: job.seed)
    return found


def row_of(job: Job, common: Mapping[str, object]) -> Row:
    """Return the run of a job, and the settings in which it differs from the other jobs of the experiment."""
    changed = {name: value for name, value in job.overrides.items() if name not in common or common[name] != value}
    return " ".join(filter(None, [run_of(job), assignments(changed)]))


def read_folder(folder: Path = FOLDER) -> Results:
    """Return the results in all files of a folder; files with other content are left out."""
    return Results(result for path in sorted(folder.glob("*.jsonl")) for result in read_results(path, strict=False))


def missing_seconds(missing: Sequence[Job], results: Results) -> float:
    """Return the expected seconds of all missing jobs."""
    return sum(estimate(job, results.all) for job in missing)


def is_old(result: Result) -> bool:
    """Whether a result was measured with another version: rows were in another order, starts were others."""
    return bool(result.get("versions", {}).get("coterie") != coterie.__version__)


def precision_of(result: Result) -> str:
    """Return the number format of the encoder, or of the joined ones, if it is another than in the recipes."""
    params = result["encoder"]["params"]
    of_parts = re.findall(r"precision=(\w+)", str(params.get("encoders", "")))
    others = {params.get("precision", _USUAL_PRECISION), *of_parts} - {_USUAL_PRECISION}
    return " and ".join(sorted(others))


def _key(description: Mapping[str, object]) -> tuple[object, ...]:
    return tuple(description[name] for name in ("method", "variant", "preset", "set", "seed"))
