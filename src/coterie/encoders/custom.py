"""An encoder of the user's own: any function or object that turns texts into vectors."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from coterie.contracts import Items, Vectors
from coterie.encoders.encoder import Encoder, EncoderState
from coterie.errors import EncoderError, InputError, NotFittedError
from coterie.hyper import hyper
from coterie.progress import track

_BATCH = 1024  # texts of one call: services limit them
_PROBES = ["clusters of short texts", "a second text"]  # their vectors identify the encoder of a saved model
_SAME = 0.999  # cosine of equal vectors, computed on two machines


class CustomEncoder(Encoder, name="custom"):
    """A function of texts, or an object with `.encode`, given in Python as `encoder=`.

    It gets a list of at most 1,024 texts and returns a vector for each. A saved model does not contain it: give it
    again to :func:`coterie.load`, which checks that it returns the vectors of two short texts that the model remembers.
    """

    model: object | None = hyper(None, "the function, or the object with .encode; only Python can give it")
    needs: str = hyper("", "what a saved model says that it needs; empty: the name of the function or class")

    def fit(self, items: Items) -> Self:
        """Encode two probes."""
        self._probe = self._encode(_PROBES)
        return self

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        if not hasattr(self, "_probe"):
            raise NotFittedError("The encoder 'custom' has encoded no text yet. Call fit first.")
        return int(self._probe.shape[1])

    def embed(self, items: Items) -> Vectors:
        """Return h (N, D)."""
        return self._encode(items)

    def attach(self, model: object) -> None:
        """Use ``model``, or raise :class:`EncoderError` if it returns other vectors than the model of the training."""
        self.model = model
        probe = self._encode(_PROBES)
        same = probe.shape == self._probe.shape and _cosines(probe, self._probe).min() > _SAME
        if not same:
            raise EncoderError(
                f"{_described(model)} returns other vectors than the encoder of this model, which is {self.needs}."
            )

    def state(self) -> EncoderState:
        """Return the vectors of the probes."""
        return EncoderState({"probe": self._probe})

    def restore(self, state: EncoderState) -> None:
        """Load them."""
        self._probe = state.tensors["probe"]

    @property
    def spec(self) -> str:
        """Empty: an object cannot be written as text."""
        return ""

    def saved_params(self) -> dict[str, Any]:
        """Return what is needed, in words."""
        return {"needs": self.needs or _described(self.model)}

    def _encode(self, items: Items) -> Vectors:
        encode = getattr(self.model, "encode", self.model)
        if not callable(encode):
            raise EncoderError(
                f"This model needs its encoder: {self.needs or 'a function of texts, or an object with .encode'}. Give "
                "it in Python: coterie.load(folder, encoder=...)."
            )
        texts = list(items)
        parts = []
        with track("Encoding", len(texts)) as advance:
            for start in range(0, len(texts), _BATCH):
                batch = texts[start : start + _BATCH]
                parts.append(_as_vectors(encode(batch), len(batch), self.model))
                advance(len(batch))
        if len({part.shape[1] for part in parts}) > 1:
            raise EncoderError(f"{_described(self.model)} returns vectors of different lengths.")
        return np.concatenate(parts)


def check_custom(model: object) -> None:
    """Raise :class:`InputError` if ``model`` cannot encode texts."""
    if isinstance(model, type):
        name = model.__name__
        raise InputError(f"The encoder is the class {name}, not an object of it. Call it first: {name}(...).")
    if not callable(model) and not callable(getattr(model, "encode", None)):
        raise InputError(
            f"A {type(model).__name__} is not an encoder. Give a name such as 'bundled', a list of encoders, a "
            "function of texts that returns vectors, or an object with .encode."
        )


def _as_vectors(result: Any, n: int, model: object) -> Vectors:
    """Return the result of the user's encoder as an array (n, D)."""
    if hasattr(result, "detach"):  # a tensor of torch, perhaps with gradients or on a GPU
        result = result.detach().cpu()
    try:
        h = np.asarray(result, dtype=np.float32)
    except (TypeError, ValueError) as error:
        reason = f"does not return one vector of numbers for each text ({error})"
        raise EncoderError(f"{_described(model)} {reason}.") from None
    if h.ndim != 2 or len(h) != n:
        raise EncoderError(
            f"{_described(model)} returns an array of shape {h.shape} for {n} texts, not one vector for each."
        )
    if not np.isfinite(h).all():
        raise EncoderError(f"{_described(model)} returns NaN or infinity.")
    return h


def _described(model: object) -> str:
    """Return function or class in words."""
    named = model if hasattr(model, "__qualname__") else type(model)
    kind = "the function" if named is model else "an object of the class"
    return f"{kind} {named.__module__}.{getattr(named, '__qualname__', '')}"


def _cosines(a: Vectors, b: Vectors) -> Vectors:
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.asarray((a * b).sum(axis=1) / np.maximum(lengths, np.finfo(np.float32).tiny))
