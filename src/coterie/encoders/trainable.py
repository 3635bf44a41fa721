"""A transformer that learns: all of it, or its last layers above states that are computed once."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from coterie.contracts import Decoder, Items, Network, Vectors, Words
from coterie.encoders.packed import Packed, PackedBert, PlainTransformer
from coterie.encoders.tokens import Tokens, together, tokenize
from coterie.encoders.transformer import Transformer
from coterie.errors import InputError
from coterie.progress import track


class TransformerNetwork(Network):
    """The weights of a :class:`Transformer` in float32, and how its settings pool and normalise them."""

    def __init__(self, encoder: Transformer, trainable_layers: int | None) -> None:
        tokenizer, model = encoder.load()
        super().__init__(model.config.hidden_size)
        self.settings, self.tokenizer = encoder, tokenizer
        self.bert = encoder.rebuilt(model)
        self.n_frozen = _freeze(self.bert, trainable_layers)
        self._ready: list[nn.Module] = []  # for `embed`; in a list, because it is not to be trained or saved

    @property
    def _cached(self) -> int:
        """How many layers are run once and kept; other models than BERT run theirs every time."""
        return self.n_frozen if isinstance(self.bert, PackedBert) else 0

    def prepare(self, items: Items) -> Tokens:
        """Return token ids, or what the frozen layers make of them, in half precision."""
        tokens = tokenize(self.tokenizer, list(items), self.settings.max_length)
        return self._run_frozen(tokens) if self._cached else tokens

    @torch.inference_mode()
    def _run_frozen(self, tokens: Tokens) -> Tokens:
        below = self._arranged()
        assert isinstance(below, PackedBert)
        states = torch.empty(len(tokens.values), self.dim, dtype=torch.float16)
        with track("Encoding", len(tokens)) as advance:
            for rows in tokens.chunks(self.settings.budget):
                part = tokens[rows]
                ids, packed = part.pack(self.settings.budget)
                x = below.below(ids.to(self.settings.where), packed, layers=self._cached)[: packed.n_tokens]
                places = torch.repeat_interleave(tokens.starts[rows], part.lengths) + packed.positions[: len(x)]
                states[places] = x.to(states.device, states.dtype)
                advance(len(rows))
        return Tokens(states, tokens.lengths, tokens.ids)

    def forward(self, *views: Tokens) -> tuple[Tensor, ...]:
        """Return h (B, D) of each view, from one pass over the tokens of all."""
        tokens, place = together(views).shortest_first()
        values, packed = tokens.pack()
        where = self.settings.where
        with torch.autocast(where.type, torch.bfloat16, enabled=self.settings.fast == "bfloat16"):
            states = self._above(values.to(where), packed)
        h = self.settings.pool(states, packed)
        return torch.split(h[place.to(where)], [len(view) for view in views])

    def _above(self, values: Tensor, packed: Packed) -> Tensor:
        if isinstance(self.bert, PackedBert) and self._cached:
            return self.bert.above(values.float(), packed, layers=self._cached)
        states: Tensor = self.bert(values, packed)
        return states

    def look(self, prepared: Tokens) -> Tensor:
        """Return clean h (N, D)."""
        was_training = self.training
        self.bert.eval()
        h = self.settings.embed_with(self._above, prepared)
        self.bert.train(was_training)
        return torch.from_numpy(h)

    def embed(self, items: Items) -> Vectors:
        """Return h (N, D) in the encoder's precision."""
        tokens = tokenize(self.tokenizer, list(items), self.settings.max_length)
        return self.settings.embed_with(self._arranged(), tokens)

    def pretrained(self) -> tuple[Any, Any]:
        """Return tokenizer and model as transformers knows them, with what was learnt."""
        tokenizer, model = self.settings.load()
        if isinstance(self.bert, PackedBert):
            self.bert.put_back(model)
        else:
            model.load_state_dict(self.bert.model.state_dict())
        return tokenizer, model

    def decoder(self, n_layers: int | None = None, *, tied: bool = True, words: Words = "corpus") -> Decoder:
        """Return TSDAE's decoder, made of the last ``n_layers`` layers; None: those that learn."""
        from coterie.encoders.decoder import TokenDecoder

        return TokenDecoder(self, n_layers, tied=tied, words=words)

    def _arranged(self) -> nn.Module:
        if not self._ready:
            self._ready = [self.settings.arranged(copy.deepcopy(self.bert).eval(), self.tokenizer)]
        return self._ready[0]

    def train(self, mode: bool = True) -> TransformerNetwork:
        """Switch dropout on or off; what was ready to embed may have changed."""
        self._ready = []
        super().train(mode)
        return self


def _freeze(network: PackedBert | PlainTransformer, trainable_layers: int | None) -> int:
    """Let only the last layers learn, and return how many do not."""
    if trainable_layers is None:
        return 0
    layers = network.layers if isinstance(network, PackedBert) else layers_of(network.model)
    return freeze_below(network, layers, trainable_layers)


def freeze_below(model: nn.Module, layers: nn.ModuleList, trainable_layers: int) -> int:
    """Let nothing of ``model`` learn but the last of its ``layers``, and return how many of them do not."""
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
        raise InputError(f"{type(model).__name__} shows no layers, so `trainable_layers` must be none (all).")
    return max(lists, key=len)
