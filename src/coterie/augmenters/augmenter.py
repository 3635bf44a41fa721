"""What every augmenter is: settings, and views of a text when asked."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, ClassVar, dataclass_transform

import numpy as np

from coterie.augmenters.cache import Recipe, kept
from coterie.augmenters.spec import parse
from coterie.contracts import Items, Kind
from coterie.errors import InputError
from coterie.hyper import check_settings, settings
from coterie.progress import track
from coterie.registry import Registry

Texts = Sequence[str]
_TOO_MANY = 0.9  # share of views that are the text itself above which the technique does not fit the texts
_A_STEP = 1000  # texts between two signs of progress
_ENOUGH = 10  # texts from which on that can be told


class UnchangedWarning(UserWarning):
    """Nearly all views are the texts themselves."""


@dataclass_transform(kw_only_default=True, eq_default=False)
@dataclass(kw_only=True, eq=False)
class Augmenter(ABC):
    """Makes other texts that say the same, or other images that show it."""

    name: ClassVar[str] = ""
    after_colon: ClassVar[str] = ""
    """The setting that ``"name:value"`` sets; empty when there is none."""
    in_brackets: ClassVar[str] = ""
    """The setting that ``"name(...)"`` sets as a whole; empty: there are ``setting=value`` between the brackets."""
    changes: ClassVar[bool] = True
    """Whether views are meant to differ from their texts."""
    takes: ClassVar[Kind] = "texts"
    """What it makes views of."""
    always_fresh: ClassVar[bool] = False
    """Whether new views are so quickly made that every epoch has its own."""

    def __init_subclass__(cls, *, name: str = "", **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclass(kw_only=True, eq=False)(cls)
        if name:
            cls.name = name
            AUGMENTERS.register(name, cls)

    def views(self, texts: Texts, n_views: int, *, seed: int) -> tuple[Texts, ...]:
        """Return ``n_views`` views, each as long as ``texts``; ``texts`` itself stands for "the same text"."""
        self.check(texts)
        views = tuple(self.view(texts, number, seed=seed) for number in range(n_views))
        same = sum(n_unchanged(texts, view) for view in views)
        if self.changes and len(texts) >= _ENOUGH and same > _TOO_MANY * len(texts) * n_views:
            warnings.warn(
                f"The augmenter {self.name!r} left {same:,} of {len(texts) * n_views:,} views as the texts are: it "
                "finds hardly a word it can change. Is it made for this language?",
                UnchangedWarning,
                stacklevel=2,
            )
        return views

    def check(self, items: Items) -> None:
        """Raise :class:`InputError` where it is given something else than it makes views of."""
        kind = "images" if isinstance(items, np.ndarray) else "texts"
        if kind != self.takes:
            raise InputError(f"The augmenter {self.name!r} makes views of {self.takes}, not of {kind}.")

    def view(self, texts: Texts, number: int, *, seed: int) -> Texts:
        """Return the view ``number`` (0, 1, ...) of every text, from the disk where it has been made before."""
        return kept(lambda: self._checked(texts, number, seed), Recipe(self.identity(), number, seed, texts))

    def _checked(self, texts: Texts, number: int, seed: int) -> list[str]:
        """Return a view of every text, a blank one replaced by the text itself."""
        views: list[str] = []
        with track("Augmenting", len(texts)) as advance:
            for text, view in zip(texts, self.rewrite(texts, number, seed=seed), strict=True):
                views.append(view if view and not view.isspace() else text)
                if not len(views) % _A_STEP:
                    advance(_A_STEP)
            advance(len(views) % _A_STEP)
        return views

    @abstractmethod
    def rewrite(self, texts: Texts, number: int, *, seed: int) -> Iterable[str]:
        """Yield the view ``number`` of each text in turn; each depends on its own text, ``number`` and ``seed``."""

    def identity(self) -> str:
        """Return what tells this augmenter from all others: its settings, and a hash of what they only name."""
        return repr(self)

    @property
    def spec(self) -> str:
        """What :func:`make_augmenter` makes an equal augmenter from."""
        changed = {s.name: getattr(self, s.name) for s in settings(type(self)) if getattr(self, s.name) != s.default}
        if not changed:
            return self.name
        if set(changed) == {self.after_colon} and self.after_colon != self.in_brackets:
            return f"{self.name}:{changed[self.after_colon]}"
        inside = changed[self.in_brackets] if self.in_brackets else ",".join(f"{k}={v}" for k, v in changed.items())
        return f"{self.name}({inside})"

    def params(self) -> dict[str, Any]:
        """Return the settings by name."""
        return {setting.name: getattr(self, setting.name) for setting in settings(type(self))}


AUGMENTERS: Registry[Augmenter] = Registry("augmenter", "coterie.augmenters")


def make_augmenter(spec: str | Augmenter) -> Augmenter:
    """Return an augmenter as it is, or from ``"name"``, ``"name:value"`` or ``"name(setting=value,...)"``."""
    if isinstance(spec, Augmenter):
        augmenter = spec
    else:
        name, given = parse(spec, AUGMENTERS)
        augmenter = AUGMENTERS[name](**given)
    check_settings(augmenter)
    return augmenter


def n_unchanged(texts: Texts, view: Texts) -> int:
    """Return how many views are the text itself."""
    return len(texts) if view is texts else sum(text == other for text, other in zip(texts, view, strict=True))


def epoch_seed(seed: int, epoch: int) -> int:
    """Return the seed of the views of an epoch, for those who want fresh ones each time; epoch 0 keeps ``seed``."""
    if epoch == 0:
        return seed
    return int.from_bytes(blake2b(f"{seed} {epoch}".encode(), digest_size=7).digest())
