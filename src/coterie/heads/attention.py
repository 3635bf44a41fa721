"""Attention between the texts of a batch."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn


class SampleAttention(nn.Module):
    """One transformer encoder layer with one head whose sequence is the batch. AECL Eq. 1-3, G_h.

    The paper shows the attention only. The official code, which has the parameter count of the paper, uses torch's
    whole ``TransformerEncoderLayer``: output projection, residuals, norms and a feed-forward part. So does this class.
    """

    reference: Tensor

    def __init__(self, dim: int, *, width: int = 256, dropout: float = 0.1) -> None:
        super().__init__()
        self.into = nn.Linear(dim, 3 * dim)  # W_K1, W_K2 and W_T in one matrix
        nn.init.xavier_uniform_(self.into.weight)
        nn.init.zeros_(self.into.bias)
        self.out = nn.Linear(dim, dim)
        nn.init.zeros_(self.out.bias)
        self.feed = nn.Sequential(nn.Linear(dim, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, dim))
        self.norm_1 = nn.LayerNorm(dim)
        self.norm_2 = nn.LayerNorm(dim)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("reference", torch.zeros(0, dim))

    def store_reference(self, z: Tensor) -> None:
        """Store the projections z (R, d) of the reference texts."""
        self.reference = z.detach().float()

    def _load_from_state_dict(self, state: dict[str, Tensor], prefix: str, *others: Any) -> None:
        """Resize ``reference`` before loading: the number of reference texts is known from the state dict only."""
        stored = state.get(f"{prefix}reference")
        if stored is not None:
            self.reference = self.reference.new_zeros(stored.shape)
        super()._load_from_state_dict(state, prefix, *others)

    def forward(self, z: Tensor, *, against_reference: bool = False) -> tuple[Tensor, Tensor]:
        """Return consistent representations (B, d) and the attention S of projections z (B, d).

        By default the rows attend to each other and S is (B, B). With ``against_reference`` each row attends to
        itself and the reference texts, so that it does not depend on the rest of the batch, and S is (B, 1 + R).
        """
        k_1, k_2, t = self.into(z).chunk(3, dim=1)  # (B, d) each, Eq. 1
        scale = 1 / math.sqrt(z.shape[1])
        if against_reference:
            _, k_2_reference, t_reference = self.into(self.reference).chunk(3, dim=1)  # (R, d) each
            own = (k_1 * k_2).sum(dim=1, keepdim=True)  # (B, 1)
            s = self.dropout((scale * torch.cat([own, k_1 @ k_2_reference.T], dim=1)).softmax(dim=1))
            mixed = s[:, :1] * t + s[:, 1:] @ t_reference
        else:
            s = self.dropout((scale * k_1 @ k_2.T).softmax(dim=1))  # Eq. 2
            mixed = s @ t  # Eq. 3
        u = self.norm_1(z + self.dropout(self.out(mixed)))
        return self.norm_2(u + self.dropout(self.feed(u))), s
