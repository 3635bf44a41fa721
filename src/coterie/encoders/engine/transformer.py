"""The base class of encoders that run a transformer: its settings, and the network that they define."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any, Literal

import torch

from coterie.contracts import Items, Vectors
from coterie.encoders.encoder import Encoder
from coterie.encoders.engine.device import Precision, choose_device, choose_precision
from coterie.encoders.engine.loading import load_transformer, pooling_of, weights_sha256
from coterie.encoders.engine.network import TransformerNetwork
from coterie.errors import InputError
from coterie.hyper import hyper

Pooling = Literal["auto", "mean", "cls"]
_TOKENS_PER_CHUNK = {"cpu": 512}  # the activations of one layer then stay in the cache of a core


class Transformer(Encoder):
    """Tokenizes, sorts by length, runs the transformer without padding, pools and normalizes."""

    pooling: Pooling = hyper("mean", "mean of the token states, or the state of the first token (cls)")
    normalize: bool = hyper(True, "scale each embedding to length one")
    max_length: int = hyper(128, "tokens read of each text, special tokens included", ge=3)
    precision: Precision = hyper("auto", "number format; auto takes the fastest that this machine supports")
    device: str = hyper("auto", "auto, cpu, cuda, mps, ...")

    @abstractmethod
    def source(self) -> str:
        """Return the folder or hub id of the model."""

    @property
    def dim(self) -> int:
        """The width of the transformer."""
        return self._inference_network().dim

    def embed(self, items: Items) -> Vectors:
        """Return h (N, D) by the pretrained weights."""
        return self._inference_network().embed(items)

    @property
    def is_slow(self) -> bool:
        """A transformer is."""
        return True

    def network(self, trainable_layers: int | None = None) -> TransformerNetwork:
        """Return the transformer, of which the last ``trainable_layers`` layers are trained; None: all of it."""
        return TransformerNetwork(self, trainable_layers)

    def fingerprint(self) -> str:
        """Return a hash of weights and vocabulary."""
        if not hasattr(self, "_sha256"):
            self._loaded = self.load()
        return self._sha256

    def take_loaded(self) -> tuple[Any, Any]:
        """Return tokenizer and model for a new network, which takes the weights over; they are read once."""
        loaded = self.__dict__.pop("_loaded", None)
        return self.load() if loaded is None else loaded

    def load(self) -> tuple[Any, Any]:
        """Read tokenizer and model from disk."""
        tokenizer, model = load_transformer(self.source())
        limit = min(getattr(model.config, "max_position_embeddings", 2**30), tokenizer.model_max_length)
        if self.max_length > limit:
            raise InputError(f"`max_length` is {self.max_length}, but {self.source()} reads at most {limit} tokens.")
        self._sha256 = weights_sha256(model, tokenizer.get_vocab())
        return tokenizer, model

    @cached_property
    def resolved_pooling(self) -> str:
        """The pooling in use: ``mean`` or ``cls``."""
        return pooling_of(self.source()) if self.pooling == "auto" else self.pooling

    @property
    def resolved_precision(self) -> Precision:
        """The precision in use."""
        return choose_precision(self.precision, self.torch_device)

    @property
    def torch_device(self) -> torch.device:
        """The device in use."""
        return choose_device(self.device)

    @property
    def chunk_tokens(self) -> int:
        """The number of tokens computed at once."""
        return _TOKENS_PER_CHUNK.get(self.torch_device.type, 16384)

    def _inference_network(self) -> TransformerNetwork:
        if not hasattr(self, "_network"):
            self._network = TransformerNetwork(self, 0, inference_only=True)
        return self._network

    def __getstate__(self) -> dict[str, Any]:
        """Leave the weights out of a pickle; they are loaded again when needed."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_network", "_loaded")}
