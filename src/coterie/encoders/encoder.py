"""What every encoder is: settings that are cheap to hold, and vectors when asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, dataclass_transform

from numpy.typing import NDArray

from coterie.contracts import Items, Kind, Network, Vectors
from coterie.data.rows import OnEmpty, Rows
from coterie.data.texts import check_texts
from coterie.encoders.linear import LinearNetwork
from coterie.errors import InputError
from coterie.hyper import check_settings, settings
from coterie.registry import Registry


@dataclass
class EncoderState:
    """What an encoder learnt from the training texts and must find again to embed new ones."""

    tensors: dict[str, NDArray[Any]] = field(default_factory=dict)
    words: dict[str, list[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.tensors or self.words)


@dataclass_transform(kw_only_default=True, eq_default=False)
@dataclass(kw_only=True, eq=False)
class Encoder(ABC):
    """Turns texts, or images, into vectors h (N, D). Nothing is loaded before it is needed."""

    name: ClassVar[str] = ""
    reads: ClassVar[Kind] = "texts"
    augmenter: ClassVar[str] = ""
    """What makes views of what it reads, in the place of a method's default, which is for texts."""
    after_colon: ClassVar[str] = ""
    """The setting that ``"name:value"`` sets; empty when there is none."""

    def __init_subclass__(cls, *, name: str = "", **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclass(kw_only=True, eq=False)(cls)
        if name:  # without a name it is a stem that several encoders share
            cls.name = name
            ENCODERS.register(name, cls)

    def check(self, X: Any, column: str | None = None, *, on_empty: OnEmpty = "keep") -> Rows[Any]:  # noqa: N803
        """Return each distinct item of ``X`` as :meth:`embed` takes it, and the way back to the rows."""
        return check_texts(X, column, on_empty=on_empty)

    def fit(self, texts: Sequence[str]) -> Self:
        """Learn what must be learnt from the training texts (a vocabulary, say); most learn nothing."""
        return self

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return h (N, D) in the order of ``texts``, each row from its own text alone."""

    def network(self, dim: int, trainable_layers: int | None = None) -> Network:
        """Return what a method can train: here a linear layer above the vectors of width ``dim``."""
        return LinearNetwork(dim, self._fixed)

    def _fixed(self, items: Items) -> Vectors:
        return self.embed(list(items))

    def state(self) -> EncoderState:
        """Return what :meth:`fit` learnt; empty when the settings alone say everything."""
        return EncoderState()

    def restore(self, state: EncoderState) -> None:
        """Take back what :meth:`state` returned."""
        if state:
            raise TypeError(f"The encoder {self.name!r} learns nothing, so there is nothing to restore.")

    def fingerprint(self) -> str:
        """Return a hash of weights that are not stored with a model; empty when there are none."""
        return ""

    def params(self) -> dict[str, Any]:
        """Return the settings by name."""
        return {setting.name: getattr(self, setting.name) for setting in settings(type(self))}


ENCODERS: Registry[Encoder] = Registry("encoder", "coterie.encoders")


def kind_of(spec: str | Encoder) -> Kind:
    """Return what an encoder reads, without making it."""
    return (ENCODERS[spec.partition(":")[0]] if isinstance(spec, str) else spec).reads


def make_encoder(spec: str | Encoder) -> Encoder:
    """Return a fresh encoder from ``"name"``, ``"name:value"`` or the settings of another encoder."""
    if isinstance(spec, Encoder):
        encoder = type(spec)(**spec.params())
    else:
        name, _, value = spec.partition(":")
        cls = ENCODERS[name]
        if value and not cls.after_colon:
            raise InputError(f"The encoder {name!r} takes nothing after a colon, got {spec!r}.")
        encoder = cls(**{cls.after_colon: value}) if value else cls()
    check_settings(encoder)
    return encoder
