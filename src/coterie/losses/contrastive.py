"""Contrastive losses. Every function returns a scalar."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def nt_xent(z_1: Tensor, z_2: Tensor, *, tau: float) -> Tensor:
    r"""Cross entropy of finding a text's other view (B, d) among all 2B - 1 others.

    .. math::
        \ell_i = -\log \frac{\exp(\cos(z_i, z_{i'}) / \tau)}{\sum_{j \neq i} \exp(\cos(z_i, z_j) / \tau)}

    averaged over the 2B rows. SimCLR Eq. 1 (arXiv:2002.05709), SCCL Eq. 1-2. log(2B - 1) when all rows are alike.
    """
    z = F.normalize(torch.cat([z_1, z_2]).float(), dim=1)  # (2B, d)
    logits = (z @ z.T / tau).fill_diagonal_(-torch.inf)  # (2B, 2B)
    partner = torch.arange(len(z), device=z.device).roll(len(z_1))  # i' of each row i
    return F.cross_entropy(logits, partner)
