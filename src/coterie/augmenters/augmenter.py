"""What every augmenter is: settings, and views of a text when asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, dataclass_transform

from coterie.errors import InputError
from coterie.hyper import check_settings, settings
from coterie.registry import Registry

Texts = Sequence[str]


@dataclass_transform(kw_only_default=True, eq_default=False)
@dataclass(kw_only=True, eq=False)
class Augmenter(ABC):
    """Makes other texts that say the same."""

    name: ClassVar[str] = ""
    after_colon: ClassVar[str] = ""
    """The setting that ``"name:value"`` sets; empty when there is none."""

    def __init_subclass__(cls, *, name: str = "", **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclass(kw_only=True, eq=False)(cls)
        if name:
            cls.name = name
            AUGMENTERS.register(name, cls)

    @abstractmethod
    def views(self, texts: Texts, n_views: int, *, seed: int) -> tuple[Texts, ...]:
        """Return ``n_views`` views, each as long as ``texts``; ``texts`` itself stands for "the same text"."""

    def params(self) -> dict[str, Any]:
        """Return the settings by name."""
        return {setting.name: getattr(self, setting.name) for setting in settings(type(self))}


AUGMENTERS: Registry[Augmenter] = Registry("augmenter", "coterie.augmenters")


def make_augmenter(spec: str | Augmenter) -> Augmenter:
    """Return an augmenter from ``"name"``, ``"name:value"``, or as it is."""
    if isinstance(spec, Augmenter):
        augmenter = spec
    else:
        name, _, value = spec.partition(":")
        cls = AUGMENTERS[name]
        if value and not cls.after_colon:
            raise InputError(f"The augmenter {name!r} takes nothing after a colon, got {spec!r}.")
        augmenter = cls(**{cls.after_colon: value}) if value else cls()
    check_settings(augmenter)
    return augmenter
