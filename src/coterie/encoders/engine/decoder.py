"""TSDAE's decoder (Wang et al., EMNLP Findings 2021, arXiv:2104.06979): a text, token by token, from its embedding.

Each layer is one of the encoder's (tied, or a copy), made causal, with a cross-attention to the
embedding of the text between its two halves. The embedding is the only key, so the softmax over keys is always 1: the
output of the attention is exactly the projected value, and neither queries nor keys are needed.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from coterie.contracts import Decoder, Items, OutputVocabulary
from coterie.encoders.engine.layers import packed_layers
from coterie.encoders.engine.network import TransformerNetwork
from coterie.encoders.engine.packed import Dropout, Packed, PackedBert, PackedLayer, pack
from coterie.encoders.engine.tokens import Tokens, tokenize
from coterie.errors import InputError
from coterie.losses.reconstruction import token_cross_entropy


class TokenDecoder(Decoder):
    """The last ``n_layers`` layers of the encoder above its word vectors, which are also the output projection."""

    allowed: Tensor  # (W,) token ids of the output vocabulary
    place: Tensor  # (V,) index of each token id in `allowed`

    def __init__(
        self, network: TransformerNetwork, n_layers: int | None, *, tied: bool, vocabulary: OutputVocabulary
    ) -> None:
        super().__init__()
        layers = packed_layers(network.bert)
        n_trained = len(layers) - network.n_frozen
        n_layers = n_trained or len(layers) if n_layers is None else n_layers
        if n_layers > len(layers):
            raise InputError(f"`decoder_layers` is {n_layers}, but this encoder has {len(layers)} layers.")
        dim, self.vocabulary = network.dim, vocabulary
        self._encoder, self._tied = [network], []  # in lists, because the encoder registers them
        self.copies = nn.ModuleList()
        if tied:
            self._tied = layers[-n_layers:]
        else:
            self.copies.extend(copy.deepcopy(layer).requires_grad_(True) for layer in layers[-n_layers:])
        self.cross = nn.ModuleList(CrossAttention(dim, layers[0].drop.p) for _ in range(n_layers))
        self.head = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.LayerNorm(dim))
        n_words = len(_table(network))
        self.bias = nn.Parameter(torch.zeros(n_words))
        self.register_buffer("allowed", torch.arange(n_words), persistent=False)
        self.register_buffer("place", torch.arange(n_words), persistent=False)

    @property
    def layers(self) -> list[PackedLayer]:
        """The layers: the encoder's own (tied) or copies."""
        return self._tied or [layer for layer in self.copies if isinstance(layer, PackedLayer)]

    def initialize(self, items: Items) -> None:
        """Count the tokens of the texts: the output bias starts at their log frequency."""
        network = self._encoder[0]
        ids = tokenize(network.tokenizer, list(items), network.settings.max_length).ids
        counts = ids.bincount(minlength=len(self.bias)).to(self.bias.device)
        if self.vocabulary == "corpus":
            self.allowed = counts.nonzero().flatten()
            self.place = (counts > 0).cumsum(0) - 1
        self.bias.data.copy_(((counts + 1) / (counts + 1).sum()).log())

    def forward(self, h: Tensor, original: Tokens) -> Tensor:
        """Return L_rec, the mean cross-entropy of the tokens of ``original``, given h (B, D) and the tokens before."""
        states, targets = self.states(h, original)
        table = _table(self._encoder[0])[self.allowed]
        return token_cross_entropy(states, table, self.bias[self.allowed], self.place[targets])

    def states(self, h: Tensor, original: Tokens) -> tuple[Tensor, Tensor]:
        """Return the states (M, D) that predict the next token, and these tokens (M,); shortest text first."""
        network, device = self._encoder[0], h.device
        tokens, place = Tokens(original.ids, original.lengths).shortest_first()
        inputs, targets, packed = _shifted(tokens)
        n_targets = tokens.lengths.to(device) - 1  # all tokens of a text but the first
        h = h[place.argsort().to(device)] * _size(network)
        with torch.autocast(device.type, torch.bfloat16, enabled=network.settings.resolved_precision == "bfloat16"):
            x = _embedded(network, inputs.to(device), packed)
            for layer, cross in zip(self.layers, self.cross, strict=True):
                x = layer.attend(x, packed, causal=True)
                x = layer.feed(cross(x, h, n_targets))
            return self.head(x), targets.to(device)

    def train(self, mode: bool = True) -> TokenDecoder:
        """Switch dropout on or off, also in layers that are the encoder's."""
        super().train(mode)
        for layer in self._tied:
            layer.train(mode)
        return self


class CrossAttention(nn.Module):
    """Attention of every token to one key, the embedding of its text."""

    def __init__(self, dim: int, dropout: float) -> None:
        super().__init__()
        self.value, self.out, self.norm = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.LayerNorm(dim)
        self.drop = Dropout(dropout)

    def forward(self, x: Tensor, h: Tensor, lengths: Tensor) -> Tensor:
        """Return ``x`` (M, D) after attention to h (B, D) of its text; texts have ``lengths`` (B,) tokens."""
        seen = self.out(self.value(h)).repeat_interleave(lengths, dim=0, output_size=len(x))  # (M, D)
        attended: Tensor = self.norm(x + self.drop(seen))
        return attended


def _shifted(tokens: Tokens) -> tuple[Tensor, Tensor, Packed]:
    """Return all tokens but the last of each text, all but the first, and their layout."""
    ends = tokens.lengths.cumsum(0)
    first, last = torch.ones(len(tokens.ids), dtype=torch.bool), torch.ones(len(tokens.ids), dtype=torch.bool)
    first[ends - tokens.lengths], last[ends - 1] = False, False
    return tokens.ids[last], tokens.ids[first], pack((tokens.lengths - 1).tolist())


def _embedded(network: TransformerNetwork, ids: Tensor, packed: Packed) -> Tensor:
    """Return the input of the encoder's first layer for ``ids`` (M,)."""
    if isinstance(network.bert, PackedBert):
        return network.bert.below(ids, packed)
    embeddings = network.bert.model.get_submodule("embeddings")
    return torch.cat([embeddings(input_ids=part).flatten(0, 1) for part in packed.split(ids)])


def _table(network: TransformerNetwork) -> Tensor:
    """Return the word embeddings (V, D)."""
    plain: Any = getattr(network.bert, "model", None)
    table = network.bert.words if isinstance(network.bert, PackedBert) else plain.get_input_embeddings()
    weight: Tensor = table.weight
    return weight


def _size(network: TransformerNetwork) -> float:
    """Return the factor that gives an embedding the magnitude of a token state."""
    return network.dim**0.5 if network.settings.normalize else 1.0
