"""From results to a table: a row a set, for every method its scores, its time and the published score."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coterie.benchmarks.jobs import Result, complete, defaults
from coterie.benchmarks.recipes import Published, published
from coterie.clusterer import METHODS
from coterie.data.datasets import SOURCES
from coterie.encoders.encoder import ENCODERS
from coterie.errors import InputError

BASELINE = "kmeans"
NONE = "–"
_EXPLAINED = (
    "Mean ± standard deviation over seeds, in percent; time is the median of fit, without encoding where nothing is "
    "trained."
)
_DISTANCES = ("silhouette", "intra_distance", "inter_distance")  # everything else is in percent


@dataclass
class Column:
    """The results of one method with one setting, by set."""

    method: str
    variant: str
    preset: str
    encoder: str  # its name, and the settings that are not the default
    overrides: str
    cells: dict[str, list[Result]] = field(default_factory=dict)
    left_out: int = 0

    def add(self, result: Result) -> None:
        """Take a result; one with other settings, or from the same seed, replaces what was there before."""
        there = self.cells.setdefault(result["set"], [])
        keep = [r for r in there if complete(r) == complete(result) and r["seed"] != result["seed"]]
        self.left_out += len(there) - len(keep)
        self.cells[result["set"]] = [*keep, result]


def make_table(results: Iterable[Result], metrics: Sequence[str] = ("acc", "nmi")) -> str:
    """Return the table in Markdown, with the settings, seeds and versions of every column below it."""
    results = list(results)
    there = {name: None for result in results for name in result["label_based"] | result.get("label_free", {})}
    if unknown := [metric for metric in metrics if metric not in there]:
        raise InputError(f"These results have no metric called {unknown[0]!r}. They have {', '.join(there)}.")
    columns = _columns(results)
    sets = [name for name in SOURCES if any(name in column.cells for column in columns)]
    parts: list[list[str]] = [["set", *sets], *_sizes(columns, sets)]
    for column, name in zip(columns, _names(columns), strict=True):
        parts.append([f"{name} {' / '.join(metric.upper() for metric in metrics)}"])
        parts[-1] += [_scores(column.cells.get(dataset, []), metrics) for dataset in sets]
        parts.append(["time", *(_time(column.cells.get(dataset, [])) for dataset in sets)])
        scores = [published(column.method, dataset) for dataset in sets]
        if any(scores) and column is next(other for other in columns if other.method == column.method):
            parts.append(["published", *(_printed(score, metrics) for score in scores)])
    rows = ["| " + " | ".join(row) + " |" for row in zip(*parts, strict=True)]
    rows.insert(1, "|---|" + "--:|" * (len(parts) - 1))
    return "\n".join([*rows, "", *_notes(columns, results)])


def _columns(results: Iterable[Result]) -> list[Column]:
    """Return the columns: by encoder, its k-means first."""
    found: dict[tuple[str, ...], Column] = {}
    for result in results:
        variant = ", ".join(filter(None, [result["variant"], "test part" if result.get("split") else ""]))
        key = (result["method"], variant, result["preset"], _encoder(result), _changed(result["overrides"]))
        found.setdefault(key, Column(*key)).add(result)
    encoders = list(dict.fromkeys(column.encoder for column in found.values()))
    return sorted(found.values(), key=lambda column: (encoders.index(column.encoder), column.method != BASELINE))


def _names(columns: Sequence[Column]) -> list[str]:
    """Return what tells the columns apart, and no more."""
    presets, encoders = ({getattr(column, key) for column in columns} for key in ("preset", "encoder"))
    names = []
    for column in columns:
        parts = [column.method, *([column.variant] if column.variant else [])]
        parts += [column.preset] if len(presets) > 1 else []
        parts += [column.encoder] if len(encoders) > 1 else []
        names.append(", ".join([*parts, *([column.overrides] if column.overrides else [])]))
    return names


def _sizes(columns: Sequence[Column], sets: Sequence[str]) -> list[list[str]]:
    first = [next(column.cells[name][0] for column in columns if name in column.cells) for name in sets]
    return [["N", *(str(result["n"]) for result in first)], ["K", *(str(result["k"]) for result in first)]]


def _scores(results: Sequence[Result], metrics: Sequence[str]) -> str:
    return " / ".join(_score(results, metric) for metric in metrics) if results else NONE


def _score(results: Sequence[Result], metric: str) -> str:
    known = [value for result in results if (value := _value(result, metric)) is not None]
    if not known:
        return NONE
    digits, factor = (3, 1) if metric in _DISTANCES else (1, 100)
    values = factor * np.array(known)
    spread = f" ± {values.std():.{digits}f}" if len(known) > 1 else ""
    return f"{values.mean():.{digits}f}{spread}"


def _value(result: Result, metric: str) -> float | None:
    value: float | None = (result["label_based"] | result.get("label_free", {})).get(metric)
    return value


def _time(results: Sequence[Result]) -> str:
    if not results:
        return NONE
    seconds = float(np.median([result["seconds"] for result in results]))  # a run beside other work counts less
    return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s" if seconds < 99.5 else f"{seconds / 60:.0f} min"


def _printed(score: Published | None, metrics: Sequence[str]) -> str:
    known = {} if score is None else {"acc": score.acc, "nmi": score.nmi}
    return " / ".join(f"{known[m]:.1f}" if m in known else NONE for m in metrics) if known else NONE


def _notes(columns: Sequence[Column], results: Iterable[Result]) -> list[str]:
    lines = [_EXPLAINED, ""]
    for column, name in zip(columns, _names(columns), strict=True):
        cells = [result for cell in column.cells.values() for result in cell]
        seeds = sorted({len(cell) for cell in column.cells.values()})
        changed = sorted({_changed(_beyond(r["params"], defaults(METHODS[r["method"]]))) for r in cells})
        settings = changed[0] or "defaults" if len(changed) == 1 else "settings by set"
        lines.append(f"- {name}: preset {column.preset}, {column.encoder}; {settings}; {_seeds(seeds)}.")
        sources = dict.fromkeys(
            score.source for dataset in column.cells if (score := published(column.method, dataset))
        )
        lines[-1] += f" Published: {'; '.join(sources)}." if sources else ""
        if column.left_out:
            lines[-1] += f" {column.left_out} older results, replaced or with other settings, are left out."
        if not any(c.method == BASELINE and c.encoder == column.encoder for c in columns):
            lines[-1] += f" Not compared: run {BASELINE} with this encoder as well."
    versions = {", ".join(f"{k} {v}" for k, v in result.get("versions", {}).items()): None for result in results}
    return [*lines, "", *(f"Versions: {text}" for text in versions)]


def _seeds(counts: Sequence[int]) -> str:
    return f"{counts[0]} seed{'s' * (counts[0] > 1)}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"


def _encoder(result: Result) -> str:
    told = result["encoder"]
    changed = _changed(_beyond(told["params"], defaults(ENCODERS[told["name"]])))
    return f"{told['name']}({changed})" if changed else str(told["name"])


def _beyond(params: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if name not in usual or usual[name] != value}


def _changed(values: dict[str, Any]) -> str:
    return ", ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in values.items()
    )
