"""Run jobs, each in a process of its own: peak memory is measured per job, and a crash does not affect other jobs."""

from __future__ import annotations

import copy
import hashlib
import platform
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

import coterie
from coterie import datasets
from coterie.augmenters.augmenter import make_augmenter
from coterie.augmenters.columns import ColumnsAugmenter
from coterie.autoencoder_clusterer import AutoEncoderClusterer
from coterie.clusterer import METHODS, Clusterer
from coterie.contracts import Labels, Vectors
from coterie.data.lock import exclusive
from coterie.datasets import Dataset
from coterie.datasets.splits import load_split
from coterie.deep import DeepClusterer
from coterie.encoders.encoder import ENCODERS
from coterie.encoders.joined import JoinedEncoder
from coterie.errors import LockedError, TrainingError
from coterie.experiments import isolation
from coterie.experiments.embedding_cache import CachedEncoder
from coterie.experiments.extras import EXTRAS
from coterie.experiments.jobs import Job, Result
from coterie.experiments.results import append_result, read_results, repair
from coterie.experiments.scoring import Curve, label_based, label_free, uncalibrated_confidence
from coterie.experiments.unfinished import Spent, Unfinished
from coterie.progress_display import Mode

_CHECKPOINT_STEPS = 200  # besides those at the end of every epoch
_PACKAGES = ("torch", "transformers", "scikit-learn", "numpy", "scipy")
Measured = dict[str, Any]
Known = Vectors | None
"""The embeddings (rows, D) of the items by the fitted model, where they are known."""


@dataclass(frozen=True)
class Outcome:
    """The result of a job, or the reason why there is none."""

    job: Job
    result: Result | None
    failure: str = ""
    elsewhere: str = ""  # why it was not run here


def missing(jobs: Sequence[Job], out: Path) -> list[Job]:
    """Return the jobs that have no result in ``out``."""
    results = read_results(out)
    return [job for job in jobs if not job.is_in(results)]


