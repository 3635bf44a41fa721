"""The text itself: the encoder's dropout is the noise (SimCSE, arXiv:2104.08821)."""

from __future__ import annotations

from coterie.augmenters.augmenter import Augmenter, Texts


class DropoutAugmenter(Augmenter, name="dropout"):
    """Leaves texts as they are; each pass through the encoder drops other numbers."""

    changes = False

    def view(self, texts: Texts, number: int, *, seed: int) -> Texts:
        """Return the texts themselves."""
        return texts

    def rewrite(self, texts: Texts, number: int, *, seed: int) -> Texts:
        """Return the texts themselves."""
        return texts
