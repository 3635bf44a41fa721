"""What can be trained above vectors that are fixed: tf-idf, word vectors, the caller's own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie.contracts import Decoder, Items, Network, Prepared, Vectors, Words
from coterie.losses.reconstruction import squared_error

_WIDTH = 256  # of the bottleneck
_ROWS = 512  # matrix products always have this height, so that the batch cannot change a row


class LinearNetwork(Network):
    r"""h = x + W_2 W_1 dropout(x), which starts as h = x because W_2 starts at zero."""

    def __init__(self, dim: int, embed: Callable[[Items], Vectors], *, dropout: float = 0.1) -> None:
        super().__init__(dim)
        width = min(dim, _WIDTH)
        self.inward, self.outward = nn.Linear(dim, width, bias=False), nn.Linear(width, dim, bias=False)
        nn.init.orthogonal_(self.inward.weight)
        nn.init.zeros_(self.outward.weight)
        self.dropout = nn.Dropout(dropout)
        self._embed = embed

    def prepare(self, items: Items) -> Tensor:
        """Return the fixed vectors x (N, D)."""
        return torch.from_numpy(self._embed(items))

    def forward(self, *views: Tensor) -> tuple[Tensor, ...]:
        """Return h (B, D) of each view."""
        x = torch.cat(views)
        return torch.split(self._change(x), [len(view) for view in views])

    def _change(self, x: Tensor) -> Tensor:
        change: Tensor = self.outward(self.inward(self.dropout(x)))
        return x + change

    @torch.no_grad()
    def look(self, prepared: Tensor) -> Tensor:
        """Return clean h (N, D), a fixed number of rows at a time."""
        was_training = self.training
        self.eval()
        parts = [self._change(F.pad(x, (0, 0, 0, _ROWS - len(x))))[: len(x)] for x in torch.split(prepared, _ROWS)]
        self.train(was_training)
        return torch.cat(parts)

    def embed(self, items: Items) -> Vectors:
        """Return h (N, D)."""
        return np.asarray(self.look(self.prepare(items)).numpy())

    def decoder(self, n_layers: int | None = None, *, tied: bool = True, words: Words = "corpus") -> Decoder:
        """Return what finds x again in h; there are no words and no layers, so it has no settings."""
        return VectorDecoder(self.dim)


class VectorDecoder(Decoder):
    """The vector itself, where there are no tokens: x = W h, which starts as the identity."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.back = nn.Linear(dim, dim)
        nn.init.eye_(self.back.weight)
        nn.init.zeros_(self.back.bias)

    def forward(self, h: Tensor, original: Prepared) -> Tensor:
        """Return how far what is told from h (B, D) is from the fixed vectors x (B, D)."""
        return squared_error(self.back(h), torch.as_tensor(original))
