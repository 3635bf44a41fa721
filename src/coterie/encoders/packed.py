"""Transformers over texts laid end to end, so that no padding is ever computed.

Texts of equal length form a group. Everything that looks at one token alone (the linear layers, nearly all
of the work) sees all tokens as one matrix (M, D); only attention works group by group.

Matrix products of different heights may round differently, so a text's vector could still depend on how much
else is in the batch. With ``rows`` the matrix is always filled up to the same height, and it does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Group(NamedTuple):
    """``texts`` texts of ``length`` tokens each, from row ``start`` on."""

    start: int
    texts: int
    length: int


@dataclass(frozen=True)
class Packed:
    """The token ids of some texts, end to end, shortest text first; perhaps with filler behind them."""

    ids: Tensor  # (M,)
    groups: tuple[Group, ...]

    def split(self, x: Tensor) -> Iterator[Tensor]:
        """Yield the rows of ``x`` (M, ...) group by group as (B, T, ...); never the filler."""
        for start, texts, length in self.groups:
            yield x[start : start + texts * length].view(texts, length, *x.shape[1:])

    @property
    def positions(self) -> Tensor:
        """Return the place of each token in its text (M,)."""
        places = [torch.arange(g.length).repeat(g.texts) for g in self.groups]
        return torch.cat([*places, torch.zeros(len(self.ids) - self.n_tokens, dtype=torch.long)])

    @property
    def n_tokens(self) -> int:
        """Return how many tokens are not filler."""
        last = self.groups[-1]
        return last.start + last.texts * last.length


def pack(token_ids: Sequence[Sequence[int]], *, rows: int = 0) -> Packed:
    """Lay texts, sorted by length, end to end, and fill up to ``rows``."""
    groups: list[Group] = []
    start = 0
    for length, same in groupby(map(len, token_ids)):
        texts = len(list(same))
        groups.append(Group(start, texts, length))
        start += texts * length
    filler = [0] * max(rows - start, 0)
    return Packed(torch.tensor([i for ids in token_ids for i in ids] + filler), tuple(groups))


class PackedBert(nn.Module):
    """A BERT from transformers, re-arranged; the numbers are the same."""

    def __init__(self, bert: Any) -> None:
        super().__init__()
        embeddings = bert.embeddings
        self.words = embeddings.word_embeddings
        place = embeddings.position_embeddings.weight + embeddings.token_type_embeddings.weight[0]
        self.places = nn.Parameter(place.detach().clone())
        self.norm = embeddings.LayerNorm
        self.layers = nn.ModuleList(PackedLayer(layer) for layer in bert.encoder.layer)

    def forward(self, packed: Packed) -> list[Tensor]:
        """Return the token states of each group (B, T, D)."""
        x = self.norm(self.words(packed.ids) + self.places[packed.positions.to(packed.ids.device)])
        for layer in self.layers:
            x = layer(x, packed)
        return list(packed.split(x))


class PackedLayer(nn.Module):
    """Attention and feed-forward of one BERT layer, queries, keys and values in one matrix product."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        attention = layer.attention
        self.heads = attention.self.num_attention_heads
        self.qkv = _side_by_side(attention.self.query, attention.self.key, attention.self.value)
        self.out, self.norm_1 = attention.output.dense, attention.output.LayerNorm
        self.up, self.activation = layer.intermediate.dense, layer.intermediate.intermediate_act_fn
        self.down, self.norm_2 = layer.output.dense, layer.output.LayerNorm

    def forward(self, x: Tensor, packed: Packed) -> Tensor:
        """Return the next states (M, D) of ``x`` (M, D)."""
        qkv = self.qkv(x)
        mixed = torch.cat([*map(self._attend, packed.split(qkv)), torch.zeros_like(x[packed.n_tokens :])])
        x = self.norm_1(x + self.out(mixed))
        x = self.norm_2(x + self.down(self.activation(self.up(x))))
        return x

    def _attend(self, qkv: Tensor) -> Tensor:
        B, T, width = qkv.shape  # noqa: N806
        q, k, v = qkv.view(B, T, 3, self.heads, width // (3 * self.heads)).permute(2, 0, 3, 1, 4)  # (B, heads, T, d)
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2).flatten(0, 1)  # (B T, D)


class PlainTransformer(nn.Module):
    """Any other transformer, one group of equal lengths at a time."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, packed: Packed) -> list[Tensor]:
        """Return the token states of each group (B, T, D)."""
        return [
            self.model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
            for ids in packed.split(packed.ids)
        ]


def _side_by_side(*layers: nn.Linear) -> nn.Linear:
    """Return one linear layer whose output is the outputs of ``layers`` in a row."""
    joined = nn.Linear(layers[0].in_features, sum(layer.out_features for layer in layers))
    joined.weight.data = torch.cat([layer.weight.detach() for layer in layers])
    joined.bias.data = torch.cat([layer.bias.detach() for layer in layers])
    return joined
