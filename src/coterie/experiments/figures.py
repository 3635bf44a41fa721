"""The figure of an experiment, as PNG and SVG, in colors for color-blind readers (Okabe and Ito, 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.data.atomic import atomic_file
from coterie.errors import InputError
from coterie.experiments.collection import Collection, Row
from coterie.experiments.jobs import Result
from coterie.experiments.table import all_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#F0E442")
_MANY = 40  # points of a curve, which then has no markers
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
    makers = {"scores": _dots, "sweep": _sweep, "curve": _curves, "map": _maps}
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
            kind = path.suffix[1:]
            with atomic_file(path) as temporary:
                figure.savefig(temporary, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
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


def _dots(found: Collection) -> Figure:
    """Scores by data set, a line for each row that has one; the bar of a mark is the standard deviation over seeds."""
    found = found.matched()
    rows = [row for row, cells in found.cells.items() if cells]
    metrics, sets = found.experiment.metrics[:2], found.sets
    lines = [(name, row) for name in sets for row in rows if found.cells[row].get(name)]
    places = {line: place for place, line in enumerate(lines)}
    figure, panels = _panels(len(metrics), width=3.3, height=0.6 + 0.14 * len(lines), columns=2)
    for metric, axes in zip(metrics, panels, strict=True):
        for number, row in enumerate(rows):
            own = [name for name in sets if (name, row) in places]
            scores = [_scores(found.cells[row][name], metric) for name in own]
            axes.errorbar(
                [_mean(values) for values in scores], [places[name, row] for name in own],
                xerr=[_spread(values) for values in scores], label=row, linestyle="none", elinewidth=0.8,
                markersize=5, markeredgecolor="#333333", markeredgewidth=0.4, **_look(number),
            )  # fmt: skip
        of_sets = [[place for (name, _), place in places.items() if name == wanted] for wanted in sets]
        for block in of_sets[1:]:
            axes.axhline(block[0] - 0.5, color="#DDDDDD", linewidth=0.6, zorder=0)
        axes.set_yticks([_mean(block) for block in of_sets], sets if axes is panels[0] else [])
        axes.set_ylim(len(lines) - 0.3, -0.7)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", color="#EEEEEE", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.set_xlabel(_label(metric))
        axes.set_xlim(*_widened(axes.get_xlim(), _least_span(metric)))
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
                markersize=4, linewidth=1.2, **_look(place),
            )  # fmt: skip
        axes.set_xticks(range(len(rows)), values)
        axes.set_xlabel(rows[0].partition(" ")[2].partition("=")[0])
        axes.set_ylabel(_label(metric))
    panels[0].legend()
    return figure


def _curves(found: Collection) -> Figure:
    """Scores over the steps: a panel for each metric and data set, a line for each row."""
    shown = [(name, metric) for name in found.sets for metric in found.experiment.metrics]
    rows = [row for row, cells in found.cells.items() if cells]
    columns = len(found.experiment.metrics) if len(found.experiment.metrics) > 1 else 3
    figure, panels = _panels(len(shown), width=2.6, height=2.1, columns=columns)
    for (name, metric), axes in zip(shown, panels, strict=True):
        for place, row in enumerate(rows):
            for result in found.cells[row].get(name, []):
                points = [p for p in result.get("curve", []) if p.get(metric) is not None]
                factor = 1 if metric in _UNITLESS else 100
                axes.plot(
                    [p["step"] for p in points], [factor * p[metric] for p in points], label=row,
                    linestyle=_DASHES[place % 4], markersize=3 if len(points) < _MANY else 0, **_look(place),
                )  # fmt: skip
        axes.set_title(name if len(rows) > 1 else f"{rows[0]}, {name}")
        axes.set_xlabel("step")
        axes.set_ylabel(_label(metric))
        axes.set_ylim(*_widened(axes.get_ylim(), _least_span(metric)))
    handles, labels = _unique([panel.get_legend_handles_labels() for panel in panels])
    if len(labels) > 1:
        figure.legend(handles, labels, loc="outside upper center", ncols=4)
    return figure


def _widened(limits: tuple[float, float], span: float) -> tuple[float, float]:
    """Return limits of an axis that show at least ``span``, so that small differences do not look large."""
    low, high = limits
    missing = max(span - (high - low), 0) / 2
    return low - missing, high + missing


def _least_span(metric: str) -> float:
    return 0.05 if metric in _UNITLESS else 5.0


def _maps(found: Collection) -> Figure:
    """Items in two dimensions by t-SNE, colored by true class: a panel for each run."""
    several = len(found.sets) > 1
    shown = [
        (f"{row}, {name}" if several else row, cells[name][0]["map"])
        for row, cells in found.cells.items()
        for name in cells
    ]
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


def _look(place: int) -> dict[str, Any]:
    """Return color and marker of a row: a pair of its own for each of 64 rows."""
    turn, number = divmod(place, len(COLORS))
    return {"color": COLORS[number], "marker": _MARKERS[(number + turn) % len(_MARKERS)]}


def _unique(legends: Sequence[tuple[list[Any], list[Row]]]) -> tuple[list[Any], list[Row]]:
    """Return each line of the panels' legends once: seeds share a row."""
    by_row = {row: line for lines, rows in legends for line, row in zip(lines, rows, strict=True)}
    return list(by_row.values()), list(by_row)
