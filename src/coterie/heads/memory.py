"""Remembered texts that answer for new ones by the vote of the nearest."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_OWN_SHARE = 0.51  # of a remembered text's own label in its answer: more than all others together


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

        A text that is remembered itself keeps its own label.
        """
        cosine, index = (F.normalize(h.float(), dim=1) @ self.h.float().T).topk(min(k, len(self.h)), dim=1)
        weight = cosine.double().clamp_min(0) ** power + 1e-12  # (B, k); all alike when nothing is near
        q = torch.zeros(len(h), n_clusters, dtype=torch.float64)
        q.scatter_add_(1, self.labels.long()[index], weight / weight.sum(dim=1, keepdim=True))
        keys = _keys(h)
        place = torch.searchsorted(self.keys, keys).clamp_max(len(self.keys) - 1)
        known = (self.keys[place] == keys).nonzero().squeeze(1)
        q[known] *= 1 - _OWN_SHARE
        q[known, self.labels.long()[place[known]]] += _OWN_SHARE
        return q


def _keys(h: Tensor) -> Tensor:
    """Return a whole number for each row (B,): equal for equal rows, different for others but for chance (2^-64)."""
    bits = h.float().contiguous().view(torch.int32).long()  # (B, D)
    factors = torch.arange(1, 2 * h.shape[1], 2) * 6364136223846793005  # odd, and wrapping around the same way always
    mixed = (bits ^ (bits << 21)) * factors
    return (mixed ^ (mixed >> 29)).sum(dim=1)
