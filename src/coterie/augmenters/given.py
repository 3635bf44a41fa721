"""Views that the user brings, e.g. translations or the files that came with a paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coterie.augmenters.augmenter import Augmenter, Texts
from coterie.data.texts import Texts as CleanTexts
from coterie.data.texts import check_texts
from coterie.errors import InputError
from coterie.hyper import hyper


class GivenAugmenter(Augmenter, name="given"):
    """Takes the views from columns of the table that holds the texts."""

    after_colon = "columns"

    columns: str = hyper("text1,text2", "names of the columns with the views, between commas; also given:COLUMNS")

    @property
    def names(self) -> list[str]:
        """The columns."""
        return [name.strip() for name in self.columns.split(",") if name.strip()]

    def rewrite(self, texts: Texts, number: int, *, seed: int) -> Texts:
        """Refuse: the views are the user's, and :func:`from_rows` reads them."""
        raise InputError(
            "The augmenter 'given' needs views: fit(texts, views=[first, second]), or a data frame with the "
            f"columns {', '.join(self.names)}."
        )


def from_rows(rows: Sequence[Any], texts: CleanTexts, n_views: int) -> tuple[Texts, ...]:
    """Return for each distinct text the views that stand in its first row; a blank view becomes the text itself."""
    if len(rows) != n_views:
        raise InputError(f"This method needs {n_views} views of each text, but {len(rows)} are given.")
    first: dict[int, int] = {}
    for row, position in enumerate(texts.inverse.tolist()):
        first.setdefault(position, row)
    views = []
    for number, column in enumerate(rows, start=1):
        clean = check_texts(column)
        if clean.n_rows != texts.n_rows:
            raise InputError(f"View {number} has {clean.n_rows} rows, but there are {texts.n_rows} texts.")
        places = [int(clean.inverse[first[i]]) for i in range(len(texts.unique))]
        views.append([clean.unique[place] if place >= 0 else texts.unique[i] for i, place in enumerate(places)])
    return tuple(views)
