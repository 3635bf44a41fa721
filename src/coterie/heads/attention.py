"""Texts that look at each other: attention whose sequence is the batch."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn


class SampleAttention(nn.Module):
    """One layer of a transformer encoder with one head, over the texts of a batch. AECL Eq. 1-3, G_h.

    The paper prints the attention alone. The authors' code, whose number of parameters is the paper's, has all of
    torch's ``TransformerEncoderLayer``: projection, residuals, norms and a feed-forward part. So has this one.
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
        self.norm_1, self.norm_2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("reference", torch.zeros(0, dim))

    def remember(self, z: Tensor) -> None:
        """Keep z (R, d) as the texts that others attend to where each is ``alone``."""
        self.reference = z.detach().float()

    def _load_from_state_dict(self, state: dict[str, Tensor], prefix: str, *others: Any) -> None:
        """Make room for as many texts as ``state`` remembers: a checkpoint is read before any are."""
        if (kept := state.get(f"{prefix}reference")) is not None:
            self.reference = self.reference.new_zeros(kept.shape)
        super()._load_from_state_dict(state, prefix, *others)

    def forward(self, z: Tensor, *, alone: bool = False) -> tuple[Tensor, Tensor]:
        """Return consistent representations (B, d), and S, how much each row attends to which.

        The rows of z (B, d) attend to each other, S is (B, B); or, ``alone``, each attends to itself and to the texts
        that are remembered, S is (B, 1 + R), and no row depends on the rest of the batch.
        """
        k_1, k_2, t = self.into(z).chunk(3, dim=1)  # Eq. 1
        scale = 1 / math.sqrt(z.shape[1])
        if alone:
            _, r_2, r_t = self.into(self.reference).chunk(3, dim=1)  # (R, d)
            own = (k_1 * k_2).sum(dim=1, keepdim=True)  # (B, 1)
            s = self.dropout((scale * torch.cat([own, k_1 @ r_2.T], dim=1)).softmax(dim=1))
            mixed = s[:, :1] * t + s[:, 1:] @ r_t
        else:
            s = self.dropout((scale * k_1 @ k_2.T).softmax(dim=1))  # Eq. 2
            mixed = s @ t  # Eq. 3
        u = self.norm_1(z + self.dropout(self.out(mixed)))
        return self.norm_2(u + self.dropout(self.feed(u))), s
