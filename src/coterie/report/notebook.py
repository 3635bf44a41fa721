"""The map of a model for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coterie.report.build import Items, make_report
from coterie.report.page import render
from coterie.report.recount import recount

if TYPE_CHECKING:
    from coterie.clusterer import Clusterer


def map_page(model: Clusterer, X: Any, column: str | None, *, with_texts: bool) -> str:  # noqa: N803
    """Return the page with the map of ``X``, or of the training items."""
    assignment, sample = model.assigned_sample(X, column=column)
    table = recount(model.describe(), assignment)
    title = f"{type(model).__name__}, {len(table)} clusters"
    return render(make_report(model, Items(assignment, sample), table, title=title, with_texts=with_texts), view="map")
