"""A fully connected layer above an encoder, as part of what is trained: h = FC_e(encoder(x)). DECCRL Eq. 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie.contracts import Items, Network, Prepared, Vectors

_ROWS = 512  # matrix products always have this height, so that the batch cannot change a row


class Latent(Network):
    """The vectors of another network, seen through FC_e, which starts as near to the identity as its width allows.

    As wide as they are, it is the identity; narrower, random directions that keep distances on average.
    """

    def __init__(self, inner: Network, dim: int | None) -> None:
        super().__init__(dim or inner.dim)
        self.inner, self.takes, self.from_scratch = inner, inner.dim, inner.from_scratch
        self.fc_e = nn.Linear(inner.dim, self.dim)
        nn.init.zeros_(self.fc_e.bias)
        if self.dim == inner.dim:
            nn.init.eye_(self.fc_e.weight)
        else:
            nn.init.orthogonal_(self.fc_e.weight, gain=max(1, inner.dim / self.dim) ** 0.5)

    def prepare(self, items: Items) -> Prepared:
        """Do once what training does not change."""
        return self.inner.prepare(items)

    def forward(self, *views: Any) -> tuple[Tensor, ...]:
        """Return h (B, L) of each view."""
        return tuple(self.fc_e(x) for x in self.inner(*views))

    def look(self, prepared: Any) -> Tensor:
        """Return clean h (N, L) of everything."""
        return self._through(self.inner.look(prepared))

    def embed(self, items: Items) -> Vectors:
        """Return h (N, L), each row from its own item alone."""
        return np.asarray(self._through(torch.from_numpy(self.inner.embed(items))).numpy())

    @torch.no_grad()
    def _through(self, x: Tensor) -> Tensor:
        where = self.fc_e.weight.device
        parts = [self.fc_e(F.pad(part, (0, 0, 0, _ROWS - len(part))).to(where)) for part in torch.split(x, _ROWS)]
        return torch.cat(parts)[: len(x)].cpu()
