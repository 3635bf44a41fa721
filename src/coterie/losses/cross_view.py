"""Contrast between the two views of a batch, never within one."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def cross_view(z_1: Tensor, z_2: Tensor, *, tau: float) -> Tensor:
    r"""Return how much nearer a text's other view (B, d) is than the other views of other texts. DECCRL Eq. 2-4.

    .. math::
        \ell_{i_1} = -\log \frac{\exp(\cos(z_{i_1}, z_{i_2}) / \tau)}
                               {\sum_{m \neq i} \exp(\cos(z_{i_1}, z_{m_2}) / \tau)}

    and \ell_{i_2} the other way round; the mean over texts of their sum. 2 log(B - 1) when all rows are alike. Unlike
    in NT-Xent, the positive is not below the line, and only the other view supplies negatives.
    """
    if len(z_1) < 2:  # nobody to tell it from
        return (z_1.sum() + z_2.sum()) * 0.0
    logits = F.normalize(z_1.float(), dim=1) @ F.normalize(z_2.float(), dim=1).T / tau  # (B, B): view 1 by view 2
    positive = logits.diagonal()
    others = logits.masked_fill(torch.eye(len(logits), dtype=torch.bool, device=logits.device), -torch.inf)
    return (others.logsumexp(dim=1) + others.logsumexp(dim=0) - 2 * positive).mean()
