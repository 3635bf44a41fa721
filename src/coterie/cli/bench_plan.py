"""Which jobs `coterie bench run` runs: those of tables and figures, or of methods and data sets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from coterie.cli.bench_papers import FOLDER, OUT, Changes, check_views, collections
from coterie.cli.bench_run import Plan

if TYPE_CHECKING:
    from coterie.experiments.recipe import Preset
    from coterie.experiments.user_file import UserFile


@dataclass(frozen=True)
class OfMethods:
    """Options that go with --methods; a table or figure has its own."""

    variant: str = ""
    split: bool = False
    text: str | None = None
    truth: str | None = None


def make_plan(names: list[str], methods: list[str], changes: Changes, own: OfMethods, out: Path | None) -> Plan:
    """Return the jobs of tables and figures, or those of methods."""
    from coterie.errors import InputError
    from coterie.experiments.jobs import has_precision

    if bool(names) == bool(methods):
        raise InputError("Name tables or figures (`coterie bench list`), or give --methods and --sets: one of both.")
    if names and own != OfMethods():
        raise InputError("--variant, --split, --text and --truth are for --methods. NAME has its own.")
    plan = _plan_of_names(names, changes, out or OUT) if names else _plan_of_methods(methods, changes, own, out)
    if changes.precision and not any(has_precision(job) for job in plan.jobs):
        raise InputError("--precision: none of these jobs has an encoder with a number format, such as bundled.")
    return plan


def _plan_of_names(names: list[str], changes: Changes, target: Path) -> Plan:
    """Return the jobs of experiments; results in all files beside the target count."""
    found = collections(names, changes, target.parent)
    for collection in found:
        check_views(collection)
    jobs = [job for collection in found for job in collection.experiment.jobs()]
    left = [job for collection in found for job in collection.missing]
    return Plan(jobs, left, target).distinct()


def _plan_of_methods(methods: list[str], changes: Changes, own: OfMethods, out: Path | None) -> Plan:
    """Return a job for every method, data set and seed."""
    from coterie.experiments.jobs import PAPERS, expand
    from coterie.experiments.runner import missing
    from coterie.experiments.views_file import views_file

    sets = changes.sets or [PAPERS]
    files = _user_files(sets, own.text, own.truth)
    preset: Preset = changes.preset or ("cpu" if files else "paper")
    jobs = expand(
        methods, sets, changes.seeds or 1, preset,
        variant=own.variant, encoder=changes.encoder, precision=changes.precision, overrides=changes.settings,
        split=own.split, files=files, views=views_file(changes.views) if changes.views else None,
    )  # fmt: skip
    jobs = [replace(job, n_clusters=changes.n_clusters) for job in jobs]
    target = out or default_file(preset)
    return Plan(jobs, missing(jobs, target), target)


def default_file(preset: Preset) -> Path:
    """Return the results file of a preset."""
    return FOLDER / f"{preset}.jsonl"


def _user_files(names: list[str], text: str | None, truth: str | None) -> dict[str, UserFile]:
    """Return the sets that are files; raise an error if columns are named and there is none."""
    from coterie.datasets import DATASETS
    from coterie.errors import InputError
    from coterie.experiments.user_file import user_file

    found = [name for name in names if name not in DATASETS and Path(name).is_file()]
    if (text or truth) and not found:
        raise InputError("--text and --truth name columns of your own file, but --sets names none that exists.")
    return {name: user_file(name, text, truth) for name in found}
