"""The registry: every table and figure of the papers by name, from one TOML file for each paper.

``papers/sccl.toml`` with ``[table-1]`` is the experiment ``sccl-table-1``. Its ``runs`` are methods, or method/variant
for a recipe; ``*`` is every method. Its ``sets`` are data sets, ``papers``, or ``texts`` and ``images`` for all there
are. A run whose method or variant does not exist yet is left out, and joins when it exists.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any, Literal, get_args

from coterie.clusterer import METHODS
from coterie.datasets import DATASETS
from coterie.datasets.splits import SPLITS
from coterie.errors import InputError
from coterie.experiments.jobs import Job, defaults, expand, expand_sets
from coterie.experiments.recipe import Preset, variants
from coterie.experiments.views_file import ViewsFile
from coterie.wording import did_you_mean

Kind = Literal["scores", "sweep", "curve", "cost", "published", "map", "topics", "pairs", "statistics", "script"]
"""What an experiment shows: scores of runs by data set, over a grid, or over the steps; their time and memory, how far
they are from published ones; texts in two dimensions, topics, pairs of texts, facts about data sets; or it has a script
of its own."""
_FOLDER = files("coterie.experiments") / "papers"
_EXTRAS = ("map", "topics", "pairs")  # kinds that need more than scores in a result


@dataclass(frozen=True)
class Experiment:
    """A table or a figure: what it runs and how it is shown."""

    name: str
    title: str
    kind: Kind = "scores"
    runs: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    seeds: int = 1
    seeds_of: Mapping[str, int] = field(default_factory=dict)  # of data sets that have another number of seeds
    preset: Preset = "cpu"
    metrics: tuple[str, ...] = ("acc", "nmi")
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the methods that have them
    match_seeds: bool = True  # show only those seeds of a data set that all rows have
    reference: str = ""  # the run that the others are compared with; empty: the first
    split: bool = False
    encoder: str = ""  # instead of that of the recipes
    precision: str = ""  # number format of the encoders, instead of that of the recipes; empty: any result counts
    views: Mapping[str, Any] = field(default_factory=dict)  # a published file of views: file, sha256, columns
    n_clusters: int | None = None  # instead of the number of classes
    script: str = ""  # the command, for the kind "script"
    needs: tuple[str, ...] = ()  # what is not in this repository
    note: str = ""

    @property
    def known_runs(self) -> list[str]:
        """The runs whose method and variant exist."""
        names = [name for run in self.runs for name in (METHODS if run == "*" else [run])]
        return [name for name in names if _exists(name)]

    @property
    def unknown_runs(self) -> list[str]:
        """The runs that do not exist yet."""
        return [name for name in self.runs if name != "*" and not _exists(name)]

    @property
    def known_sets(self) -> list[str]:
        """The names of the data sets."""
        names = [name for given in self.sets for name in _of_type(given)]
        return [name for name in expand_sets(names) if not self.split or name in SPLITS]

    def jobs(self) -> list[Job]:
        """Return a job for every run, data set, point of a grid and seed; the first seed first."""
        jobs = [job for run in self.known_runs for job in self._jobs_of(run)]
        return sorted(jobs, key=lambda job: job.seed)

    def _jobs_of(self, run: str) -> list[Job]:
        method, variant = split_run(run)
        own = {name: value for name, value in self.settings.items() if name in defaults(METHODS[method])}
        jobs = expand(
            [method], self.known_sets, max(self.seeds, *self.seeds_of.values(), 0), self.preset,
            variant=variant, overrides=own, split=self.split, encoder=self.encoder, precision=self.precision,
            views=ViewsFile.from_dict(self.views) if self.views else None,
        )  # fmt: skip
        extra = self.kind if self.kind in _EXTRAS else ""
        wanted = [job for job in jobs if job.seed < self.seeds_of.get(job.dataset, self.seeds)]
        return [replace(job, extra=extra, n_clusters=self.n_clusters) for job in wanted]


def experiments() -> dict[str, Experiment]:
    """Return all experiments by name, in the order of the files."""
    found = {}
    for path in sorted(_FOLDER.iterdir(), key=lambda path: path.name):
        paper = path.name.removesuffix(".toml")
        for key, content in tomllib.loads(path.read_text(encoding="utf-8")).items():
            found[f"{paper}-{key}"] = parse(f"{paper}-{key}", content)
    return found


def experiment(name: str) -> Experiment:
    """Return the experiment with a name, or raise :class:`InputError`."""
    known = experiments()
    if name not in known:
        raise InputError(
            f"There is no experiment called {name!r}.{did_you_mean(name, known)} `coterie bench list` lists them."
        )
    return known[name]


def parse(name: str, content: Mapping[str, Any]) -> Experiment:
    """Return the experiment of one table of a file."""
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in content.items()}
    try:
        found = Experiment(name, **values)
    except TypeError as error:
        raise InputError(f"The experiment {name}: {error}.") from None
    if found.kind not in get_args(Kind):
        raise InputError(f"The experiment {name}: kind must be one of {', '.join(get_args(Kind))}.")
    return found


def split_run(run: str) -> tuple[str, str]:
    """Return method and variant of a run."""
    method, _, variant = run.partition("/")
    return method, variant


def run_of(item: Job | Mapping[str, Any]) -> str:
    """Return the run that a job or a result belongs to."""
    method, variant = (item.method, item.variant) if isinstance(item, Job) else (item["method"], item["variant"])
    return f"{method}/{variant}" if variant else method


def _exists(run: str) -> bool:
    method, variant = split_run(run)
    return method in METHODS and (not variant or variant in variants(method))


def _of_type(name: str) -> Sequence[str]:
    if name not in ("texts", "images"):
        return [name]
    return [found for found, entry in DATASETS.items() if entry.input_type == name]
