"""How long jobs take on two cores: by results of the same length, else by the time of a step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from coterie.datasets import DATASETS
from coterie.errors import InputError
from coterie.experiments.jobs import Job, Result, all_params
from coterie.training.batches import n_batches

_STEP_SECONDS = 1.6  # of SCCL with 400 texts and two layers (docs/methods/sccl.md), for methods never measured
_STEP_BATCH = 400
_ALL_LAYERS = 3.1  # a step that trains all six layers, relative to the last two (same page)
_ADAM_SECONDS = 0.2  # a step of Adam on all weights, which small batches feel
_BFLOAT16 = 1 / 2.6  # a step in bfloat16, relative to float32, on a processor that has it
_CORES_USED = 1.7  # of two, by a training with two threads
_SECONDS_PER_ITEM = 0.003  # of methods that train nothing, with the encoding
_USUAL_ITEMS = 10_000  # of a user's own file, which is not read for an estimate
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}


def estimate(job: Job, results: Iterable[Result]) -> float:
    """Return the expected seconds of a job.

    They are by the fastest result on its data set: slower ones had other programs beside them. Items of other data sets
    have other sizes, so of those the median counts.
    """
    of_method = [r for r in results if r["method"] == job.method and _kind(r["set"]) == _kind(job.dataset)]
    of_set = [result for result in of_method if result["set"] == job.dataset]
    format_factor = _format_factor(job.encoder_params)
    same = [
        _seconds(result) / _format_factor(result["encoder"]["params"]) * format_factor
        for result in of_set
        if _length(all_params(result)) == _length(job.params)
    ]
    if same:
        return min(same)
    n_items = DATASETS[job.dataset].n_items if job.dataset in DATASETS else _USUAL_ITEMS
    steps = n_steps(job.params, n_items)
    if not steps:
        return _SECONDS_PER_ITEM * n_items
    times, others = ([time for result in known if (time := _step_seconds(result))] for known in (of_set, of_method))
    per_item = min(times) if times else median(others) if others else _STEP_SECONDS / _STEP_BATCH
    seconds = steps * job.params["batch_size"] * per_item * _layers_factor(job.params) * format_factor
    return float(seconds + steps * _optimizer_seconds(job.params))


def _kind(dataset: str) -> str:
    """Return what a data set consists of: a step on images takes another time than one on texts."""
    return DATASETS[dataset].input_type if dataset in DATASETS else "texts"


def n_steps(params: Mapping[str, Any], n_items: int) -> int:
    """Return the number of training steps; 0 for methods that train nothing."""
    if "batch_size" not in params or "epochs" not in params:
        return 0
    steps = params["epochs"] * (params["epoch_steps"] or n_batches(n_items, params["batch_size"]))
    return int(steps if params["max_steps"] is None else min(steps, params["max_steps"]))


def within(jobs: Sequence[Job], results: Sequence[Result], seconds: float) -> list[Job]:
    """Return the jobs that fit into a time, in their order."""
    chosen = []
    for job in jobs:
        expected = estimate(job, results)
        if expected <= seconds:
            chosen.append(job)
            seconds -= expected
    return chosen


def parse_duration(text: str) -> float:
    """Return the seconds of ``90s``, ``30m``, ``2h`` or ``1.5 h``."""
    found = re.fullmatch(r"\s*([\d.]+)\s*([a-z]+)\s*", text.lower())
    if not found or found[2] not in _UNITS or found[1].count(".") > 1 or found[1] == ".":
        raise InputError(f"{text!r} is not a time. Write for example 90s, 30m or 2h.")
    return float(found[1]) * _UNITS[found[2]]


def show_duration(seconds: float) -> str:
    """Return a time for people."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _length(params: Mapping[str, Any]) -> tuple[Any, ...]:
    names = ("epochs", "epoch_steps", "max_steps", "batch_size", "trainable_layers", "contrast_epochs")
    return tuple(params.get(name) for name in names)


def _seconds(result: Result) -> float:
    """Return the seconds on two cores; of the processor, where they are known: the clock counts other programs too."""
    processor = result.get("processor_seconds")
    return float(result["seconds"] if processor is None else min(result["seconds"], processor / _CORES_USED))


def _step_seconds(result: Result) -> float | None:
    """Return the seconds of a step for each item of a batch, as if two layers were trained in float32."""
    points = [point for point in result.get("curve", []) if point.get("seconds")]
    if not points:
        return None
    params = all_params(result)
    per_step = sum(point["seconds"] for point in points) / points[-1]["step"]
    per_step = min(per_step, _seconds(result) / points[-1]["step"])  # evaluation included, other programs not
    per_step = max(per_step - _optimizer_seconds(params), per_step / 2)
    return float(per_step / params["batch_size"] / _layers_factor(params) / _format_factor(result["encoder"]["params"]))


def _format_factor(encoder_params: Mapping[str, Any]) -> float:
    return _BFLOAT16 if encoder_params.get("precision") == "bfloat16" else 1.0


def _optimizer_seconds(params: Mapping[str, Any]) -> float:
    return _ADAM_SECONDS if params.get("trainable_layers") is None else 0.0


def _layers_factor(params: Mapping[str, Any]) -> float:
    return _ALL_LAYERS if params.get("trainable_layers") is None else 1.0
