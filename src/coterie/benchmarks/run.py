"""Run jobs: each in a process of its own, so that its peak memory is its own and a crash ends nothing else."""

from __future__ import annotations

import copy
import hashlib
import platform
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from coterie.benchmarks import apart
from coterie.benchmarks.cache import CachedEncoder
from coterie.benchmarks.jobs import Job, Result
from coterie.benchmarks.measure import Curve, label_based, label_free
from coterie.benchmarks.results import append_result, mend, read_results
from coterie.clusterer import METHODS, Clusterer
from coterie.contracts import Labels
from coterie.data import datasets
from coterie.data.splits import load_split
from coterie.deep import DeepClusterer
from coterie.encoders.encoder import ENCODERS
from coterie.errors import TrainingError

_PACKAGES = ("coterie", "torch", "transformers", "scikit-learn", "numpy", "scipy")


@dataclass(frozen=True)
class Outcome:
    """What became of a job: a result, or why there is none."""

    job: Job
    result: Result | None
    failure: str = ""


def missing(jobs: Sequence[Job], out: Path) -> list[Job]:
    """Return the jobs whose results are not in ``out``."""
    results = read_results(out)
    return [job for job in jobs if not job.is_in(results)]


def run_jobs(jobs: Sequence[Job], out: Path, folder: Path, *, show: bool = False) -> Iterator[Outcome]:
    """Run ``jobs`` one after the other and yield what became of each, its result already in ``out``.

    ``folder`` keeps vectors, ``show`` shows progress. A training that fails is told and the next begins;
    what is wrong with the input is raised, because the next job would meet it too.
    """
    mend(out)
    for job in jobs:
        try:
            result = apart.call(_work, job, folder, show=show)
        except (TrainingError, apart.CrashError) as error:
            yield Outcome(job, None, str(error))
            continue
        append_result(out, result)
        yield Outcome(job, result)


def run_job(
    job: Job, data: datasets.Dataset, folder: Path, test: datasets.Dataset | None = None
) -> tuple[Result, Labels]:
    """Fit and measure in this process; return the result and the labels it is about.

    With ``test``, true labels are compared with those that the model gives to these texts, which it has not seen.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model, told = _fit(job, data, folder)
        judged, true_labels = (model, data.true_labels) if test is None else (_filed(model, test), test.true_labels)
    ours = [str(warning.message) for warning in caught if warning.category.__module__.startswith("coterie")]
    result = job.head() | {
        "n": len(data.items), "k": len(data.label_names), **told,
        "label_based": label_based(true_labels, judged), "label_free": label_free(data.items, model),
        "labels_sha256": hashlib.sha256(np.ascontiguousarray(judged.labels_, dtype="<i8").tobytes()).hexdigest(),
        "warnings": ours, "versions": {name: version(name) for name in _PACKAGES},
        "machine": {"python": platform.python_version(), "threads": torch.get_num_threads()},
    }  # fmt: skip
    return result | ({} if test is None else {"n_test": len(test.items)}), judged.labels_


def _work(job: Job, folder: Path) -> Result:
    train, test = load_split(job.dataset) if job.split else (datasets.load(job.dataset), None)
    return run_job(job, train, folder, test)[0]


def _filed(model: Clusterer, data: datasets.Dataset) -> Clusterer:
    """Return the model with the labels of other texts than those it was fitted on."""
    other = copy.copy(model)
    other.labels_, other.confidence_ = model.assign(data.items)
    return other


def _fit(job: Job, data: datasets.Dataset, folder: Path) -> tuple[Clusterer, dict[str, Any]]:
    """Return the fitted model, and what is known of how it came about. Only the curve sees true labels."""
    cls, encoder = METHODS[job.method], ENCODERS[job.encoder](**job.encoder_params)
    items = encoder.check(data.items)
    common: dict[str, Any] = {"n_clusters": len(data.label_names), "random_state": job.seed, **job.params}
    if issubclass(cls, DeepClusterer):
        deep, curve = cls(encoder=encoder, **common), Curve(data, items)
        seconds = _timed(lambda: deep.fit(data.items, watch=curve)) - curve.seconds
        told = {"peak_gb": peak_gb(), "guard": asdict(deep.guard_), "curve": curve.lines()}
        return deep, {"seconds": round(seconds, 2), **told}
    kept = CachedEncoder(inner=encoder, folder=folder).fit(items.unique)
    kept.embed(items.unique)  # before the clock starts, for the first job as for the others
    model = cls(encoder=kept, **common)
    seconds = _timed(lambda: model.fit(data.items))
    told = {"encode_seconds": kept.seconds(items.unique), "peak_gb": peak_gb()}
    return model, {"seconds": round(seconds, 2), **told}


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peak_gb() -> float | None:
    """Return the most memory that this process ever held; None where the system does not tell.

    Linux is asked for its own count, because what `getrusage` tells begins with the parent's.
    """
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        return round(int(found[1]) / 2**20, 2) if found else None
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # kilobytes, on a Mac bytes
    return round(peak / (2**30 if sys.platform == "darwin" else 2**20), 2)
