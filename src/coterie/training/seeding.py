"""One seed decides everything, and nothing outside is disturbed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import torch
from torch import Tensor


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw torch's random numbers from ``seed``; afterwards the caller's are as they were."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


def random_states() -> dict[str, Tensor]:
    """Return where torch's random numbers are: on the processor and, where there is one, on the graphics card."""
    states = {"cpu": torch.get_rng_state()}
    return states | ({"cuda": torch.cuda.get_rng_state()} if torch.cuda.is_available() else {})


def set_random_states(states: dict[str, Tensor]) -> None:
    """Go on from where :func:`random_states` was asked."""
    torch.set_rng_state(states["cpu"])
    if "cuda" in states and torch.cuda.is_available():
        torch.cuda.set_rng_state(states["cuda"])


@lru_cache(maxsize=1)
def batches(n_items: int, batch_size: int, *, seed: int, number: int) -> tuple[Tensor, ...]:
    """Return the rows of each step of a pass: shuffled, as even as possible, the same whenever it is asked."""
    order = torch.randperm(n_items, generator=torch.Generator().manual_seed(seed * 1_000_003 + number))
    return order.tensor_split(n_batches(n_items, batch_size))


def n_batches(n_items: int, batch_size: int) -> int:
    """Return how many steps see every item once."""
    return -(-n_items // batch_size)
