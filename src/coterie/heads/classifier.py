"""Classifier head over the clusters, with a correction for clusters that it never predicts."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Classifier(nn.Module):
    """Logits over K clusters: two hidden layers with dropout, then a linear layer. G_p of AECL, the head of RSTC.

    With ``width=None`` there are no hidden layers: the head of ClusterBERT.

    A classifier may never predict some of the clusters. ``offset`` (K,) is added to the logits for assignment, not in
    training. :meth:`cover_all_clusters` sets it so that every cluster has at least one row.
    """

    offset: Tensor

    def __init__(self, dim: int, n_clusters: int, *, width: int | None, dropout: float = 0.5) -> None:
        super().__init__()
        hidden: list[nn.Module] = []
        if width is not None:
            hidden = [
                nn.Dropout(dropout),
                nn.Linear(dim, width),
                nn.ReLU(),
                nn.Dropout(dropout),
                nn.Linear(width, width),
                nn.ReLU(),
            ]
        self.layers = nn.Sequential(*hidden, nn.Linear(width or dim, n_clusters))
        self.register_buffer("offset", torch.zeros(n_clusters, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (B, K) of x (B, D), without the offset."""
        logits: Tensor = self.layers(x)
        return logits

    def cover_all_clusters(self, logits: Tensor) -> bool:
        """Set ``offset`` so that every cluster is the largest in some row of ``logits`` (N, K).

        Return whether that worked. It is not tried if more than a tenth of the clusters are empty, because such a
        head has not learned the clusters yet. Then ``offset`` is zero.
        """
        logits = logits.double().cpu()
        offset = torch.zeros(self.offset.shape, dtype=torch.float64)
        n_clusters = len(offset)
        for _ in range(2 * n_clusters):  # a raised cluster may take the last row of another, which is raised next
            scores = logits + offset
            best, labels = scores.max(dim=1)  # (N,)
            empty = (labels.bincount(minlength=n_clusters) == 0).nonzero().flatten()
            if not len(empty):
                self.offset.copy_(offset)
                return True
            if len(empty) > n_clusters / 10:
                break
            gaps = (best - scores[:, empty[0]]).sort().values[:2]
            offset[empty[0]] += gaps.mean()  # above the gap of the nearest row, below that of the second
        self.offset.zero_()
        return False
