"""The base class of all augmenters, their registry, and :func:`make_augmenter`."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, ClassVar, dataclass_transform

import numpy as np

from coterie.augmenters.view_cache import ViewKey, load_or_make
from coterie.contracts import InputType, Items
from coterie.errors import InputError, UnchangedWarning, user_level
from coterie.hyper import check_settings, document_settings, settings
from coterie.progress import track
from coterie.registry import Registry
from coterie.spec import format_spec, parse

_MAX_UNCHANGED = 0.9  # warn when a larger share of the views equals their texts
_MIN_TEXTS_TO_WARN = 10  # with fewer texts that share says little
_PROGRESS_STEP = 1000  # texts between two progress updates


@dataclass_transform(kw_only_default=True, eq_default=False)
@dataclass(kw_only=True, eq=False)
class Augmenter(ABC):
    """Makes views: changed versions of texts, or of images, that keep the meaning.

    A subclass with ``name=`` is registered under that name. Its settings are fields declared with
    :func:`coterie.hyper.hyper`. An augmenter of texts implements :meth:`make_view`; one of images also overrides
    :meth:`views` and :meth:`view`, which here cache views of texts.
    """

    name: ClassVar[str] = ""
    main_setting: ClassVar[str] = ""
    """The setting that ``"name:value"`` sets; empty when there is none."""
    list_setting: ClassVar[str] = ""
    """The setting that gets everything between the brackets of ``"name(...)"``; empty: ``setting=value`` pairs."""
    input_type: ClassVar[InputType] = "texts"
    """What it makes views of."""
    changes_input: ClassVar[bool] = True
    """Whether views are meant to differ from their texts."""
    is_random: ClassVar[bool] = True
    """Whether views depend on the seed."""
    makes_views: ClassVar[bool] = True
    """False when the user supplies the views."""
    always_resample: ClassVar[bool] = False
    """Whether training gets new views in every epoch, whatever its setting ``resample_views`` is."""

    def __init_subclass__(cls, *, name: str = "", **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclass(kw_only=True, eq=False)(cls)
        document_settings(cls)
        if name:
            cls.name = name
            AUGMENTERS.register(name, cls)

    def views(self, texts: Sequence[str], n_views: int, *, seed: int) -> tuple[Sequence[str], ...]:
        """Return ``n_views`` views, each with one text for each of ``texts``.

        A view may be the object ``texts`` itself, when nothing is changed.
        """
        self.check_input_type(texts)
        views = tuple(self.view(texts, view_index, seed=seed) for view_index in range(n_views))
        if self.changes_input:
            self._warn_if_unchanged(texts, views)
        return views

    def check_input_type(self, items: Items) -> None:
        """Raise :class:`InputError` if ``items`` are not what it makes views of."""
        input_type = "images" if isinstance(items, np.ndarray) else "texts"
        if input_type != self.input_type:
            raise InputError(f"The augmenter {self.name!r} makes views of {self.input_type}, not of {input_type}.")

    def view(self, texts: Sequence[str], view_index: int, *, seed: int) -> Sequence[str]:
        """Return view number ``view_index`` (0, 1, ...) of every text, from the cache if it is there."""
        key = ViewKey(self.fingerprint(), view_index, seed, texts)
        return load_or_make(lambda: self._make_view_with_progress(texts, view_index, seed), key)

    @abstractmethod
    def make_view(self, texts: Sequence[str], view_index: int, *, seed: int) -> Iterable[str]:
        """Yield view number ``view_index`` of each text; it depends only on that text, the index and ``seed``."""

    def fingerprint(self) -> str:
        """Return what identifies this augmenter in the cache: its settings, and a hash of files that they name."""
        return repr(self)

    @property
    def spec(self) -> str:
        """The shortest spec from which :func:`make_augmenter` makes an equal augmenter."""
        return format_spec(self)

    def params(self) -> dict[str, Any]:
        """Return the settings by name."""
        return {setting.name: getattr(self, setting.name) for setting in settings(type(self))}

    def _make_view_with_progress(self, texts: Sequence[str], view_index: int, seed: int) -> list[str]:
        """Return a view of every text; a blank view is replaced by the text itself."""
        views: list[str] = []
        with track("Augmenting", len(texts)) as advance:
            for text, view in zip(texts, self.make_view(texts, view_index, seed=seed), strict=True):
                views.append(view if view and not view.isspace() else text)
                if len(views) % _PROGRESS_STEP == 0:
                    advance(_PROGRESS_STEP)
            advance(len(views) % _PROGRESS_STEP)
        return views

    def _warn_if_unchanged(self, texts: Sequence[str], views: Sequence[Sequence[str]]) -> None:
        unchanged = sum(n_unchanged(texts, view) for view in views)
        total = len(texts) * len(views)
        if len(texts) >= _MIN_TEXTS_TO_WARN and unchanged > _MAX_UNCHANGED * total:
            warnings.warn(
                f"The augmenter {self.name!r} left {unchanged:,} of {total:,} views equal to their texts: it found "
                "almost no word to change. Does it support this language?",
                UnchangedWarning,
                stacklevel=user_level(),
            )


AUGMENTERS: Registry[Augmenter] = Registry("augmenter", "coterie.augmenters")


def make_augmenter(spec: str | Augmenter) -> Augmenter:
    """Return an augmenter from ``"name"``, ``"name:value"`` or ``"name(setting=value,...)"``, or ``spec`` itself."""
    if isinstance(spec, Augmenter):
        augmenter = spec
    else:
        name, values = parse(spec, AUGMENTERS, kind="augmenter")
        augmenter = AUGMENTERS[name](**values)
    check_settings(augmenter)
    return augmenter


def n_unchanged(texts: Sequence[str], view: Sequence[str]) -> int:
    """Return how many texts of ``view`` are equal to the original text."""
    if view is texts:
        return len(texts)
    return sum(text == changed for text, changed in zip(texts, view, strict=True))


def epoch_seed(seed: int, epoch: int) -> int:
    """Return the seed of the views of an epoch, for views that are resampled; epoch 0 uses ``seed`` itself."""
    if epoch == 0:
        return seed
    return int.from_bytes(blake2b(f"{seed} {epoch}".encode(), digest_size=7).digest())
