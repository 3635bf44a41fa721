"""Sentence vectors from a transformer: a local folder or a hub id."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie.contracts import Network, Vectors
from coterie.encoders.encoder import Encoder
from coterie.encoders.int8 import quantized
from coterie.encoders.packed import Packed, PackedBert, PlainTransformer, pack
from coterie.encoders.tokens import Tokens, tokenize
from coterie.errors import EncoderError, InputError
from coterie.hyper import hyper
from coterie.progress import track

Precision = Literal["auto", "float32", "bfloat16", "int8"]
Pooling = Literal["auto", "mean", "cls"]
_TOKENS_AT_ONCE = {"cpu": 512}  # what one layer computes of them stays in the cache of a core


class Transformer(Encoder):
    """The stem of every encoder that runs a transformer: tokenise once, sort by length, pool, normalise."""

    pooling: Pooling = hyper("mean", "mean of the token states, or the first token's (cls)")
    normalize: bool = hyper(True, "scale each vector to length one")
    max_length: int = hyper(128, "tokens read of each text, special tokens included", ge=3)
    precision: Precision = hyper("auto", "of the numbers; auto takes what this machine is fast at")
    device: str = hyper("auto", "auto, cpu, cuda, mps, ...")

    @abstractmethod
    def source(self) -> str:
        """Return the folder or hub id of the model."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return h (N, D)."""
        tokenizer, network = self._loaded()
        return self.embed_with(network, tokenize(tokenizer, texts, self.max_length))

    def network(self, dim: int, trainable_layers: int | None = None) -> Network:
        """Return the transformer itself, whose last layers learn; None: all of it."""
        from coterie.encoders.trainable import TransformerNetwork

        return TransformerNetwork(self, trainable_layers)

    def fingerprint(self) -> str:
        """Return the hash of weights and vocabulary."""
        self._loaded()
        return self._sha256

    @torch.inference_mode()
    def embed_with(self, network: Callable[[Tensor, Packed], Tensor], tokens: Tokens) -> Vectors:
        """Return h (N, D) of ``tokens`` by ``network``, in chunks that always have the same height."""
        h: Vectors | None = None
        with track("Encoding", len(tokens)) as advance:
            for rows in tokens.chunks(self.budget):
                values, packed = tokens[rows].pack(self.budget)
                part = self.pool(network(values.to(self.where), packed), packed).float().cpu().numpy()
                h = np.empty((len(tokens), part.shape[1]), dtype=np.float32) if h is None else h
                h[rows.numpy()] = part
                advance(len(rows))
        if h is None:
            raise InputError("There are no texts to encode.")
        return h

    def pool(self, states: Tensor, packed: Packed) -> Tensor:
        """Return h (B, D) from token states (M, D), in the order of ``packed``."""
        parts = packed.split(states)
        h = torch.cat([part.mean(dim=1) if self.pools == "mean" else part[:, 0] for part in parts])
        return F.normalize(h.float(), dim=1) if self.normalize else h.float()

    @cached_property
    def pools(self) -> str:
        """The pooling that is used."""
        return pooling_of(self.source()) if self.pooling == "auto" else self.pooling

    @property
    def where(self) -> torch.device:
        """The device that is used."""
        return choose_device(self.device)

    @property
    def budget(self) -> int:
        """How many tokens are computed at once."""
        return _TOKENS_AT_ONCE.get(self.where.type, 16384)

    @property
    def fast(self) -> Precision:
        """The precision that is used."""
        return fast_precision(self.where) if self.precision == "auto" else self.precision

    def _loaded(self) -> tuple[Any, nn.Module]:
        if not hasattr(self, "_network"):
            tokenizer, model = self.load()
            self._sha256 = _hash(model, tokenizer)
            self._tokenizer, self._network = tokenizer, self.arranged(self.rebuilt(model), tokenizer)
        return self._tokenizer, self._network

    def load(self) -> tuple[Any, Any]:
        """Return tokenizer and model as they are on disk."""
        tokenizer, model = load_transformer(self.source())
        limit = min(getattr(model.config, "max_position_embeddings", 2**30), tokenizer.model_max_length)
        if self.max_length > limit:
            raise InputError(f"`max_length` is {self.max_length}, but {self.source()} reads at most {limit} tokens.")
        return tokenizer, model

    def rebuilt(self, model: Any) -> PackedBert | PlainTransformer:
        """Return the model in the form that is fast, in float32."""
        if model.config.model_type == "bert":
            return PackedBert(model).eval().to(self.where)
        if self.precision not in ("auto", "float32"):  # its batches differ in shape, so fewer bits would show
            raise InputError(f"`precision` is {self.precision!r}, which needs a BERT; use float32 or auto.")
        return PlainTransformer(model).eval().to(self.where)

    def arranged(self, network: PackedBert | PlainTransformer, tokenizer: Any) -> nn.Module:
        """Turn the network into the numbers that are fast here."""
        if isinstance(network, PlainTransformer) or self.fast == "float32":
            return network
        if self.fast == "int8":
            return quantized(network, probe=_random_words(tokenizer))
        return network.to(torch.bfloat16)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the weights out of a pickle; they are loaded again when needed."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_network", "_tokenizer")}


