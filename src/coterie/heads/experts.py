"""One projection for each cluster (MiCE, Tsai et al., ICLR 2021)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Experts(nn.Module):
    r"""f_k(h) = W_k h for each cluster k, and the prototypes \mu_k."""

    def __init__(self, dim: int, n_clusters: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_clusters, width, dim) / dim**0.5)  # (K, d, D)
        self.mu = nn.Parameter(F.normalize(torch.randn(n_clusters, width), dim=1))  # (K, d)

    def forward(self, h: Tensor) -> Tensor:
        """Return f (B, K, d) of h (B, D), not yet of unit length."""
        n_clusters, width, dim = self.weight.shape
        return (h @ self.weight.reshape(-1, dim).T).view(len(h), n_clusters, width)

    @torch.no_grad()
    def share(self) -> None:
        """Let all experts begin as the first."""
        self.weight.copy_(self.weight[0].expand_as(self.weight))
