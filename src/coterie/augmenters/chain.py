"""One augmenter after the other, e.g. contextual substitution and then CharSwap (SCCL, Fig. 5)."""

from __future__ import annotations

from coterie.augmenters.augmenter import Augmenter, Texts, make_augmenter
from coterie.augmenters.spec import split
from coterie.errors import InputError
from coterie.hyper import hyper


class ChainAugmenter(Augmenter, name="chain"):
    """Gives the views of one augmenter to the next: chain(contextual:0.1,chars:0.1)."""

    after_colon = in_brackets = "steps"

    steps: str = hyper("eda:0.2,chars:0.1", "the augmenters in turn, between commas; also chain(STEPS)")

    @property
    def augmenters(self) -> list[Augmenter]:
        """The augmenters in turn."""
        made = [make_augmenter(step) for step in split(self.steps, f"chain({self.steps})")]
        if given := [step.name for step in made if step.name == "given"]:
            raise InputError(f"chain({self.steps}): {given[0]!r} makes no views, so nothing can follow or precede it.")
        if other := [step for step in made if step.takes != self.takes]:
            raise InputError(f"chain({self.steps}): {other[0].name!r} makes views of {other[0].takes}, not of texts.")
        return made

    def rewrite(self, texts: Texts, number: int, *, seed: int) -> Texts:
        """Return what the last augmenter makes of what those before it made."""
        for place, augmenter in enumerate(self.augmenters):  # another seed for each: two equal steps do not agree
            texts = augmenter.view(texts, number, seed=seed + place)
        return texts

    def identity(self) -> str:
        """Return the identities of the steps."""
        return f"chain({', '.join(step.identity() for step in self.augmenters)})"