class TransformerEncoder(Transformer, name="transformer"):
    """Any model that transformers' AutoModel can load."""

    after_colon = "model"

    model: str = hyper(
        "sentence-transformers/all-MiniLM-L6-v2", "a local folder or a hub id; also given as transformer:MODEL"
    )
    pooling: Pooling = hyper("auto", "mean of the token states, the first token's (cls), or as the model says (auto)")

    def source(self) -> str:
        """Return the setting."""
        return self.model


def load_transformer(source: str) -> tuple[Any, Any]:
    """Return tokenizer and model of a folder or hub id, or raise :class:`EncoderError` in one sentence."""
    from transformers import AutoModel, AutoTokenizer

    try:
        with without_bars():
            tokenizer = AutoTokenizer.from_pretrained(source)
            model = AutoModel.from_pretrained(source, dtype=torch.float32)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0]
        raise EncoderError(
            f"Cannot load the model {source!r}: {reason} Give a folder with a transformers model, or a hub "
            "id on a machine that reaches the hub; or use the encoder 'bundled', which needs neither."
        ) from error
    if not tokenizer.is_fast:
        raise EncoderError(f"The tokenizer of {source!r} has no fast version, which coterie needs.")
    return tokenizer, model


def pooling_of(source: str) -> str:
    """Return the pooling that is written beside a model where sentence-transformers looks for it; else the mean."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    name = "1_Pooling/config.json"
    try:
        found = Path(source, name) if Path(source).is_dir() else Path(hf_hub_download(source, name))
        said = json.loads(found.read_text(encoding="utf-8"))
    except (EntryNotFoundError, FileNotFoundError):
        return "mean"
    named = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
    modes = [named.get(key, key) for key, on in said.items() if key.startswith("pooling_mode_") and on]
    mode = said.get("pooling_mode", modes)  # one word since sentence-transformers 6, a list where there are several
    mode = mode[0] if isinstance(mode, list) and len(mode) == 1 else mode
    if mode not in ("mean", "cls"):
        raise EncoderError(
            f"The model {source!r} pools by {mode}, which coterie does not; set `pooling` to mean or cls."
        )
    return str(mode)


@contextmanager
def without_bars() -> Iterator[None]:
    """Keep transformers from showing bars: reading or writing 100 tensors is not progress worth one."""
    from transformers.utils import logging as transformers_logging

    bar_was_on = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        if bar_was_on:
            transformers_logging.enable_progress_bar()


def _random_words(tokenizer: Any, n_texts: int = 64, length: int = 14) -> tuple[Tensor, Packed]:
    """Return texts of random words between the tokenizer's own first and last token."""
    first, *_, last = tokenize(tokenizer, ["a"], 8).values.tolist()
    words = torch.randint(len(tokenizer), (n_texts, length), generator=torch.Generator().manual_seed(0))
    ids = F.pad(F.pad(words, (1, 0), value=first), (0, 1), value=last)  # (texts, length + 2)
    return ids.flatten(), pack([length + 2] * n_texts)


def choose_device(name: str) -> torch.device:
    """Return the device of a setting, or raise :class:`InputError` where there is none such."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        raise InputError(f"`device` is {name!r}, which this machine does not have. Use auto or cpu.") from None
    return device


def fast_precision(device: torch.device) -> Precision:
    """Return the precision in which ``device`` multiplies fastest at a cosine of 0.999 to float32."""
    if device.type == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    if device.type != "cpu":
        return "float32"
    able = torch.cpu.get_capabilities()
    if able.get("avx512_bf16") or able.get("amx_bf16"):
        return "bfloat16"
    return "int8" if able.get("avx512_vnni") or able.get("avx_vnni") else "float32"


def _hash(model: nn.Module, tokenizer: Any) -> str:
    digest = hashlib.sha256(json.dumps(sorted(tokenizer.get_vocab().items())).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()
