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

    A text that occurs in several rows gets the views of one of them: the first in the order of the views, so that the
    order of the rows does not matter. A blank view becomes the text itself.
    """
    if len(views) != n_views:
        raise InputError(f"This method needs {n_views} views of each text, but {len(views)} are given.")
    columns = [check_texts(column) for column in views]
    for number, column in enumerate(columns, start=1):
        if column.n_rows != texts.n_rows:
            raise InputError(f"View {number} has {column.n_rows} rows, but there are {texts.n_rows} texts.")
    chosen: dict[int, tuple[int, ...]] = {}  # from a distinct text to the positions of its views
    for text, *positions in zip(texts.inverse.tolist(), *(column.inverse.tolist() for column in columns), strict=True):
        chosen[text] = min(chosen.get(text, tuple(positions)), tuple(positions))
    return tuple(
        [
            column.unique[chosen[i][number]] if chosen[i][number] >= 0 else text  # -1: the view is blank
            for i, text in enumerate(texts.unique)
        ]
        for number, column in enumerate(columns)
    )


def column_views(table: Any, augmenter: ColumnsAugmenter) -> list[Any]:
    """Return the columns of a data frame that the augmenter names."""
    names = list(getattr(table, "columns", []))
    if missing := [name for name in augmenter.names if name not in names]:
        raise InputError(
            f"The augmenter 'columns' needs the columns {', '.join(augmenter.names)}, but there is no {missing[0]!r}. "
            "Give a data frame that has them, or fit(texts, views=[first, second])."
        )
    return [list(table[name]) for name in augmenter.names]
