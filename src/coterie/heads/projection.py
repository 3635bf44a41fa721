"""Projection head of contrastive losses."""

from __future__ import annotations

from torch import nn

WIDTH = 128  # d, the width of z in SCCL, AECL and RSTC


def projection(dim: int, *, width: int = WIDTH, bias: bool = True) -> nn.Sequential:
    """Return g: Linear(D, D), ReLU, Linear(D, d). SCCL Sec. 3.1, G_z of AECL; VaSCL has no bias."""
    return nn.Sequential(nn.Linear(dim, dim, bias=bias), nn.ReLU(), nn.Linear(dim, width, bias=bias))
