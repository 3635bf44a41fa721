"""A fully connected layer above another network, trained with it: h = FC_e(network(x)). DECCRL Eq. 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from coterie.contracts import Items, Network, Prepared, Vectors
from coterie.fixed_height import in_fixed_chunks

_HEIGHT = 512  # rows of every matrix product at inference


class FCNetwork(Network):
    """Another network followed by FC_e.

    FC_e of equal width is initialized to the identity, a narrower one to random orthogonal directions that preserve
    distances on average.
    """

    def __init__(self, inner: Network, dim: int | None) -> None:
        super().__init__(dim or inner.dim)
        self.inner, self.from_scratch = inner, inner.from_scratch
        self.fc_e = nn.Linear(inner.dim, self.dim)
        nn.init.zeros_(self.fc_e.bias)
        if self.dim == inner.dim:
            nn.init.eye_(self.fc_e.weight)
        else:
            nn.init.orthogonal_(self.fc_e.weight, gain=max(1, inner.dim / self.dim) ** 0.5)

    def encoder_parameters(self) -> Iterator[nn.Parameter]:
        """Return those of the inner network: FC_e is new."""
        return self.inner.encoder_parameters()

    def prepare(self, items: Items) -> Prepared:
        """Precompute what training does not change."""
        return self.inner.prepare(items)

    def forward(self, *views: Any) -> tuple[Tensor, ...]:
        """Return h (B, L) of each view."""
        return tuple(self.fc_e(x) for x in self.inner(*views))

    def encode(self, prepared: Any) -> Tensor:
        """Return h (N, L) without dropout."""
        return self._project(self.inner.encode(prepared))

    def embed(self, items: Items) -> Vectors:
        """Return h (N, L) for inference."""
        return np.asarray(self._project(torch.from_numpy(self.inner.embed(items))).numpy())

    def embed_corpus(self, items: Items, prepared: Prepared, encoded: Vectors | None = None) -> Vectors:
        """Return h (N, L) of the training items."""
        return np.asarray(self._project(torch.from_numpy(self.inner.embed_corpus(items, prepared))).numpy())

    @torch.no_grad()
    def _project(self, x: Tensor) -> Tensor:
        device = self.fc_e.weight.device
        return in_fixed_chunks(lambda part: self.fc_e(part.to(device)), x, _HEIGHT)
