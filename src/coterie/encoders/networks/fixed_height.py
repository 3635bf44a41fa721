"""Run a function on chunks of one fixed height, so that a row never depends on its batch.

Matrix products of different heights may round differently. With a fixed height, padded at the end, they cannot.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import torch
import torch.nn.functional as F
from torch import Tensor

from coterie.progress import track


def in_fixed_chunks(function: Callable[[Tensor], Tensor], x: Tensor, height: int, *, label: str = "") -> Tensor:
    """Return ``function(x)`` for x (N, ...), computed ``height`` rows at a time; ``label`` shows progress."""
    parts = []
    with track(label, len(x)) if label else nullcontext(_no_progress) as advance:
        for part in torch.split(x, height):
            padding = (0, 0) * (x.dim() - 1) + (0, height - len(part))
            parts.append(function(F.pad(part, padding))[: len(part)].cpu())
            advance(len(part))
    return torch.cat(parts)


def _no_progress(_done: int, /, *, note: str = "") -> None:
    """Report nothing."""
