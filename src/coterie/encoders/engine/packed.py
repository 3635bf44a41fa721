"""A transformer over texts packed end to end, so that no padding is computed.

Texts of equal length form a group. Everything that works on single tokens (the linear layers, nearly all
of the work) sees all tokens as one matrix (M, D); only attention works group by group.

Matrix products of different heights may round differently, so an embedding could still depend on the size of
the batch. With ``rows`` the matrix is always padded to the same height, and it does not.
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
    """``texts`` texts of ``length`` tokens each."""

    texts: int
    length: int


@dataclass(frozen=True)
class Packed:
    """The layout of texts in a matrix (M, ...): end to end, shortest text first, padding at the end."""

    groups: tuple[Group, ...]
    rows: int  # M, padding included

    def split(self, x: Tensor) -> Iterator[Tensor]:
        """Yield the rows of ``x`` (M, ...) group by group as (B, T, ...), without the padding."""
        sizes = [group.texts * group.length for group in self.groups]
        parts = torch.split(x, [*sizes, len(x) - sum(sizes)])  # one operation, whose gradient is one concatenation
        for group, part in zip(self.groups, parts, strict=False):
            yield part.view(group.texts, group.length, *x.shape[1:])

    @property
    def positions(self) -> Tensor:
        """Return the position of each token in its text (M,)."""
        places = [torch.arange(g.length).repeat(g.texts) for g in self.groups]
        return torch.cat([*places, torch.zeros(self.rows - self.n_tokens, dtype=torch.long)])

    @property
    def n_tokens(self) -> int:
        """Return the number of tokens without padding."""
        return sum(group.texts * group.length for group in self.groups)


def pack(lengths: Sequence[int], *, rows: int = 0) -> Packed:
    """Return the layout of texts of ascending ``lengths``, padded to ``rows``."""
    groups = tuple(Group(len(list(same)), length) for length, same in groupby(lengths))
    return Packed(groups, max(rows, sum(lengths)))


class PackedBert(nn.Module):
    """A BERT of transformers with the same weights and outputs, for packed texts."""

    def __init__(self, bert: Any) -> None:
        super().__init__()
        embeddings = bert.embeddings
        self.words = embeddings.word_embeddings
        place = embeddings.position_embeddings.weight + embeddings.token_type_embeddings.weight[0]
        self.places = nn.Parameter(place.detach().clone())
        self.norm = embeddings.LayerNorm
        self.drop = Dropout(bert.config.hidden_dropout_prob)
        self.layers = nn.ModuleList(PackedLayer(layer, bert.config) for layer in bert.encoder.layer)

    def forward(self, ids: Tensor, packed: Packed) -> Tensor:
        """Return the states (M, D) of the tokens ``ids`` (M,)."""
        return self.above(self.below(ids, packed), packed)

    def below(self, ids: Tensor, packed: Packed, *, layers: int = 0) -> Tensor:
        """Return the output of the first ``layers`` layers for token ids (M,)."""
        x: Tensor = self.drop(self.norm(self.words(ids) + self.places[packed.positions.to(ids.device)]))
        for layer in self.layers[:layers]:
            x = layer(x, packed)
        return x

    @torch.no_grad()
    def put_back(self, bert: Any) -> None:
        """Copy the weights back into ``bert``, a model of transformers."""
        embeddings = bert.embeddings
        embeddings.word_embeddings.load_state_dict(self.words.state_dict())
        embeddings.LayerNorm.load_state_dict(self.norm.state_dict())
        if self.places.requires_grad:  # else they are unchanged
            embeddings.position_embeddings.weight.copy_(self.places - embeddings.token_type_embeddings.weight[0])
        for own, layer in zip(self.layers, bert.encoder.layer, strict=True):
            assert isinstance(own, PackedLayer)
            own.put_back(layer)

    def above(self, x: Tensor, packed: Packed, *, layers: int = 0) -> Tensor:
        """Return the output of the layers after the first ``layers``, given their states (M, D)."""
        for layer in self.layers[layers:]:
            x = layer(x, packed)
        return x


class PackedLayer(nn.Module):
    """Attention and feed-forward of one BERT layer, queries, keys and values in one matrix product."""

    def __init__(self, layer: Any, config: Any) -> None:
        super().__init__()
        attention = layer.attention
        self.heads = attention.self.num_attention_heads
        self.qkv = _side_by_side(attention.self.query, attention.self.key, attention.self.value)
        self.out, self.norm_1 = attention.output.dense, attention.output.LayerNorm
        self.up, self.activation = layer.intermediate.dense, layer.intermediate.intermediate_act_fn
        self.down, self.norm_2 = layer.output.dense, layer.output.LayerNorm
        self.drop, self.drop_attention = (
            Dropout(config.hidden_dropout_prob),
            Dropout(config.attention_probs_dropout_prob),
        )

    def forward(self, x: Tensor, packed: Packed) -> Tensor:
        """Return the next states (M, D) of ``x`` (M, D)."""
        return self.feed(self.attend(x, packed))

    def put_back(self, layer: Any) -> None:
        """Copy the weights back into ``layer``, with separate queries, keys and values."""
        attention, output = layer.attention, layer.attention.output
        parts = (attention.self.query, attention.self.key, attention.self.value)
        for part, weight, bias in zip(parts, self.qkv.weight.chunk(3), self.qkv.bias.chunk(3), strict=True):
            part.load_state_dict({"weight": weight, "bias": bias})
        rest = (output.dense, output.LayerNorm, layer.intermediate.dense, layer.output.dense, layer.output.LayerNorm)
        for part, own in zip(rest, (self.out, self.norm_1, self.up, self.down, self.norm_2), strict=True):
            part.load_state_dict(own.state_dict())

    def attend(self, x: Tensor, packed: Packed, *, causal: bool = False) -> Tensor:
        """Return ``x`` (M, D) after attention within each text; ``causal``: to the same and earlier tokens only."""
        parts = [self._attend(part, causal) for part in packed.split(self.qkv(x))]
        mixed = torch.cat([*parts, torch.zeros_like(x[packed.n_tokens :])])
        attended: Tensor = self.norm_1(x + self.drop(self.out(mixed)))
        return attended

    def feed(self, x: Tensor) -> Tensor:
        """Return ``x`` (M, D) after the feed-forward part."""
        fed: Tensor = self.norm_2(x + self.drop(self.down(self.activation(self.up(x)))))
        return fed

    def _attend(self, qkv: Tensor, causal: bool) -> Tensor:
        B, T, width = qkv.shape  # noqa: N806
        q, k, v = qkv.view(B, T, 3, self.heads, width // (3 * self.heads)).permute(2, 0, 3, 1, 4)  # (B, heads, T, d)
        if self.training and self.drop_attention.p:
            score = q @ k.transpose(2, 3) / q.shape[3] ** 0.5  # (B, heads, T, T)
            if causal:
                later = torch.ones(T, T, dtype=torch.bool, device=score.device).triu(1)
                score = score.masked_fill(later, -torch.inf)
            mixed: Tensor = self.drop_attention(score.softmax(dim=3)) @ v
        else:
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return mixed.transpose(1, 2).flatten(2).flatten(0, 1)  # (B T, D)


class Dropout(nn.Module):
    """Dropout; on a CPU four times as fast as torch's, with p rounded to a multiple of 1/256."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Return ``x`` with dropout, scaled to keep the expectation."""
        if not self.training or not self.p:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.p)
        dropped = round(self.p * 256)  # of the 256 values of a byte
        words = torch.empty(-(-x.numel() // 8), dtype=torch.int64).random_(-(2**63), None)  # eight bytes at a time
        keep = words.view(torch.uint8)[: x.numel()].view(x.shape) >= dropped
        return x * (keep * (256 / (256 - dropped)))


class PlainTransformer(nn.Module):
    """Any other transformer, run on one group of equal lengths at a time."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, packed: Packed) -> Tensor:
        """Return the states (M, D) of the tokens ``ids`` (M,)."""
        states = [
            self.model(input_ids=part, attention_mask=torch.ones_like(part)).last_hidden_state.flatten(0, 1)
            for part in packed.split(ids)
        ]
        return torch.cat(states)


def _side_by_side(*layers: nn.Linear) -> nn.Linear:
    """Return one linear layer whose output is the outputs of ``layers`` in a row."""
    width = sum(layer.out_features for layer in layers)
    joined = nn.Linear(layers[0].in_features, width, device="meta").to_empty(device="cpu")  # draws no random numbers
    joined.weight.data = torch.cat([layer.weight.detach() for layer in layers])
    joined.bias.data = torch.cat([layer.bias.detach() for layer in layers])
    return joined
