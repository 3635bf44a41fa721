"""A transformer as a network: embeds texts, and trains all of its layers or the last ones."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie.contracts import Decoder, Items, Network, OutputVocabulary, Vectors
from coterie.encoders.engine.heights import equal_heights
from coterie.encoders.engine.int8 import quantized
from coterie.encoders.engine.packed import Packed, PackedBert, PlainTransformer, pack
from coterie.encoders.engine.tokens import Tokens, concatenate, tokenize
from coterie.errors import InputError
from coterie.progress import track

if TYPE_CHECKING:
    from coterie.encoders.engine.transformer import Transformer


class TransformerNetwork(Network):
    """The weights of a :class:`Transformer` in float32, and a copy in its inference precision for embedding.

    The outputs of frozen layers are computed once and cached in 16 bits, so a training step only computes the layers
    that are trained. With ``inference_only`` there is no float32 copy.
    """

    def __init__(self, settings: Transformer, trainable_layers: int | None, *, inference_only: bool = False) -> None:
        tokenizer, model = settings.take_loaded()
        super().__init__(model.config.hidden_size)
        self.settings, self.tokenizer = settings, tokenizer
        self.bert = self._packed(model)
        self.n_frozen = _freeze(self.bert, trainable_layers)
        self._inference: list[nn.Module] = []  # in a list, so that it is neither trained nor saved
        self._heights: tuple[int, ...] = ()  # of batches; found when they are first needed
        if inference_only:
            self._inference = [self._in_inference_precision(self.bert)]

    @property
    def n_cached(self) -> int:
        """The number of layers whose output is cached; other models than BERT run theirs every time."""
        return self.n_frozen if isinstance(self.bert, PackedBert) else 0

    def prepare(self, items: Items) -> Tokens:
        """Return token ids, or the outputs of the frozen layers in 16 bits."""
        tokens = tokenize(self.tokenizer, list(items), self.settings.max_length)
        return self._run_frozen(tokens) if self.n_cached else tokens

    @torch.inference_mode()
    def _run_frozen(self, tokens: Tokens) -> Tokens:
        bert = self.inference_copy()
        assert isinstance(bert, PackedBert)
        chunk, device = self.settings.chunk_tokens, self.settings.torch_device
        states = torch.empty(len(tokens.values), self.dim, dtype=torch.bfloat16 if self._in_bfloat16 else torch.float16)
        with track("Encoding", len(tokens)) as advance:
            for rows in tokens.chunks(chunk):
                part = tokens[rows]
                ids, packed = part.pack(chunk)
                x = bert.below(ids.to(device), packed, layers=self.n_cached)[: packed.n_tokens]
                places = torch.repeat_interleave(tokens.starts[rows], part.lengths) + packed.positions[: len(x)]
                states[places] = x.to(states.device, states.dtype)
                advance(len(rows))
        return Tokens(states, tokens.lengths, tokens.ids)

    def forward(self, *views: Tokens) -> tuple[Tensor, ...]:
        """Return h (B, D) of each view, from one pass over the tokens of all views."""
        tokens, place = concatenate(views).shortest_first()
        values, packed = tokens.pack()
        device = self.settings.torch_device
        with torch.autocast(device.type, torch.bfloat16, enabled=self.settings.resolved_precision == "bfloat16"):
            states = self._trained_layers(values.to(device), packed)
        h = self.pool(states, packed)
        return torch.split(h[place.to(device)], [len(view) for view in views])

    def _trained_layers(self, values: Tensor, packed: Packed) -> Tensor:
        if isinstance(self.bert, PackedBert) and self.n_cached:
            return self.bert.above(values.float(), packed, layers=self.n_cached)
        states: Tensor = self.bert(values, packed)
        return states

    @property
    def _in_bfloat16(self) -> bool:
        """Whether inference is in bfloat16, so that the cached outputs of frozen layers are those of inference."""
        return isinstance(self.bert, PackedBert) and self.settings.resolved_precision == "bfloat16"

    def encode(self, prepared: Tokens) -> Tensor:
        """Return h (N, D) without dropout: what :meth:`embed` returns in bfloat16, else by the float32 weights."""
        if self._in_bfloat16:
            return torch.from_numpy(self._embed_tokens(self._inference_layers(), prepared))
        was_training = self.training
        self.bert.eval()
        h = self._embed_tokens(self._trained_layers, prepared)
        self.bert.train(was_training)
        return torch.from_numpy(h)

    def _inference_layers(self) -> Callable[[Tensor, Packed], Tensor]:
        """Return the layers above the cached ones in the inference precision, with the weights as they are now."""
        if any(weight.requires_grad for weight in self.bert.parameters()):
            self._inference = []
        bert = self.inference_copy()
        assert isinstance(bert, PackedBert)
        return partial(bert.above, layers=self.n_cached) if self.n_cached else bert

    def embed_corpus(self, items: Items, prepared: Any, encoded: Vectors | None = None) -> Vectors:
        """Return what :meth:`embed` returns; in bfloat16 without computing the frozen layers, or anything, again."""
        if not self._in_bfloat16:
            return self.embed(items)
        return np.asarray(self.encode(prepared).numpy()) if encoded is None else encoded

    def embed(self, items: Items) -> Vectors:
        """Return h (N, D) in the inference precision."""
        tokens = tokenize(self.tokenizer, list(items), self.settings.max_length)
        bert, n_tokens = self.inference_copy(), len(tokens.values)
        if n_tokens >= self.settings.chunk_tokens:
            return self._embed_tokens(bert, tokens)
        self._heights = self._heights or equal_heights(bert, self.settings.chunk_tokens)
        return self._embed_tokens(bert, tokens, height=next(h for h in self._heights if h >= n_tokens))

    @torch.inference_mode()
    def _embed_tokens(
        self, network: Callable[[Tensor, Packed], Tensor], tokens: Tokens, *, height: int | None = None
    ) -> Vectors:
        """Return h (N, D) of ``tokens``. Chunks are padded to one height, so a row does not depend on its batch."""
        chunk, device = self.settings.chunk_tokens, self.settings.torch_device
        if not len(tokens):
            raise InputError("There are no texts to encode.")
        h = np.empty((len(tokens), self.dim), dtype=np.float32)
        with track("Encoding", len(tokens)) as advance:
            for rows in tokens.chunks(chunk):
                values, packed = tokens[rows].pack(height or chunk)
                h[rows.numpy()] = self.pool(network(values.to(device), packed), packed).float().cpu().numpy()
                advance(len(rows))
        return h

    def pool(self, states: Tensor, packed: Packed) -> Tensor:
        """Return h (B, D) from token states (M, D), in the order of ``packed``."""
        parts = packed.split(states)
        if self.settings.resolved_pooling == "mean":
            h = torch.cat([part.mean(dim=1) for part in parts])
        else:
            h = torch.cat([part[:, 0] for part in parts])
        return F.normalize(h.float(), dim=1) if self.settings.normalize else h.float()

    def to_transformers(self) -> tuple[Any, Any]:
        """Return tokenizer and model in the format of transformers, with the trained weights."""
        tokenizer, model = self.settings.load()
        if isinstance(self.bert, PackedBert):
            self.bert.put_back(model)
        else:
            model.load_state_dict(self.bert.model.state_dict())
        return tokenizer, model

    def decoder(
        self, n_layers: int | None = None, *, tied: bool = True, vocabulary: OutputVocabulary = "corpus"
    ) -> Decoder:
        """Return TSDAE's decoder, built from the last ``n_layers`` layers; None: the trained layers."""
        from coterie.encoders.engine.decoder import TokenDecoder

        return TokenDecoder(self, n_layers, tied=tied, vocabulary=vocabulary)

    def train(self, mode: bool = True) -> TransformerNetwork:
        """Switch dropout on or off. The inference copy is dropped, because training may change the weights."""
        if any(weight.requires_grad for weight in self.bert.parameters()):
            self._inference = []
        super().train(mode)
        return self

    def inference_copy(self) -> nn.Module:
        """Return the weights in the inference precision, converted when they are first needed."""
        if not self._inference:
            self._inference = [self._in_inference_precision(copy.deepcopy(self.bert).eval())]
        return self._inference[0]

    def _packed(self, model: Any) -> PackedBert | PlainTransformer:
        """Return the model in packed form, in float32."""
        device = self.settings.torch_device
        if model.config.model_type == "bert":
            return PackedBert(model).eval().to(device)
        if self.settings.precision not in ("auto", "float32"):  # its batches differ in shape, so rounding would show
            raise InputError(f"`precision` is {self.settings.precision!r}, which needs a BERT; use float32 or auto.")
        return PlainTransformer(model).eval().to(device)

    def _in_inference_precision(self, bert: PackedBert | PlainTransformer) -> nn.Module:
        """Convert ``bert`` in place to the precision of the settings."""
        if isinstance(bert, PlainTransformer) or self.settings.resolved_precision == "float32":
            return bert
        if self.settings.resolved_precision == "int8":
            return quantized(bert, probe=_random_words(self.tokenizer))
        return bert.to(torch.bfloat16)


