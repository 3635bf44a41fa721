"""Run a function on chunks of one fixed height, so that a row never depends on its batch, not even in its last bit.

Matrix products of different heights may round differently, and so may the rows of one product whose addresses in memory
are aligned differently. Here the height is fixed, padded at the end, and the width of the products is a multiple of
16 numbers, padded with zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from coterie.progress import track

_ALIGNED = 16  # numbers: 64 bytes in float32, a multiple of it in float64


def in_fixed_chunks(function: Callable[[Tensor], Tensor], x: Tensor, height: int, *, label: str = "") -> Tensor:
    """Return ``function(x)`` for x (N, ...), computed ``height`` rows at a time; ``label`` shows progress."""
    parts = []
    with track(label, len(x)) if label else nullcontext(_no_progress) as advance, AlignedProducts():
        for part in torch.split(x, height):
            padding = (0, 0) * (x.dim() - 1) + (0, height - len(part))
            parts.append(function(F.pad(part, padding))[: len(part)].cpu())
            advance(len(part))
    return torch.cat(parts)


def aligned(x: Tensor) -> Tensor:
    """Return ``x`` (..., D) with zeros appended to its rows, so that all of them begin at aligned addresses."""
    missing = -x.shape[-1] % _ALIGNED
    return F.pad(x, (0, missing)) if missing else x.contiguous()


class AlignedProducts(TorchFunctionMode):
    """Computes linear layers and ``@`` with aligned rows, for the current thread."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call ``func``, a function of torch; pad the inputs of products first."""
        if func is F.linear and not kwargs:
            x, weight, *bias = args
            return func(aligned(x), aligned(weight), *bias)
        if func in (torch.matmul, Tensor.matmul, Tensor.__matmul__) and not kwargs:
            a, b = args
            if b.dim() == 1:
                return torch.matmul(aligned(a), aligned(b))
            return torch.matmul(aligned(a), aligned(b.mT).mT)
        return func(*args, **(kwargs or {}))


def _no_progress(_done: int, /, *, note: str = "") -> None:
    """Report nothing."""
