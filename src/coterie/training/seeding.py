"""One seed decides everything, and nothing outside is disturbed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw torch's random numbers from ``seed``; afterwards the caller's are as they were."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


def batches(n_items: int, batch_size: int, *, seed: int, epoch: int) -> tuple[Tensor, ...]:
    """Return the rows of each step of an epoch: shuffled, as even as possible, the same whenever it is asked."""
    order = torch.randperm(n_items, generator=torch.Generator().manual_seed(seed * 1_000_003 + epoch))
    return order.tensor_split(n_batches(n_items, batch_size))


def n_batches(n_items: int, batch_size: int) -> int:
    """Return how many steps an epoch has."""
    return -(-n_items // batch_size)
