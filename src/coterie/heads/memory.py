"""Remembered texts that answer for new ones by the vote of the nearest."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Memory(nn.Module):
    """Unit vectors in half precision (N, D), their labels (N,), and a key (N,) by which a text is known again."""

    h: Tensor
    labels: Tensor
    keys: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.register_buffer("h", torch.zeros(0, dim, dtype=torch.float16))
        self.register_buffer("labels", torch.zeros(0, dtype=torch.int32))
        self.register_buffer("keys", torch.zeros(0, dtype=torch.int64))

    def remember(self, h: Tensor, labels: Tensor) -> None:
        """Keep h (N, D) and labels (N,), in the order of their keys."""
        self.keys, order = _keys(h).sort()
        self.h, self.labels = F.normalize(h, dim=1).half()[order], labels.int()[order]

    def vote(self, h: Tensor, n_clusters: int, *, k: int, power: float = 3.0) -> Tensor:
        r"""Return q_{ik} \propto \sum_{j \in NN(i)} \cos(h_i, h_j)^{power} [y_j = k], shape (B, K).

        A text that is remembered itself keeps its own label, and is as sure of it as its neighbours are.
        """
        place, known = self._find(h)
        cosine, index = (F.normalize(h.float(), dim=1) @ self.h.float().T).topk(min(k + 1, len(self.h)), dim=1)
        weight = cosine.double().clamp_min(0) ** power + 1e-12  # (B, k + 1); all alike when nothing is near
        silent = index == torch.where(known, place, -1)[:, None]  # a text has no vote on itself
        if index.shape[1] > k:  # one was asked for in its place; where it is not needed, it is silent
            silent[~silent.any(dim=1), -1] = True
        weight = weight.masked_fill(silent, 1e-12)
        q = torch.zeros(len(h), n_clusters, dtype=torch.float64)
        q.scatter_add_(1, self.labels.long()[index], weight)
        rows = known.nonzero().squeeze(1)
        own = self.labels.long()[place[rows]]
        q[rows, own] = torch.maximum(q[rows, own], q[rows].amax(dim=1) * (1 + 1e-6))
        return q / q.sum(dim=1, keepdim=True)

    def _find(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """Return where each row (B,) is remembered, and whether it is."""
        keys = _keys(h)
        place = torch.searchsorted(self.keys, keys).clamp_max(len(self.keys) - 1)
        return place, self.keys[place] == keys


def _keys(h: Tensor) -> Tensor:
    """Return a whole number for each row (B,): equal for equal rows, different for others but for chance (2^-64)."""
    bits = h.float().contiguous().view(torch.int32).long()  # (B, D)
    factors = torch.arange(1, 2 * h.shape[1], 2) * 6364136223846793005  # odd, and wrapping around the same way always
    mixed = (bits ^ (bits << 21)) * factors
    return (mixed ^ (mixed >> 29)).sum(dim=1)
