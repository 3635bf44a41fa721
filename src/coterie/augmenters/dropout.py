"""The text itself: the encoder's dropout is the noise (SimCSE, arXiv:2104.08821)."""

from __future__ import annotations

from coterie.augmenters.augmenter import Augmenter, Texts


class DropoutAugmenter(Augmenter, name="dropout"):
    """Leaves texts as they are; each pass through the encoder drops other numbers."""

    def views(self, texts: Texts, n_views: int, *, seed: int) -> tuple[Texts, ...]:
        """Return the texts themselves."""
        return (texts,) * n_views
