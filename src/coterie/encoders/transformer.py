"""Sentence vectors from a transformer: a local folder or a hub id."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie.contracts import Vectors
from coterie.encoders.encoder import Encoder
from coterie.encoders.packed import PackedBert, PlainTransformer, pack
from coterie.errors import EncoderError, InputError
from coterie.hyper import hyper
from coterie.progress import track

Precision = Literal["auto", "float32", "bfloat16"]


class Transformer(Encoder):
    """The stem of every encoder that runs a transformer: tokenise once, sort by length, pool, normalise."""

    pooling: Literal["mean", "cls"] = hyper("mean", "mean of the token states, or the first token's")
    normalize: bool = hyper(True, "scale each vector to length one")
    max_length: int = hyper(128, "tokens read of each text, special tokens included", ge=3)
    precision: Precision = hyper("auto", "of the numbers; auto takes bfloat16 where the machine is fast at it")
    device: str = hyper("auto", "auto, cpu, cuda, mps, ...")

    def source(self) -> str:
        """Return the folder or hub id of the model."""
        raise NotImplementedError

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return h (N, D)."""
        tokenizer, network = self._loaded()
        h: Vectors | None = None
        with track("Encoding", len(texts)) as advance:
            token_ids = _tokenize(tokenizer, texts, self.max_length)
            for rows in _chunks(token_ids, budget=1024 if self._device.type == "cpu" else 16384):
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
        packed = pack(token_ids)
        states = network(type(packed)(packed.ids.to(self._device), packed.groups))
        h = torch.cat([_pool(part.float(), self.pooling) for part in states])
        return (F.normalize(h, dim=1) if self.normalize else h).cpu()

    def _loaded(self) -> tuple[Any, nn.Module]:
        if not hasattr(self, "_network"):
            self._device = _device(self.device)
            tokenizer, model = load_transformer(self.source())
            limit = getattr(model.config, "max_position_embeddings", self.max_length)
            if self.max_length > limit:
                raise InputError(
                    f"`max_length` is {self.max_length}, but {self.source()} reads at most {limit} tokens."
                )
            self._sha256 = _hash(model, tokenizer)
            packed = PackedBert(model) if model.config.model_type == "bert" else PlainTransformer(model)
            dtype = _dtype(self.precision, self._device)
            self._tokenizer, self._network = tokenizer, packed.eval().to(self._device, dtype)
        return self._tokenizer, self._network


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


def _dtype(precision: Precision, device: torch.device) -> torch.dtype:
    if precision != "auto":
        return torch.bfloat16 if precision == "bfloat16" else torch.float32
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float32
    able = torch.cpu.get_capabilities()
    fast = device.type == "cpu" and (able.get("avx512_bf16") or able.get("amx_bf16"))
    return torch.bfloat16 if fast else torch.float32


def _hash(model: nn.Module, tokenizer: Any) -> str:
    digest = hashlib.sha256(json.dumps(sorted(tokenizer.get_vocab().items())).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()
