"""The map of a model as a matplotlib figure: for a paper, in color, in gray, and for color-blind readers."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coterie.errors import MissingExtraError
from coterie.report.colors import assign_colors
from coterie.report.layout import layout
from coterie.report.recount import recount

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    from coterie.clusterer import Clusterer

# Okabe and Ito's palette without yellow and black (https://jfly.uni-koeln.de/color/), which color-blind readers can
# tell apart; markers tell apart clusters of equal color.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#666666")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_SIZE = (7.0, 5.0)  # inches: two columns of a paper
_MAX_NAME = 28


def draw_figure(model: Clusterer, X: Any, column: str | None, ax: Any = None) -> Figure:  # noqa: N803
    """Draw the items ``X``, or the training items, on ``ax`` or on a new figure, and return the figure."""
    try:
        from matplotlib import patheffects
    except ImportError:
        raise MissingExtraError("model.plot()", "report") from None
    assignment, sample = model.assigned_sample(X, column=column)
    table = recount(model.describe(), assignment)
    labels = assignment.labels[sample.rows]
    xy, algorithm = layout(sample.h)
    if ax is None:
        ax = _new_figure().add_subplot()
    centers = np.stack([_center(xy[labels == row.cluster]) for row in table])
    halo = [patheffects.withStroke(linewidth=2.5, foreground="white")]
    size = float(np.clip(9_000 / max(len(xy), 1), 3, 18))
    used: dict[int, int] = {}
    names: list[Text] = []
    for row, color, center in zip(table, assign_colors(centers, len(COLORS)), centers, strict=True):
        members = labels == row.cluster
        marker = _MARKERS[used.get(color, 0) % len(_MARKERS)]
        used[color] = used.get(color, 0) + 1
        ax.scatter(*xy[members].T, s=size, color=COLORS[color], marker=marker, linewidths=0, alpha=0.75, label=row.name)
        if members.any():
            style = {"ha": "center", "va": "center", "fontsize": 7.5, "fontweight": "bold", "path_effects": halo}
            names.append(ax.text(*center, _short(row.name), **style))
    ax.set(xticks=[], yticks=[], aspect="equal")
    ax.set_xlabel(f"{len(xy):,} items, {algorithm}", fontsize=7, color="#666666")
    for side in ax.spines.values():
        side.set_color("#cccccc")
    drawn: Figure = ax.get_figure()
    _move_apart(drawn, ax, names)
    return drawn


def _move_apart(figure: Figure, ax: Any, labels: list[Text]) -> None:
    """Move labels down, from the top of the figure, until none covers another."""
    figure.draw_without_rendering()  # places the axes
    placed: list[Any] = []
    for label in sorted(labels, key=lambda label: -float(label.get_position()[1])):
        box = label.get_window_extent()
        while covered := [other for other in placed if other.overlaps(box)]:
            box = box.translated(0, min(other.y0 for other in covered) - box.y1 - 1)
        placed.append(box)
        label.set_position(ax.transData.inverted().transform(((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)))


def _new_figure() -> Figure:
    """Return a figure that a notebook shows as a picture, also where pyplot is not imported."""
    import matplotlib.figure

    class PictureFigure(matplotlib.figure.Figure):
        def _repr_png_(self) -> bytes:
            stream = io.BytesIO()
            self.savefig(stream, format="png", dpi=120)
            return stream.getvalue()

    return PictureFigure(figsize=_SIZE, layout="constrained")


def _center(xy: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the item nearest to the median; clusters without items are far away from all others."""
    if not len(xy):
        return np.full(2, 1e9)
    distance = np.linalg.norm(xy - np.median(xy, axis=0), axis=1)
    center: NDArray[np.float64] = xy[distance.argmin()].astype(np.float64)
    return center


def _short(name: str) -> str:
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…"
