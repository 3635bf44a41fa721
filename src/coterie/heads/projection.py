"""Projection heads of contrastive losses."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from coterie.contracts import Network

WIDTH = 128  # d, the width of z in SCCL, AECL and RSTC


def projection(dim: int, *, width: int = WIDTH, bias: bool = True) -> nn.Sequential:
    """Return g: Linear(D, D), ReLU, Linear(D, d). SCCL Sec. 3.1, G_z of AECL; VaSCL has no bias."""
    return nn.Sequential(nn.Linear(dim, dim, bias=bias), nn.ReLU(), nn.Linear(dim, width, bias=bias))


class Projected(nn.Module):
    """Unit vectors of a head above a network: what a momentum encoder averages."""

    def __init__(self, network: Network, head: nn.Module) -> None:
        super().__init__()
        self.network, self.head = network, head

    def forward(self, view: Any) -> Tensor:
        """Return z (B, ..., d) of a view."""
        (h,) = self.network(view)
        return F.normalize(self.head(h), dim=-1)
