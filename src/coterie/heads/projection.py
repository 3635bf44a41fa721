"""A head whose output is contrasted, so that the embedding itself need not be."""

from __future__ import annotations

from torch import nn

WIDTH = 128  # of z, in SCCL, AECL and RSTC


def projection(dim: int, *, width: int = WIDTH) -> nn.Sequential:
    """Return g: Linear(D, D), ReLU, Linear(D, d). SCCL Sec. 3.1, AECL's G_z."""
    return nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, width))