def _random_words(tokenizer: Any, n_texts: int = 64, length: int = 14) -> tuple[Tensor, Packed]:
    """Return texts of random words between the tokenizer's own first and last token."""
    first, *_, last = tokenize(tokenizer, ["a"], 8).values.tolist()
    words = torch.randint(len(tokenizer), (n_texts, length), generator=torch.Generator().manual_seed(0))
    ids = F.pad(F.pad(words, (1, 0), value=first), (0, 1), value=last)  # (texts, length + 2)
    return ids.flatten(), pack([length + 2] * n_texts)


def _freeze(network: PackedBert | PlainTransformer, trainable_layers: int | None) -> int:
    """Freeze all but the last layers, and return the number of frozen layers."""
    if trainable_layers is None:
        return 0
    layers = network.layers if isinstance(network, PackedBert) else layers_of(network.model)
    return freeze_below(network, layers, trainable_layers)


def freeze_below(model: nn.Module, layers: nn.ModuleList, trainable_layers: int) -> int:
    """Freeze all of ``model`` but the last ``trainable_layers`` of its ``layers``; return the number of frozen ones."""
    if trainable_layers > len(layers):
        raise InputError(f"`trainable_layers` is {trainable_layers}, but this encoder has {len(layers)} layers.")
    frozen = len(layers) - trainable_layers
    model.requires_grad_(False)
    for layer in layers[frozen:]:
        layer.requires_grad_(True)
    return frozen


def layers_of(model: nn.Module) -> nn.ModuleList:
    """Return the layers of a transformer: its longest list of modules."""
    lists = [module for module in model.modules() if isinstance(module, nn.ModuleList)]
    if not lists:
        raise InputError(f"{type(model).__name__} has no list of layers, so `trainable_layers` must be none (all).")
    return max(lists, key=len)
