"""Tokens of many texts in one tensor, without padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from coterie.encoders.engine.packed import Packed, pack


@dataclass(frozen=True)
class Tokens:
    """The token ids (M,) of N texts, or the outputs (M, D) of frozen layers."""

    values: Tensor
    lengths: Tensor  # (N,)
    token_ids: Tensor | None = None  # (M,) the ids, when the values are states

    @property
    def ids(self) -> Tensor:
        """The token ids (M,), whatever the values are."""
        return self.values if self.token_ids is None else self.token_ids

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
        return Tokens(self.values[places], lengths, None if self.token_ids is None else self.token_ids[places])

    def shortest_first(self) -> tuple[Tokens, Tensor]:
        """Return the texts sorted by length, and the new position (N,) of each."""
        order = self.lengths.argsort(stable=True)
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order))
        return self[order], place

    def pack(self, rows: int = 0) -> tuple[Tensor, Packed]:
        """Return the values padded to ``rows``, and their layout; texts must be sorted by length."""
        packed = pack(self.lengths.tolist(), rows=rows)
        padding = packed.rows - len(self.values)
        return F.pad(self.values, (0, 0) * (self.values.dim() - 1) + (0, padding)), packed

    def chunks(self, budget: int) -> Iterator[Tensor]:
        """Yield rows in chunks of at most ``budget`` tokens, shortest texts first."""
        order = self.lengths.argsort(stable=True)
        ends = self.lengths[order].cumsum(0)
        first, done = 0, 0
        while first < len(order):
            last = max(int(torch.searchsorted(ends, done + budget, right=True)), first + 1)
            yield order[first:last]
            first, done = last, int(ends[last - 1])


def concatenate(views: Sequence[Tokens]) -> Tokens:
    """Return several views as one, without the ids beside states."""
    return Tokens(torch.cat([view.values for view in views]), torch.cat([view.lengths for view in views]))


def tokenize(tokenizer: Any, texts: Sequence[str], max_length: int) -> Tokens:
    """Return the ids of every text, special tokens included."""
    ids: list[list[int]] = []
    if texts:
        options = {"return_attention_mask": False, "return_token_type_ids": False}
        ids = tokenizer(list(texts), truncation=True, max_length=max_length, **options)["input_ids"]
    lengths = torch.tensor([len(row) for row in ids], dtype=torch.long)
    return Tokens(torch.tensor([i for row in ids for i in row], dtype=torch.long), lengths)
