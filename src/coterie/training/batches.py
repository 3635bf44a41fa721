"""Shuffle items into batches."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

_PASSES = 16  # passes in memory: as many trainings can run at the same time without shuffling in every step


@lru_cache(maxsize=_PASSES)
def batches(n_items: int, batch_size: int, *, seed: int, number: int) -> tuple[Tensor, ...]:
    """Return the rows of each step of pass ``number`` over the items: shuffled, in batches of nearly equal size."""
    order = torch.randperm(n_items, generator=torch.Generator().manual_seed(seed * 1_000_003 + number))
    return order.tensor_split(n_batches(n_items, batch_size))


def n_batches(n_items: int, batch_size: int) -> int:
    """Return the number of steps of one pass over the items."""
    return -(-n_items // batch_size)
