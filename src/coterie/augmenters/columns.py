"""Views that the user supplies, e.g. translations, or the files published with a paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coterie.augmenters.augmenter import Augmenter
from coterie.data.texts import Texts, check_texts
from coterie.errors import InputError
from coterie.hyper import hyper


class ColumnsAugmenter(Augmenter, name="columns"):
    """Takes the views from columns of the table that holds the texts."""

    main_setting = "columns"
    makes_views = False

    columns: str = hyper("text1,text2", "columns with the views, separated by commas; also columns:COLUMNS")

    @property
    def names(self) -> list[str]:
        """The column names."""
        return [name.strip() for name in self.columns.split(",") if name.strip()]

    def make_view(self, texts: Sequence[str], view_index: int, *, seed: int) -> Sequence[str]:
        """Raise :class:`InputError`: the user supplies the views, and :func:`deduplicate_views` reads them."""
        raise InputError(
            "The augmenter 'columns' needs views: fit(texts, views=[first, second]), or a data frame with the "
            f"columns {', '.join(self.names)}."
        )


def deduplicate_views(views: Sequence[Any], texts: Texts, n_views: int) -> tuple[list[str], ...]:
    """Return the user's views, each with one entry for each distinct text.

    Args:
        views: ``n_views`` columns, each with one entry for each row of the table.
        texts: the texts of the table.
        n_views: how many views the method needs.

    A text that occurs in several rows gets the views of its first row. A blank view becomes the text itself.
    """
    if len(views) != n_views:
        raise InputError(f"This method needs {n_views} views of each text, but {len(views)} are given.")
    first_rows: dict[int, int] = {}  # from a distinct text to its first row
    for row, position in enumerate(texts.inverse.tolist()):
        first_rows.setdefault(position, row)
    deduplicated = []
    for number, column in enumerate(views, start=1):
        checked = check_texts(column)
        if checked.n_rows != texts.n_rows:
            raise InputError(f"View {number} has {checked.n_rows} rows, but there are {texts.n_rows} texts.")
        positions = [int(checked.inverse[first_rows[i]]) for i in range(len(texts.unique))]
        deduplicated.append(
            [
                checked.unique[position] if position >= 0 else texts.unique[i]  # -1: the view is blank
                for i, position in enumerate(positions)
            ]
        )
    return tuple(deduplicated)
