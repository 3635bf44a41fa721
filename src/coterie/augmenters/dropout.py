"""Unchanged texts as views: the encoder's dropout is the only noise (SimCSE, arXiv:2104.08821)."""

from __future__ import annotations

from collections.abc import Sequence

from coterie.augmenters.augmenter import Augmenter


class DropoutAugmenter(Augmenter, name="dropout"):
    """Leaves texts unchanged; views differ only by the encoder's dropout."""

    changes_input = False
    is_random = False

    def view(self, texts: Sequence[str], view_index: int, *, seed: int) -> Sequence[str]:
        """Return ``texts`` itself, without a copy in the cache."""
        return texts

    def make_view(self, texts: Sequence[str], view_index: int, *, seed: int) -> Sequence[str]:
        """Return ``texts`` itself."""
        return texts
