"""A head that is taught groups, and leaves none of them empty."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Classifier(nn.Module):
    """Logits over K groups: two hidden layers with dropout, then a linear one. AECL's G_p, RSTC's head.

    Without a ``width`` there are no hidden layers: ClusterBERT's head.

    A network that is taught may never choose some of its groups. ``offset`` (K,) is added to the logits where groups
    are assigned, not where they are learnt; :meth:`reach_all` sets it so that every group has a text.
    """

    offset: Tensor

    def __init__(self, dim: int, n_clusters: int, *, width: int | None, dropout: float = 0.5) -> None:
        super().__init__()
        hidden = [] if width is None else [
            nn.Dropout(dropout), nn.Linear(dim, width), nn.ReLU(),
            nn.Dropout(dropout), nn.Linear(width, width), nn.ReLU(),
        ]  # fmt: skip
        self.layers = nn.Sequential(*hidden, nn.Linear(width or dim, n_clusters))
        self.register_buffer("offset", torch.zeros(n_clusters, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (B, K)."""
        logits: Tensor = self.layers(x)
        return logits

    def reach_all(self, logits: Tensor) -> bool:
        """Raise groups that no row of ``logits`` (N, K) chooses until each has a row; return whether that was possible.

        It is not tried where more than a tenth of the groups are empty: such a head has not learnt its groups yet.
        """
        logits, offset = logits.double().cpu(), torch.zeros(self.offset.shape, dtype=torch.float64)
        n_clusters = len(offset)
        for _ in range(2 * n_clusters):  # a raised group may take another's last row, which is raised in its turn
            scores = logits + offset
            best, labels = scores.max(dim=1)
            empty = (labels.bincount(minlength=n_clusters) == 0).nonzero().flatten()
            if not len(empty):
                self.offset.copy_(offset)
                return True
            if len(empty) > n_clusters / 10:
                break
            behind = (best - scores[:, empty[0]]).sort().values[:2]
            offset[empty[0]] += behind.mean()  # past the nearest row, short of the second
        self.offset.zero_()
        return False
