"""Texts of different lengths end to end, so that no padding is ever stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from coterie.encoders.packed import Packed, pack


@dataclass(frozen=True)
class Tokens:
    """The token ids (M,) of N texts, or the states (M, D) that frozen layers make of them."""

    values: Tensor
    lengths: Tensor  # (N,)
    kept: Tensor | None = None  # (M,) the ids, where the values are states

    @property
    def ids(self) -> Tensor:
        """The token ids (M,), whatever the values are."""
        return self.values if self.kept is None else self.kept

    @cached_property
    def starts(self) -> Tensor:
        """Where each text begins (N,)."""
        return self.lengths.cumsum(0) - self.lengths

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, rows: Tensor) -> Tokens:
        """Return the texts ``rows`` (B,), in that order."""
        lengths = self.lengths[rows]
        before = lengths.cumsum(0) - lengths
        places = torch.repeat_interleave(self.starts[rows] - before, lengths) + torch.arange(int(lengths.sum()))
        return Tokens(self.values[places], lengths, None if self.kept is None else self.kept[places])

    def shortest_first(self) -> tuple[Tokens, Tensor]:
        """Return the texts by length, and the place (N,) where each went."""
        order = self.lengths.argsort(stable=True)
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order))
        return self[order], place

    def pack(self, rows: int = 0) -> tuple[Tensor, Packed]:
        """Return the values filled up to ``rows``, and which of them are which text; shortest must come first."""
        packed = pack(self.lengths.tolist(), rows=rows)
        filler = packed.rows - len(self.values)
        return F.pad(self.values, (0, 0) * (self.values.dim() - 1) + (0, filler)), packed

    def chunks(self, budget: int) -> Iterator[Tensor]:
        """Yield rows, shortest texts first, at most ``budget`` tokens at a time: more would not fit the cache."""
        order = self.lengths.argsort(stable=True)
        ends = self.lengths[order].cumsum(0)
        first, done = 0, 0
        while first < len(order):
            last = max(int(torch.searchsorted(ends, done + budget, right=True)), first + 1)
            yield order[first:last]
            first, done = last, int(ends[last - 1])


def together(views: Sequence[Tokens]) -> Tokens:
    """Return several views as one; ids beside states are left behind."""
    return Tokens(torch.cat([view.values for view in views]), torch.cat([view.lengths for view in views]))


def tokenize(tokenizer: Any, texts: Sequence[str], max_length: int) -> Tokens:
    """Return the ids of every text, special tokens included."""
    ids: list[list[int]] = []
    if texts:
        options = {"return_attention_mask": False, "return_token_type_ids": False}
        ids = tokenizer(list(texts), truncation=True, max_length=max_length, **options)["input_ids"]
    lengths = torch.tensor([len(row) for row in ids], dtype=torch.long)
    return Tokens(torch.tensor([i for row in ids for i in row], dtype=torch.long), lengths)
