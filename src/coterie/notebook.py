"""What notebooks show of a model: a table, an interactive map, and a figure for a paper."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from coterie.contracts import Labels
from coterie.data.sample import Sample, draw_sample
from coterie.describe.cluster_table import ClusterTable
from coterie.errors import InputError
from coterie.fitting import Assignment, most_probable
from coterie.wording import count

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class NotebookMixin:
    """Pictures of a fitted model. After ``fit`` there is ``sample_``: training items and their embeddings."""

    labels_: Labels
    confidence_: NDArray[np.float64]
    clusters_: ClusterTable
    sample_: Sample
    n_texts_: int

    def map(self, X: Any = None, *, column: str | None = None, with_texts: bool = True, height: int = 640) -> Picture:  # noqa: N803
        """Return the interactive map of a report, which notebooks show. ``.save(FILE)`` writes the page.

        ``X`` are the items to show; without them, those that the model was just fitted to. A saved model does not hold
        its items.
        """
        from coterie.report.notebook import map_page

        return Picture(map_page(cast(Any, self), X, column, with_texts=with_texts), height)

    def plot(self, X: Any = None, *, column: str | None = None, ax: Any = None) -> Figure:  # noqa: N803
        """Return a matplotlib figure of the map, for a paper; needs the extra ``report``. ``X`` is as in :meth:`map`.

        Clusters differ in color and marker and carry their names, so that color-blind readers can tell them apart.
        """
        from coterie.report.figure import draw_figure

        return draw_figure(cast(Any, self), X, column, ax)

    def assigned_sample(self, X: Any = None, *, column: str | None = None) -> tuple[Assignment, Sample]:  # noqa: N803
        """Return the assignment of items and a sample with their embeddings; without ``X``, of the training items."""
        model = cast(Any, self)
        model.fitted_objective()
        if X is None:
            if not hasattr(self, "sample_"):
                raise InputError("A saved model does not hold its items. Give them again, e.g. model.map(texts).")
            return model.assignment_, self.sample_
        rows, h = model._embed(X, column)
        found = most_probable(model.objective_, h, rows.unique).above(model.min_confidence).expand(rows)
        return found, draw_sample(rows, h, found.labels, found.confidence)

    def _repr_html_(self) -> str:
        """Return one line about the model and its table of clusters; scikit-learn's diagram before ``fit``."""
        if not hasattr(self, "clusters_"):
            return str(cast(Any, super())._repr_html_())
        line = f"{type(self).__name__}: {count(self.n_texts_, 'texts')} in {count(len(self.clusters_), 'clusters')}"
        return f"<p><b>{escape(line)}</b></p>\n{self.clusters_._repr_html_()}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


class Picture:
    """An HTML page that a notebook shows in a frame of its own."""

    def __init__(self, page: str, height: int) -> None:
        self.page, self.height = page, height

    def save(self, file: Any) -> None:
        """Write the page to a file."""
        from pathlib import Path

        from coterie.data.atomic import atomic_file

        with atomic_file(Path(file)) as temporary:
            temporary.write_text(self.page, encoding="utf-8")

    def __repr__(self) -> str:
        return f"A map of {len(self.page) / 1e6:.1f} MB; a notebook shows it, and .save('map.html') writes it."

    def _repr_html_(self) -> str:
        sandbox = "allow-scripts allow-downloads"  # the page cannot reach the notebook around it
        style = f"width:100%;height:{self.height}px;border:0"
        return f'<iframe sandbox="{sandbox}" style="{style}" srcdoc="{escape(self.page)}"></iframe>'
