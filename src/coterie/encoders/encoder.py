"""The base class of encoders: settings that are cheap to hold, and embeddings on request."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar, Protocol, Self, dataclass_transform, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from coterie.contracts import InputType, Items, Network, Vectors
from coterie.data.legibility import reading_problems
from coterie.data.rows import OnEmpty, Rows
from coterie.data.texts import check_texts
from coterie.encoders.embedding_cache import load_or_embed
from coterie.encoders.networks.frozen import FrozenNetwork
from coterie.encoders.networks.linear import LinearNetwork
from coterie.errors import InputError
from coterie.hyper import check_settings, document_settings, settings
from coterie.progress import track
from coterie.registry import Registry
from coterie.remembered import memory
from coterie.spec import format_spec, parse, split_joined

_MOST_IN_ONE_PART = 65_536  # items; more are encoded and cached in parts
_PART_ITEMS = 16_384


@dataclass
class EncoderState:
    """What :meth:`Encoder.fit` computed from the training items, as a saved model stores it."""

    tensors: dict[str, NDArray[Any]] = field(default_factory=dict)
    words: dict[str, list[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.tensors or self.words)


@dataclass_transform(kw_only_default=True, eq_default=False)
@dataclass(kw_only=True, eq=False)
class Encoder(ABC):
    """Turns texts, or images, into embeddings h (N, D). Weights are loaded when they are first needed."""

    name: ClassVar[str] = ""
    input_type: ClassVar[InputType] = "texts"
    default_augmenter: ClassVar[str] = ""
    """The augmenter of this input type, used in place of a method's default, which is for texts."""
    english_only: ClassVar[bool] = False
    """Whether it cannot read texts in another script."""
    main_setting: ClassVar[str] = ""
    """The setting that ``"name:value"`` sets; empty when there is none."""

    def __init_subclass__(cls, *, name: str = "", **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclass(kw_only=True, eq=False)(cls)
        document_settings(cls)
        if name:  # a base class of several encoders has no name
            cls.name = name
            ENCODERS.register(name, cls)

    def check(self, X: Any, column: str | None = None, *, on_empty: OnEmpty = "keep") -> Rows[Any]:  # noqa: N803
        """Validate ``X`` and return its distinct items as :meth:`embed` takes them."""
        return check_texts(X, column, on_empty=on_empty)

    def reading_problems(self, items: Items) -> list[str]:
        """Return a sentence for each reason why some items cannot be read well; they are encoded all the same."""
        if not isinstance(items, list):
            return []
        max_tokens = getattr(self, "max_length", None)
        return reading_problems(items, english_only=self.english_only, max_tokens=max_tokens)

    def fit(self, items: Items) -> Self:
        """Compute what depends on the training items (e.g. a vocabulary); most encoders need nothing."""
        return self

    @property
    @abstractmethod
    def dim(self) -> int:
        """The dimension D of the embeddings; known after :meth:`fit`."""

    @abstractmethod
    def embed(self, items: Items) -> Vectors:
        """Return h (N, D) in the order of ``items``. Each row depends on its own item only."""

    @property
    def below(self) -> Encoder:
        """The encoder whose embeddings this one reduces to others that keep only neighbors; itself for most."""
        return self

    @property
    def is_slow(self) -> bool:
        """Whether embeddings of a corpus are worth a file in the user's cache."""
        return False

    def embed_corpus(self, items: Items) -> Vectors:
        """Return h (N, D) of all training items, computed once in a fit; for a slow encoder from the user's cache.

        Very many items are cached part by part, so that an interrupted run does not encode them again.
        """
        known = memory("embeddings")
        if known is None:
            return self._embed_corpus(items)
        key = id(self), id(items)
        if key not in known:
            known[key] = self, items, self._embed_corpus(items)  # with both, so that no others get their ids
        return np.asarray(known[key][2])

    def _embed_corpus(self, items: Items) -> Vectors:
        if not self.is_slow:
            return self.embed(items)
        n_bytes = 4 * self.dim * len(items)
        if len(items) <= _MOST_IN_ONE_PART:
            return self._embed_part(items, n_bytes)
        h = np.empty((len(items), self.dim), dtype=np.float32)
        with track("Encoding", len(items)) as advance:
            for start in range(0, len(items), _PART_ITEMS):
                part = items[start : start + _PART_ITEMS]
                h[start : start + len(part)] = self._embed_part(part, n_bytes)
                advance(len(part))
        return h

    def _embed_part(self, items: Items, n_bytes: int) -> Vectors:
        """Return h (N, D) of some training items, by way of the cache; all of them take ``n_bytes`` there."""
        return load_or_embed(self.corpus_key(items), lambda: self.embed(items), self.cache_info(), n_bytes=n_bytes)

    def corpus_key(self, items: Items) -> str:
        """Return a hash of the encoder, its weights, its fitted state (e.g. a vocabulary) and the items."""
        state = self.state()
        identity = [self.name, json.dumps(self.params(), sort_keys=True), self.fingerprint()]
        digest = hashlib.sha256(json.dumps([*identity, sorted(state.words.items())]).encode())
        for name, tensor in sorted(state.tensors.items()):
            digest.update(name.encode() + np.ascontiguousarray(tensor).tobytes())
        digest.update(items.tobytes() if isinstance(items, np.ndarray) else json.dumps(list(items)).encode())
        return digest.hexdigest()

    def cache_info(self) -> dict[str, Any]:
        """Return what a file in the cache says about the encoder."""
        return {"encoder": self.name, "params": self.params()}

    def frozen_network(self) -> Network:
        """Return the encoder as a network without trainable weights."""
        return FrozenNetwork(self.dim, self.embed, self.embed_corpus)

    def network(self, trainable_layers: int | None = None) -> Network:
        """Return a network to train: here a linear layer above fixed embeddings."""
        return LinearNetwork(self.dim, self.embed)

    def state(self) -> EncoderState:
        """Return what :meth:`fit` computed; empty when the settings define everything."""
        return EncoderState()

    def restore(self, state: EncoderState) -> None:
        """Load what :meth:`state` returned."""
        if state:
            raise TypeError(f"The encoder {self.name!r} has no state to restore.")

    def fingerprint(self) -> str:
        """Return a hash of weights that are not stored with a model; empty when there are none."""
        return ""

    def outside_sources(self) -> list[str]:
        """Return the folders, files and hub ids that it reads and no saved model contains."""
        return []

    def params(self) -> dict[str, Any]:
        """Return the settings by name."""
        return {setting.name: getattr(self, setting.name) for setting in settings(type(self))}

    def saved_params(self) -> dict[str, Any]:
        """Return the settings that a saved model stores, as plain values."""
        return self.params()

    @property
    def spec(self) -> str:
        """The shortest text from which :func:`make_encoder` makes an equal encoder; empty when there is none."""
        return format_spec(self) if self.name else ""

    def attach(self, model: object) -> None:
        """Use the user's own function or object, for an encoder that is one."""
        raise InputError(f"This model has the encoder {self.name!r}, which is loaded without `encoder`.")


ENCODERS: Registry[Encoder] = Registry("encoder", "coterie.encoders")


@runtime_checkable
class SupportsEncode(Protocol):
    """An object that encodes texts, e.g. of sentence-transformers or model2vec."""

    def encode(self, texts: Any, /) -> Any:
        """Return a vector for each text."""


EncoderLike = str | Encoder | list[Any] | Callable[..., Any] | SupportsEncode
"""What selects an encoder: its name and settings as text, an encoder, a function of texts or an object with ``encode``,
or a list of these, which are joined."""


def input_type_of(spec: EncoderLike) -> InputType:
    """Return what an encoder reads, without loading it."""
    if isinstance(spec, Encoder):
        return spec.input_type
    if not isinstance(spec, str | list):
        return "texts"
    return ENCODERS[_JOINED if is_joined(spec) else parse(str(spec), ENCODERS, kind="encoder")[0]].input_type


def make_encoder(spec: EncoderLike) -> Encoder:
    """Return a new encoder from another encoder, from ``"name"``, ``"name:value"`` or ``"name(setting=value,...)"``.

    ``"name+name"``, or a list, joins several. A function of texts, or an object with ``encode``, is taken as it is.
    """
    if isinstance(spec, Encoder):
        encoder: Encoder = type(spec)(**spec.params())
    elif not isinstance(spec, str | list):
        custom: Any = import_module("coterie.encoders.custom")
        custom.check_custom(spec)
        encoder = custom.CustomEncoder(model=spec)
    else:
        try:
            encoder = _from_spec(spec)
        except RecursionError:
            raise InputError("The encoder names too many encoders inside each other.") from None
    check_settings(encoder)
    return encoder


def _from_spec(spec: str | list[Any]) -> Encoder:
    """Return the encoder that a text or a list names."""
    if is_joined(spec):
        name, given = _JOINED, {"encoders": spec}
    else:
        name, given = parse(str(spec), ENCODERS, kind="encoder")
    return ENCODERS[name](**given)


_JOINED = "joined"


def is_joined(spec: str | list[Any]) -> bool:
    """Whether ``spec`` names several encoders; ``joined(...)`` and ``joined:...`` are one, which names others."""
    if isinstance(spec, list):
        return True
    return len(split_joined(spec, ENCODERS)) > 1 and not spec.lstrip().startswith((f"{_JOINED}(", f"{_JOINED}:"))
