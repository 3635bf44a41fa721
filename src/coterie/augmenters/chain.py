"""Several augmenters in sequence, e.g. contextual substitution and then CharSwap (SCCL, Fig. 5)."""

from __future__ import annotations

from collections.abc import Sequence

from coterie.augmenters.augmenter import Augmenter, make_augmenter
from coterie.errors import InputError
from coterie.hyper import hyper
from coterie.spec import split


class ChainAugmenter(Augmenter, name="chain"):
    """Applies several augmenters in sequence, each to the views of the one before: chain(contextual:0.1,chars:0.1)."""

    main_setting = "steps"
    list_setting = "steps"

    steps: str = hyper("eda:0.2,chars:0.1", "the augmenters in order, separated by commas; also chain(STEPS)")

    @property
    def augmenters(self) -> list[Augmenter]:
        """The augmenters in order."""
        augmenters = [make_augmenter(step) for step in split(self.steps, self.spec)]
        for augmenter in augmenters:
            if not augmenter.makes_views:
                raise InputError(f"{self.spec}: {augmenter.name!r} makes no views, so it cannot be part of a chain.")
            if augmenter.input_type != self.input_type:
                raise InputError(
                    f"{self.spec}: {augmenter.name!r} makes views of {augmenter.input_type}, not of {self.input_type}."
                )
        return augmenters

    def make_view(self, texts: Sequence[str], view_index: int, *, seed: int) -> Sequence[str]:
        """Return the view that the last augmenter makes."""
        for offset, augmenter in enumerate(self.augmenters):  # a seed for each step, so that equal steps draw anew
            texts = augmenter.view(texts, view_index, seed=seed + offset)
        return texts

    def fingerprint(self) -> str:
        """Return the fingerprints of the steps."""
        return f"chain({', '.join(step.fingerprint() for step in self.augmenters)})"
