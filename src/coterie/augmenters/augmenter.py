"""What every augmenter is: settings, and views of a text when asked."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, ClassVar, dataclass_transform

from coterie.augmenters.cache import Recipe, kept
from coterie.augmenters.spec import parse
from coterie.errors import InputError
from coterie.hyper import check_settings, settings
from coterie.progress import track
from coterie.registry import Registry

Texts = Sequence[str]
_TOO_MANY = 0.9  # share of texts left as they are from which on the technique does not fit the texts


class UnchangedWarning(UserWarning):
    """Nearly all views are the texts themselves."""


@dataclass_transform(kw_only_default=True, eq_default=False)
@dataclass(kw_only=True, eq=False)
class Augmenter(ABC):
    """Makes other texts that say the same."""

    name: ClassVar[str] = ""
    after_colon: ClassVar[str] = ""
    """The setting that ``"name:value"`` sets; empty when there is none."""
    changes: ClassVar[bool] = True
    """Whether views are meant to differ from their texts."""

    def __init_subclass__(cls, *, name: str = "", **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclass(kw_only=True, eq=False)(cls)
        if name:
            cls.name = name
            AUGMENTERS.register(name, cls)

    def views(self, texts: Texts, n_views: int, *, seed: int) -> tuple[Texts, ...]:
        """Return ``n_views`` views, each as long as ``texts``; ``texts`` itself stands for "the same text"."""
        views = tuple(self.view(texts, number, seed=seed) for number in range(n_views))
        same = sum(n_unchanged(texts, view) for view in views)
        if self.changes and same and same > _TOO_MANY * len(texts) * n_views:
            warnings.warn(
                f"The augmenter {self.name!r} left {same:,} of {len(texts) * n_views:,} views as the texts are: it "
                "finds hardly a word it can change. Is it made for this language?",
                UnchangedWarning,
                stacklevel=2,
            )
        return views

    def view(self, texts: Texts, number: int, *, seed: int) -> Texts:
        """Return the view ``number`` (0, 1, ...) of every text, from the disk where it has been made before."""
        return kept(lambda: self._checked(texts, number, seed), Recipe(self.identity(), number, seed, texts))

    def _checked(self, texts: Texts, number: int, seed: int) -> list[str]:
        """Return a view of every text, a blank one replaced by the text itself."""
        views: list[str] = []
        with track("Augmenting", len(texts)) as advance:
            for text, view in zip(texts, self.rewrite(texts, number, seed=seed), strict=True):
                views.append(view if view and not view.isspace() else text)
                if not len(views) % 1000:
                    advance(1000)
        return views

    @abstractmethod
    def rewrite(self, texts: Texts, number: int, *, seed: int) -> Iterable[str]:
        """Yield the view ``number`` of each text in turn; each depends on its own text, ``number`` and ``seed``."""

    def identity(self) -> str:
        """Return what tells this augmenter from all others: its settings, and a hash of what they only name."""
        return repr(self)

    def params(self) -> dict[str, Any]:
        """Return the settings by name."""
        return {setting.name: getattr(self, setting.name) for setting in settings(type(self))}


AUGMENTERS: Registry[Augmenter] = Registry("augmenter", "coterie.augmenters")


def make_augmenter(spec: str | Augmenter) -> Augmenter:
    """Return an augmenter as it is, or from ``"name"``, ``"name:value"`` or ``"name(setting=value,...)"``."""
    if isinstance(spec, Augmenter):
        augmenter = spec
    else:
        name, value, inside = parse(spec)
        cls = AUGMENTERS[name]
        if value and not cls.after_colon:
            raise InputError(f"The augmenter {name!r} takes nothing after a colon, got {spec!r}.")
        augmenter = cls(**_values(cls, spec, value, inside))
    check_settings(augmenter)
    return augmenter


def _values(cls: type[Augmenter], spec: str, value: str, inside: list[str]) -> dict[str, Any]:
    """Return what ``spec`` sets, in the types that the settings declare."""
    declared = {setting.name: setting for setting in settings(cls)}
    given = [f"{cls.after_colon}={value}"] if value else inside
    values = {}
    for part in given:
        name, equals, text = part.partition("=")
        if not equals or name.strip() not in declared:
            raise InputError(
                f"{spec!r}: {part!r} is not a setting. The augmenter {cls.name!r} has the settings "
                f"{', '.join(declared) or '(none)'}; write {cls.name}(NAME=VALUE)."
            )
        values[name.strip()] = _read(text.strip(), declared[name.strip()], spec)
    return values


def _read(text: str, setting: Any, spec: str) -> Any:
    words = {"true": True, "false": False} if bool in setting.types else {}
    words |= {"none": None} if type(None) in setting.types else {}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        if kind in setting.types:
            try:
                return kind(text)
            except ValueError:
                continue
    if str in setting.types or text in setting.choices:
        return text
    raise InputError(f"{spec!r}: `{setting.name}` must be {setting.rule}, got {text!r}.")


def n_unchanged(texts: Texts, view: Texts) -> int:
    """Return how many views are the text itself."""
    return len(texts) if view is texts else sum(text == other for text, other in zip(texts, view, strict=True))


def epoch_seed(seed: int, epoch: int) -> int:
    """Return the seed of the views of an epoch, for those who want fresh ones each time; epoch 0 keeps ``seed``."""
    if epoch == 0:
        return seed
    return int.from_bytes(blake2b(f"{seed} {epoch}".encode(), digest_size=7).digest())