def run_jobs(jobs: Sequence[Job], out: Path, folder: Path, *, progress: Mode = "off") -> Iterator[Outcome]:
    """Run ``jobs`` in order, append each result to ``out``, and yield the outcomes.

    ``folder`` is the cache of embeddings. An interrupted training resumes when its job runs again. After a failed
    training the next job runs. An :class:`InputError` is raised, because the next jobs would fail in the same way.
    Several processes may run the same jobs into one file: each job is run by one of them.
    """
    repair(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    for number, job in enumerate(jobs, start=1):
        title = f"{number}/{len(jobs)} {job}:"
        unfinished = Unfinished(job, out.parent)
        try:
            with exclusive(unfinished.claim):
                if job.is_in(read_results(out)):
                    yield Outcome(job, None, elsewhere="another process has run it")
                    continue
                result = isolation.run_isolated(_load_and_run, job, folder, out.parent, progress=progress, title=title)
                append_result(out, result)
                unfinished.remove()
        except LockedError:
            yield Outcome(job, None, elsewhere="another process runs it")
        except (TrainingError, isolation.CrashError) as error:
            yield Outcome(job, None, str(error))
        else:
            yield Outcome(job, result)


def run_job(
    job: Job, data: Dataset, folder: Path, test: Dataset | None = None, unfinished: Unfinished | None = None
) -> tuple[Result, Labels]:
    """Fit and score in this process. Return the result and the labels that were scored.

    Without ``test``, the labels of ``data`` are scored; with ``test``, the labels that the model predicts for ``test``.
    With ``unfinished``, a training can resume.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model, measured, h = _fit(job, data, folder, unfinished)
        h = model.transform(data.items) if h is None else h
        scored, h_scored = (model, h) if test is None else (_with_labels_of(model, test), model.transform(test.items))
    scored_data = data if test is None else test
    uncalibrated = uncalibrated_confidence(scored_data.items, h_scored, scored)
    own_warnings = [str(warning.message) for warning in caught if warning.category.__module__.startswith("coterie")]
    result = job.to_dict() | {
        "n": len(data.items),
        "k": len(data.label_names),
        **measured,
        "label_based": label_based(scored_data.true_labels, scored, uncalibrated),
        "label_free": label_free(h, model),
        "assigned_by": model.objective_.final.assigned_by,
        "labels_sha256": hashlib.sha256(np.ascontiguousarray(scored.labels_, dtype="<i8").tobytes()).hexdigest(),
        "warnings": own_warnings,
        "versions": {"coterie": coterie.__version__} | {name: version(name) for name in _PACKAGES},
        "machine": {"python": platform.python_version(), "threads": torch.get_num_threads()},
    }
    if model.n_clusters_ != len(data.label_names):
        result["k_found"] = model.n_clusters_
    if test is not None:
        result["n_test"] = len(test.items)
    if job.extra:
        result[job.extra] = EXTRAS[job.extra](model, data)
    return result, scored.labels_


def peak_gb() -> float | None:
    """Return the peak memory of this process in GB; None where the system does not report it.

    On Linux it is read from /proc, because `getrusage` includes the memory of the parent at the time of the fork.
    """
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        return round(int(found[1]) / 2**20, 2) if found else None
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # kilobytes; bytes on macOS
    return round(peak / (2**30 if sys.platform == "darwin" else 2**20), 2)


def _load_and_run(job: Job, folder: Path, results: Path) -> Result:
    unfinished = Unfinished(job, results)
    if job.split:
        train, test = load_split(job.dataset)
        return run_job(job, train, folder, test, unfinished)[0]
    data = job.file.load() if job.file else datasets.load(job.dataset)
    return run_job(job, data, folder, unfinished=unfinished)[0]


def _with_labels_of(model: Clusterer, data: Dataset) -> Clusterer:
    """Return a copy of the model with the labels that it predicts for ``data``."""
    other = copy.copy(model)
    other.labels_, other.confidence_ = model.assign(data.items)
    return other


def _fit(job: Job, data: Dataset, folder: Path, unfinished: Unfinished | None) -> tuple[Clusterer, Measured, Known]:
    """Return the fitted model, its time, memory and training curve, and its embeddings. Only the curve uses labels."""
    cls = METHODS[job.method]
    encoder = ENCODERS[job.encoder](**job.encoder_params)
    rows = encoder.check(data.items)
    common: dict[str, Any] = {
        "n_clusters": job.n_clusters or len(data.label_names),
        "random_state": job.seed,
        **job.params,
    }
    trains_above = issubclass(cls, AutoEncoderClusterer) or isinstance(encoder, JoinedEncoder)
    trains_encoder = issubclass(cls, DeepClusterer) and not trains_above
    cached = CachedEncoder(inner=encoder, folder=folder)
    if not trains_encoder:
        cached.fit(rows.unique).embed(rows.unique)  # now, so that `seconds` never includes the embedding
    if issubclass(cls, DeepClusterer):
        model = cls(encoder=encoder if trains_encoder else cached, **common)
        return _train(model, data, Curve(data, rows), _given_views(job, data), unfinished)
    model = cls(encoder=cached, **common)
    start = Spent.now()
    model.fit(data.items)
    measured = (Spent.now() - start).to_dict() | {"encode_seconds": cached.seconds(rows.unique), "peak_gb": peak_gb()}
    return model, measured, None


def _train(
    model: DeepClusterer, data: Dataset, curve: Curve, views: list[list[str]] | None, unfinished: Unfinished | None
) -> tuple[Clusterer, Measured, Known]:
    """Return what :func:`_fit` returns; what an interrupted training took before counts as well.

    Without the guard the model is that of the last epoch, whose embeddings the curve has.
    """
    before = Spent()
    start = Spent.now()

    def spent() -> Spent:
        return before + Spent.now() - start - curve.spent

    if unfinished:
        before, curve.before = unfinished.begin()
        model.set_params(checkpoint=unfinished.checkpoint, checkpoint_every=_CHECKPOINT_STEPS)
        curve.keep = lambda: unfinished.keep(spent(), curve.points())
    model.fit(data.items, views=views, callback=curve)
    measured: dict[str, Any] = {**spent().to_dict(), "peak_gb": peak_gb(), "guard": asdict(model.guard_)}
    if before.seconds:
        measured["resumed"] = True
    return model, measured | {"curve": curve.points()}, None if model.guard_.mode == "on" else curve.h


def _given_views(job: Job, data: Dataset) -> list[list[str]] | None:
    augmenter = make_augmenter(job.params["augmenter"])
    if job.views is None or not isinstance(augmenter, ColumnsAugmenter):
        return None
    return job.views.views(augmenter.names, data.items)
