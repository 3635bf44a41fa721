"""The figure of an experiment, as PNG and SVG, in colors for color-blind readers (Okabe and Ito, 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.errors import InputError
from coterie.experiments.collection import Collection, Row
from coterie.experiments.jobs import Result
from coterie.experiments.table import all_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#F0E442")
_MARKERS = "osD^vPX*"  # a second way to tell lines apart
_DASHES = ("-", "--", ":", "-.")
_UNITLESS = ("silhouette", "dunn", "ns", "ps", "same_class_cosine", "intra", "inter", "intra_true", "inter_true")
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "legend.frameon": False,
}


def draw(found: Collection, folder: Path) -> list[Path]:
    """Draw the figure of an experiment into ``folder``, and return the two files."""
    makers = {"scores": _bars, "sweep": _sweep, "curve": _curves, "map": _maps}
    experiment = found.experiment
    if experiment.kind not in makers:
        raise InputError(f"{experiment.name} has no figure: coterie bench table {experiment.name}")
    if not found.results:
        raise InputError(
            f"There are no results of {experiment.name} yet. To compute them: coterie bench run {experiment.name}"
        )
    try:
        import matplotlib as mpl
    except ImportError:
        raise InputError("Figures need matplotlib: pip install 'coterie[report]'") from None
    with mpl.rc_context(_STYLE | {"svg.hashsalt": experiment.name}):
        figure = makers[experiment.kind](found)
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{experiment.name}.{kind}" for kind in ("png", "svg")]
        for path in paths:
            figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    return paths


def _panels(n: int, *, width: float = 3.4, height: float = 2.7, columns: int = 3) -> tuple[Figure, list[Axes]]:
    """Return a figure with ``n`` panels; it is never shown on a screen."""
    from matplotlib.figure import Figure

    across = min(n, columns)
    down = -(-n // across)
    figure = Figure(figsize=(width * across + 0.4, height * down + 0.4), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).flatten().tolist()
    for empty in panels[n:]:
        empty.remove()
    return figure, panels[:n]


def _bars(found: Collection) -> Figure:
    """Scores by data set, a bar for each row; the line on a bar is the standard deviation over seeds."""
    found = found.matched()
    rows = [row for row, cells in found.cells.items() if cells]
    metrics, sets = found.experiment.metrics[:2], found.sets
    figure, panels = _panels(len(metrics), width=max(3.4, 0.5 + len(sets) * max(0.95, 0.16 * len(rows))), columns=1)
    width = 0.8 / len(rows)
    for metric, axes in zip(metrics, panels, strict=True):
        for place, row in enumerate(rows):
            values = [_scores(found.cells[row].get(name, []), metric) for name in sets]
            x = np.arange(len(sets)) + (place - (len(rows) - 1) / 2) * width
            axes.bar(
                x, [_mean(v) for v in values], width * 0.92, yerr=[_spread(v) for v in values], label=row,
                color=COLORS[place % len(COLORS)], edgecolor="#333333", linewidth=0.4, error_kw={"elinewidth": 0.8},
            )  # fmt: skip
        axes.set_xticks(range(len(sets)), sets)
        axes.set_ylabel(_label(metric))
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center")
    return figure


def _sweep(found: Collection) -> Figure:
    """Scores over the values of a grid: a panel for each run and metric, a line for each data set."""
    runs = list(dict.fromkeys(row.partition(" ")[0] for row, cells in found.cells.items() if cells))
    shown = [(run, metric) for run in runs for metric in found.experiment.metrics[:2]]
    figure, panels = _panels(len(shown), columns=4 if len(shown) > 3 else 2)
    for (run, metric), axes in zip(shown, panels, strict=True):
        rows = [row for row in found.cells if row.startswith(f"{run} ")]
        values = [row.partition("=")[2] for row in rows]
        for place, name in enumerate(found.sets):
            scores = [_scores(found.cells[row].get(name, []), metric) for row in rows]
            known = [i for i, score in enumerate(scores) if score]
            axes.errorbar(
                known, [_mean(scores[i]) for i in known], yerr=[_spread(scores[i]) for i in known], label=name,
                color=COLORS[place], marker=_MARKERS[place], markersize=4, linewidth=1.2,
            )  # fmt: skip
        axes.set_xticks(range(len(rows)), values)
        axes.set_xlabel(rows[0].partition(" ")[2].partition("=")[0])
        axes.set_ylabel(_label(metric))
    panels[0].legend()
    return figure


def _curves(found: Collection) -> Figure:
    """Scores over the steps: a panel for each metric and data set, a line for each row."""
    shown = [(name, metric) for name in found.sets for metric in found.experiment.metrics]
    columns = len(found.experiment.metrics) if len(found.experiment.metrics) > 1 else 3
    figure, panels = _panels(len(shown), width=2.6, height=2.1, columns=columns)
    for (name, metric), axes in zip(shown, panels, strict=True):
        for place, (row, cells) in enumerate(found.cells.items()):
            for result in cells.get(name, []):
                points = [p for p in result.get("curve", []) if p.get(metric) is not None]
                factor = 1 if metric in _UNITLESS else 100
                axes.plot(
                    [p["step"] for p in points], [factor * p[metric] for p in points], label=row,
                    color=COLORS[place], linestyle=_DASHES[place % 4], marker=_MARKERS[place], markersize=3,
                )  # fmt: skip
        axes.set_title(name)
        axes.set_xlabel("step")
        axes.set_ylabel(_label(metric))
    if len(found.cells) > 1:
        panels[0].legend(*_unique(panels[0].get_legend_handles_labels()))
    return figure


def _maps(found: Collection) -> Figure:
    """Items in two dimensions by t-SNE, colored by true class: a panel for each run."""
    shown = [(row, cells[name][0]["map"]) for row, cells in found.cells.items() for name in cells]
    figure, panels = _panels(len(shown), width=3.2, height=3.2, columns=2)
    for (row, places), axes in zip(shown, panels, strict=True):
        labels = np.array(places["labels"])
        for label in np.unique(labels):
            here = labels == label
            axes.scatter(
                np.array(places["x"])[here], np.array(places["y"])[here], s=7, linewidths=0,
                color=COLORS[label % len(COLORS)], marker=_MARKERS[label // len(COLORS) % len(_MARKERS)],
            )  # fmt: skip
        axes.set_title(row)
        axes.set_xticks([])
        axes.set_yticks([])
    return figure


def _scores(results: Sequence[Result], metric: str) -> list[float]:
    scores = [all_scores(result).get(metric) for result in results]
    return [(1 if metric in _UNITLESS else 100) * score for score in scores if score is not None]


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0


def _spread(values: Sequence[float]) -> float:
    return float(np.std(values)) if values else 0.0


def _label(metric: str) -> str:
    return metric.replace("_", " ") if metric in _UNITLESS else f"{metric.replace('_', ' ').upper()}, %"


def _unique(legend: tuple[list[Any], list[Row]]) -> tuple[list[Any], list[Row]]:
    """Return each line of a legend once: seeds share a row."""
    by_row = dict(zip(legend[1], legend[0], strict=True))
    return list(by_row.values()), list(by_row)
