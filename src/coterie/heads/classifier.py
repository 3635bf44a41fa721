"""A head that is taught groups, and leaves none of them empty."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Classifier(nn.Module):
    """Logits over K groups: two hidden layers with dropout, then a linear one. AECL's G_p, RSTC's head.

    A network that is taught may never choose some of its groups. ``offset`` (K,) is added to the logits where groups
    are assigned, not where they are learnt; :meth:`reach_all` sets it so that every group has a text.
    """

    offset: Tensor

    def __init__(self, dim: int, n_clusters: int, *, width: int, dropout: float = 0.5) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(dim, width), nn.ReLU(),
            nn.Dropout(dropout), nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, n_clusters),
        )  # fmt: skip
        self.register_buffer("offset", torch.zeros(n_clusters, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (B, K)."""
        logits: Tensor = self.layers(x)
        return logits

    def reach_all(self, logits: Tensor) -> None:
        """Raise groups that no row of ``logits`` (N, K) chooses until each has the one row that is nearest to it.

        A row that is the only one of its group is not taken away from it.
        """
        offset = torch.zeros_like(self.offset)
        logits = logits.double().cpu()
        for k in range(logits.shape[1]):
            labels = (logits + offset).argmax(dim=1)
            sizes = labels.bincount(minlength=logits.shape[1])
            if sizes[k] or not (sizes > 1).any():
                continue
            lead = (logits + offset).amax(dim=1) - (logits[:, k] + offset[k])  # (N,), how far k is behind
            lead[sizes[labels] < 2] = torch.inf
            offset[k] += lead.amin() + 1e-6
        self.offset.copy_(offset)
