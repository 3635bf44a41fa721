"""Augmented views of the training items, prepared for the network: made once, or anew for every epoch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from coterie.augmenters.augmenter import Augmenter, epoch_seed
from coterie.augmenters.columns import deduplicate_views
from coterie.contracts import Network, Prepared
from coterie.data.rows import Rows
from coterie.data.texts import Texts
from coterie.errors import InputError
from coterie.training.trainer import Views


def augmented_views(  # noqa: PLR0913
    augmenter: Augmenter, network: Network, rows: Rows[Any], original: Prepared, n_views: int, *, seed: int, fresh: bool
) -> Views:
    """Return a function from epochs to ``n_views`` prepared views; ``fresh``: other views in every epoch."""

    @lru_cache(maxsize=1)
    def views(epoch: int) -> list[Prepared]:
        made = augmenter.views(rows.unique, n_views, seed=epoch_seed(seed, epoch))
        return [original if view is rows.unique else network.prepare(view) for view in made]

    return views if fresh or augmenter.always_resample else lambda _: views(0)


def user_views(columns: Sequence[Any], network: Network, rows: Rows[Any], n_views: int) -> Views:
    """Return the user's own views, one column per view, for every epoch."""
    if not isinstance(rows, Texts):
        raise InputError("Views are texts; vectors (encoder='precomputed') and images have none.")
    prepared = [network.prepare(view) for view in deduplicate_views(columns, rows, n_views)]
    return lambda _: prepared


def identical_views(original: Prepared, n_views: int) -> Views:
    """Return the items themselves as views: precomputed vectors have no augmentation."""
    return lambda _: [original] * n_views
