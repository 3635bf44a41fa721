"""Several encoders side by side, e.g. two transformers, or a transformer and TF-IDF."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from coterie.contracts import Items, Vectors
from coterie.encoders.encoder import ENCODERS, Encoder, EncoderState, make_encoder
from coterie.errors import InputError, NotFittedError
from coterie.hyper import hyper
from coterie.spec import split_joined

_CHUNK = 65_536  # rows centered at once
Mean = NDArray[np.float32]


class JoinedEncoder(Encoder, name="joined"):
    """Several encoders side by side, also written `bundled+e5`; each is centered on the training texts.

    Each embedding minus the mean of the training texts is scaled to length one, so that no encoder outweighs another.
    The cosine of two texts is the weighted mean of their cosines by the single encoders. The encoders are not trained;
    a method that trains learns a linear layer above them.
    """

    main_setting = "encoders"

    encoders: str | list[Any] = hyper("bundled+e5", "the encoders, separated by +; in Python also a list")
    weights: str = hyper("", "weights of the encoders in the cosine of two texts, e.g. 1+0.3; empty: equal weights")

    def __post_init__(self) -> None:
        self._parts = _make_parts(self.encoders)
        if all(part.spec for part in self._parts):  # else there are encoders that cannot be written as text
            self.encoders = _as_text(self._parts)
        self._scales = _scales(self.weights, len(self._parts))

    @property
    def parts(self) -> Sequence[Encoder]:
        """The single encoders."""
        return tuple(self._parts)

    def reading_problems(self, items: Items) -> list[str]:
        """Return the problems that each of the encoders has."""
        problems = [part.reading_problems(items) for part in self._parts]
        return [problem for problem in problems[0] if all(problem in others for others in problems)]

    def fit(self, items: Items) -> Self:
        """Fit each encoder, and compute the mean of its embeddings."""
        h = [part.fit(items).embed_corpus(items) for part in self._parts]
        self._means = [_mean(x) for x in h]
        self._training = items, h  # the next call of `embed` is usually with the same items
        return self

    @property
    def dim(self) -> int:
        """The sum of the dimensions."""
        return sum(part.dim for part in self._parts)

    def embed(self, items: Items) -> Vectors:
        """Return h (N, D), rows of length one."""
        if not hasattr(self, "_means"):
            raise NotFittedError("The encoder 'joined' does not know the mean embedding yet. Call fit first.")
        h = self._take_training(items) or [part.embed(items) for part in self._parts]
        return np.hstack([_centered(*part) for part in zip(h, self._means, self._scales, strict=True)])

    def _take_training(self, items: Items) -> list[Vectors]:
        """Return the embeddings that `fit` computed, if they are of ``items``; empty otherwise, and the next time."""
        if getattr(self, "_training", (None,))[0] is not items:
            return []
        return list(self.__dict__.pop("_training")[1])

    def state(self) -> EncoderState:
        """Return the means, and the states of the encoders."""
        if not hasattr(self, "_means"):
            return EncoderState()
        state = EncoderState({f"mean.{i}": mean for i, mean in enumerate(self._means)})
        for i, part in enumerate(self._parts):
            inner = part.state()
            state.tensors |= {f"{i}.{name}": value for name, value in inner.tensors.items()}
            state.words |= {f"{i}.{name}": value for name, value in inner.words.items()}
        return state

    def restore(self, state: EncoderState) -> None:
        """Load both."""
        self._means = [state.tensors[f"mean.{i}"] for i in range(len(self._parts))]
        for i, part in enumerate(self._parts):
            part.restore(EncoderState(_below(state.tensors, f"{i}."), _below(state.words, f"{i}.")))

    def saved_params(self) -> dict[str, Any]:
        """Return the encoders as text, or say that there is none."""
        if not isinstance(self.encoders, str):
            raise InputError(
                "A model with joined encoders, one of them a function or an object of your own, cannot be saved. Write "
                "one function that joins their vectors, and give that as `encoder`."
            )
        return self.params()

    def fingerprint(self) -> str:
        """Return the hashes of the weights."""
        return "+".join(part.fingerprint() for part in self._parts)

    def outside_sources(self) -> list[str]:
        """Return those of all encoders."""
        return [source for part in self._parts for source in part.outside_sources()]

    def __getstate__(self) -> dict[str, Any]:
        """Leave the embeddings of the training texts out of a pickle."""
        return {name: value for name, value in self.__dict__.items() if name != "_training"}


def _make_parts(encoders: str | list[Any]) -> list[Encoder]:
    """Return the single encoders; an encoder that is itself joined counts as several."""
    single = [encoders] if isinstance(encoders, str) else encoders
    specs = [part for spec in single for part in (split_joined(spec, ENCODERS) if isinstance(spec, str) else [spec])]
    if not specs:
        raise InputError("No encoder is named to be joined. Name at least one, e.g. bundled+e5.")
    parts = [make_encoder(spec) for spec in specs]
    for part in parts:
        if part.input_type != "texts":
            raise InputError(
                f"The encoder {part.name!r} reads {part.input_type}; only encoders of texts can be joined."
            )
    return parts


def _as_text(parts: list[Encoder]) -> str:
    """Return the encoders as one text, from which the same encoders can be made."""
    specs = [part.spec for part in parts]
    text = "+".join(specs)
    if split_joined(text, ENCODERS) != specs:
        raise InputError(
            f"{text!r} cannot be read back: a folder of joined encoders has unmatched brackets. Rename it."
        )
    return text


def _scales(weights: str, n: int) -> list[float]:
    """Return the length of each part of the joined embedding; its square is the weight in the cosine."""
    try:
        values = [float(weight) for weight in weights.split("+")] if weights else [1.0] * n
    except ValueError:
        values = []
    if len(values) != n or not all(0 < value < np.inf for value in values):
        raise InputError(f"`weights` must be {n} positive numbers separated by +, e.g. 1+0.3, got {weights!r}.")
    return [float((value / sum(values)) ** 0.5) for value in values]


def _mean(h: Vectors) -> Mean:
    return np.asarray(h.mean(axis=0, dtype=np.float64), dtype=np.float32)


def _centered(h: Vectors, mean: Mean, scale: float) -> Vectors:
    """Return h (N, D) minus its mean, in rows of length ``scale``; a row that equals the mean becomes zero."""
    centered = np.empty(h.shape, dtype=np.float32)
    for start in range(0, len(h), _CHUNK):
        rows = slice(start, start + _CHUNK)
        difference = h[rows] - mean
        length = np.linalg.norm(difference, axis=1, keepdims=True)
        centered[rows] = difference * (scale / np.maximum(length, np.finfo(np.float32).tiny))
    return centered


def _below(values: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}
