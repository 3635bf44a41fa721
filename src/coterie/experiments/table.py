"""A table of results: a row per data set, and per method its scores, its time and the published score."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coterie.clusterer import METHODS
from coterie.datasets import DATASETS
from coterie.encoders.encoder import ENCODERS
from coterie.errors import InputError
from coterie.experiments.jobs import Result, all_params, defaults
from coterie.experiments.recipe import Published, published
from coterie.experiments.table_formats import Format, render

BASELINE = "kmeans"
NO_VALUE = "–"
_CAPTION = (
    "Mean ± standard deviation over seeds, in percent. Time is the median of fit; for methods that train nothing it "
    "does not include encoding."
)
_DISTANCES = ("silhouette", "intra_distance", "inter_distance")  # all other metrics are in percent


@dataclass
class Column:
    """The results of one method with one configuration, by data set."""

    method: str
    variant: str
    preset: str
    encoder: str  # name, and the settings that differ from the default
    overrides: str
    cells: dict[str, list[Result]] = field(default_factory=dict)
    n_replaced: int = 0

    def add(self, result: Result) -> None:
        """Add a result. It replaces results with other settings, or of the same seed, on the same data set."""
        known = self.cells.setdefault(result["set"], [])
        kept = [r for r in known if all_params(r) == all_params(result) and r["seed"] != result["seed"]]
        self.n_replaced += len(known) - len(kept)
        self.cells[result["set"]] = [*kept, result]

    def published(self, dataset: str) -> Published | None:
        """Return the published score on a data set."""
        return published(self.method, dataset, self.variant.split(",")[0])


def make_table(
    results: Iterable[Result], metrics: Sequence[str] = ("acc", "nmi"), table_format: Format = "markdown"
) -> str:
    """Return the table, followed by the settings, seeds and versions of every column."""
    results = list(results)
    known = {name: None for result in results for name in all_scores(result)}
    if unknown := [metric for metric in metrics if metric not in known]:
        raise InputError(f"These results have no metric called {unknown[0]!r}. They have {', '.join(known)}.")
    columns = _columns(results)
    found = dict.fromkeys(result["set"] for result in results)
    sets = [*(name for name in DATASETS if name in found), *(name for name in found if name not in DATASETS)]
    table = [["set", *sets], *_sizes(columns, sets)]  # column by column
    shown = set()
    for column, name in zip(columns, _names(columns), strict=True):
        header = f"{name} {' / '.join(metric.upper() for metric in metrics)}"
        cells = [column.cells.get(dataset, []) for dataset in sets]
        table.append([header, *(show_scores(cell, metrics) + show_found(cell) for cell in cells)])
        table.append(["time", *(_time(cell) for cell in cells)])
        scores = [column.published(dataset) for dataset in sets]
        if any(scores) and (column.method, *scores) not in shown:  # only beside the first column with these scores
            table.append(["published", *(show_published(score, metrics) for score in scores)])
        shown.add((column.method, *scores))
    return render(list(zip(*table, strict=True)), _notes(columns, results), table_format)


def _columns(results: Iterable[Result]) -> list[Column]:
    """Return the columns, grouped by encoder, the baseline first in each group."""
    found: dict[tuple[str, ...], Column] = {}
    for result in results:
        split = "test split" if result.get("split") else ""
        variant = ", ".join(filter(None, [result["variant"], split]))
        key = (result["method"], variant, result["preset"], _encoder(result), assignments(result["overrides"]))
        found.setdefault(key, Column(*key)).add(result)
    encoders = list(dict.fromkeys(column.encoder for column in found.values()))
    return sorted(found.values(), key=lambda column: (encoders.index(column.encoder), column.method != BASELINE))


def _names(columns: Sequence[Column]) -> list[str]:
    """Return the shortest names that distinguish the columns."""
    several_presets = len({column.preset for column in columns}) > 1
    several_encoders = len({column.encoder for column in columns}) > 1
    names = []
    for column in columns:
        parts = [column.method, column.variant]
        if several_presets:
            parts.append(column.preset)
        if several_encoders:
            parts.append(column.encoder)
        parts.append(column.overrides)
        names.append(", ".join(filter(None, parts)))
    return names


def _sizes(columns: Sequence[Column], sets: Sequence[str]) -> list[list[str]]:
    first = [next(column.cells[name][0] for column in columns if name in column.cells) for name in sets]
    return [["N", *(str(result["n"]) for result in first)], ["K", *(str(result["k"]) for result in first)]]


def show_scores(results: Sequence[Result], metrics: Sequence[str]) -> str:
    """Return the mean scores of some seeds, in percent, with their standard deviation."""
    return " / ".join(_score(results, metric) for metric in metrics) if results else NO_VALUE


def show_found(results: Sequence[Result]) -> str:
    """Return the mean number of clusters beside that of classes, for a method that finds it; else nothing."""
    if not any("k_found" in result for result in results):
        return ""
    found = np.mean([result.get("k_found", result["k"]) for result in results])
    return f" ({found:.0f} of {results[0]['k']})"


def _score(results: Sequence[Result], metric: str) -> str:
    scores = [all_scores(result).get(metric) for result in results]
    known = [score for score in scores if score is not None]
    if not known:
        return NO_VALUE
    digits, factor = (3, 1) if metric in _DISTANCES else (1, 100)
    values = factor * np.array(known)
    deviation = f" ± {values.std():.{digits}f}" if len(known) > 1 else ""
    return f"{values.mean():.{digits}f}{deviation}"


def all_scores(result: Result) -> dict[str, Any]:
    """Return all scores of a result by name."""
    return {**result["label_based"], **result.get("label_free", {})}


def _time(results: Sequence[Result]) -> str:
    if not results:
        return NO_VALUE
    seconds = float(np.median([result["seconds"] for result in results]))  # robust against a busy machine
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 99.5 else f"{seconds / 60:.0f} min"


def show_published(score: Published | None, metrics: Sequence[str]) -> str:
    """Return a published score, in percent."""
    if score is None:
        return NO_VALUE
    known = {"acc": score.acc, "nmi": score.nmi, "nmi_geometric": score.nmi}  # the papers do not say which
    return " / ".join(f"{known[metric]:.1f}" if metric in known else NO_VALUE for metric in metrics)


def _notes(columns: Sequence[Column], results: Iterable[Result]) -> list[str]:
    lines = [_CAPTION, ""]
    for column, name in zip(columns, _names(columns), strict=True):
        with_baseline = any(c.method == BASELINE and c.encoder == column.encoder for c in columns)
        lines.append(_note(column, name, with_baseline=with_baseline))
    versions = {", ".join(f"{k} {v}" for k, v in result.get("versions", {}).items()): None for result in results}
    return [*lines, "", *(f"Versions: {text}" for text in versions)]


def _note(column: Column, name: str, *, with_baseline: bool) -> str:
    """Return a sentence on the settings, seeds and sources of a column."""
    results = [result for cell in column.cells.values() for result in cell]
    changed = sorted({assignments(_different(r["params"], defaults(METHODS[r["method"]]))) for r in results})
    settings = changed[0] or "defaults" if len(changed) == 1 else "different settings per data set"
    n_seeds = sorted({len(cell) for cell in column.cells.values()})
    note = f"- {name}: preset {column.preset}, {column.encoder}; {settings}; {_seeds(n_seeds)}."
    scores = [column.published(dataset) for dataset in column.cells]
    sources = dict.fromkeys(score.source for score in scores if score)
    if sources:
        note += f" Published: {'; '.join(sources)}."
    if column.n_replaced:
        note += f" {column.n_replaced} older results, replaced or with other settings, are left out."
    if not with_baseline:
        note += f" No baseline: run {BASELINE} with this encoder as well."
    return note


def _seeds(counts: Sequence[int]) -> str:
    if len(counts) > 1:
        return f"{counts[0]} to {counts[-1]} seeds"
    return f"{counts[0]} seed{'s' if counts[0] > 1 else ''}"


def _encoder(result: Result) -> str:
    encoder = result["encoder"]
    changed = assignments(_different(encoder["params"], defaults(ENCODERS[encoder["name"]])))
    return f"{encoder['name']}({changed})" if changed else str(encoder["name"])


def _different(params: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if name not in usual or usual[name] != value}


def assignments(values: dict[str, Any]) -> str:
    """Return ``name=value`` pairs, separated by commas."""
    return ", ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in values.items()
    )
