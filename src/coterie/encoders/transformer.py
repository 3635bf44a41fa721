"""Sentence vectors from a transformer: a local folder or a hub id."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie.contracts import Vectors
from coterie.encoders.encoder import Encoder
from coterie.encoders.int8 import quantized
from coterie.encoders.packed import Packed, PackedBert, PlainTransformer, pack
from coterie.errors import EncoderError, InputError
from coterie.hyper import hyper
from coterie.progress import track

Precision = Literal["auto", "float32", "bfloat16", "int8"]
_TOKENS_AT_ONCE = {"cpu": 512}  # what one layer computes of them stays in the cache of a core


class Transformer(Encoder):
    """The stem of every encoder that runs a transformer: tokenise once, sort by length, pool, normalise."""

    pooling: Literal["mean", "cls"] = hyper("mean", "mean of the token states, or the first token's")
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
        h: Vectors | None = None
        with track("Encoding", len(texts)) as advance:
            token_ids = _tokenize(tokenizer, texts, self.max_length)
            for rows in _chunks(token_ids, budget=self._budget):
                part = self._embed([token_ids[i] for i in rows], network)
                h = np.empty((len(texts), part.shape[1]), dtype=np.float32) if h is None else h
                h[rows] = part.numpy()
                advance(len(rows))
        if h is None:
            raise InputError("There are no texts to encode.")
        return h

    def fingerprint(self) -> str:
        """Return the hash of weights and vocabulary."""
        self._loaded()
        return self._sha256

    @torch.inference_mode()
    def _embed(self, token_ids: Sequence[Sequence[int]], network: nn.Module) -> Tensor:
        packed = pack(token_ids, rows=self._budget)
        states = network(type(packed)(packed.ids.to(self._device), packed.groups))
        h = torch.cat([_pool(part.float(), self.pooling) for part in states])
        return (F.normalize(h, dim=1) if self.normalize else h).cpu()

    def _loaded(self) -> tuple[Any, nn.Module]:
        if not hasattr(self, "_network"):
            self._device = _device(self.device)
            self._budget = _TOKENS_AT_ONCE.get(self._device.type, 16384)
            tokenizer, model = load_transformer(self.source())
            limit = min(getattr(model.config, "max_position_embeddings", 2**30), tokenizer.model_max_length)
            if self.max_length > limit:
                raise InputError(
                    f"`max_length` is {self.max_length}, but {self.source()} reads at most {limit} tokens."
                )
            self._sha256 = _hash(model, tokenizer)
            self._tokenizer, self._network = tokenizer, self._arranged(model, tokenizer)
        return self._tokenizer, self._network

    def _arranged(self, model: Any, tokenizer: Any) -> nn.Module:
        """Return the network in the form and the numbers that are fast here."""
        if model.config.model_type != "bert":  # its batches differ in shape, so fewer bits would show in the answers
            if self.precision not in ("auto", "float32"):
                raise InputError(f"`precision` is {self.precision!r}, which needs a BERT; use float32 or auto.")
            return PlainTransformer(model).eval().to(self._device)
        precision = fast_precision(self._device) if self.precision == "auto" else self.precision
        packed = PackedBert(model).eval().to(self._device)
        if precision == "int8":
            return quantized(packed, probe=_random_words(tokenizer))
        return packed.to(torch.bfloat16) if precision == "bfloat16" else packed

    def __getstate__(self) -> dict[str, Any]:
        """Leave the weights out of a pickle; they are loaded again when needed."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_network", "_tokenizer")}


class TransformerEncoder(Transformer, name="transformer"):
    """Any model that transformers' AutoModel can load."""

    after_colon = "model"

    model: str = hyper(
        "sentence-transformers/all-MiniLM-L6-v2", "a local folder or a hub id; also given as transformer:MODEL"
    )

    def source(self) -> str:
        """Return the setting."""
        return self.model


def load_transformer(source: str) -> tuple[Any, Any]:
    """Return tokenizer and model of a folder or hub id, or raise :class:`EncoderError` in one sentence."""
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging as transformers_logging

    bar_was_on = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()  # loading 100 tensors is not progress worth a bar
    try:
        tokenizer = AutoTokenizer.from_pretrained(source)
        model = AutoModel.from_pretrained(source, dtype=torch.float32)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0]
        raise EncoderError(
            f"Cannot load the model {source!r}: {reason} Give a folder with a transformers model, or a hub "
            "id on a machine that reaches the hub; or use the encoder 'bundled', which needs neither."
        ) from error
    finally:
        if bar_was_on:
            transformers_logging.enable_progress_bar()
    if not tokenizer.is_fast:
        raise EncoderError(f"The tokenizer of {source!r} has no fast version, which coterie needs.")
    return tokenizer, model


def _tokenize(tokenizer: Any, texts: Sequence[str], max_length: int) -> list[list[int]]:
    if not texts:
        return []
    encoded = tokenizer(
        list(texts), truncation=True, max_length=max_length,
        return_attention_mask=False, return_token_type_ids=False,
    )  # fmt: skip
    ids: list[list[int]] = encoded["input_ids"]
    return ids


def _chunks(token_ids: Sequence[Sequence[int]], budget: int) -> Iterator[list[int]]:
    """Yield rows, shortest texts first, at most ``budget`` tokens at a time: more would not fit the cache."""
    rows: list[int] = []
    tokens = 0
    for row in sorted(range(len(token_ids)), key=lambda i: len(token_ids[i])):
        if rows and tokens + len(token_ids[row]) > budget:
            yield rows
            rows, tokens = [], 0
        rows.append(row)
        tokens += len(token_ids[row])
    if rows:
        yield rows


def _random_words(tokenizer: Any, n_texts: int = 64, length: int = 14) -> Packed:
    """Return texts of random words between the tokenizer's own first and last token."""
    first, *_, last = _tokenize(tokenizer, ["a"], 8)[0]
    words = torch.randint(len(tokenizer), (n_texts, length), generator=torch.Generator().manual_seed(0))
    return pack([[first, *row, last] for row in words.tolist()])


def _pool(states: Tensor, pooling: str) -> Tensor:
    """Return (B, D) from token states (B, T, D) without padding."""
    return states.mean(dim=1) if pooling == "mean" else states[:, 0]


def _device(name: str) -> torch.device:
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
