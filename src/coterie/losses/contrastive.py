"""Contrastive losses. Every function returns a scalar."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def nt_xent(z_1: Tensor, z_2: Tensor, *, tau: float, positive_inside: bool = True) -> Tensor:
    r"""Cross entropy of finding a text's other view (B, d) among all 2B - 1 others.

    .. math::
        \ell_i = -\log \frac{\exp(\cos(z_i, z_{i'}) / \tau)}{\sum_{j \neq i} \exp(\cos(z_i, z_j) / \tau)}

    averaged over the 2B rows. SimCLR Eq. 1 (arXiv:2002.05709), SCCL Eq. 1-2. log(2B - 1) when all rows are alike.
    With ``positive_inside`` False the sum leaves out i' too, as AECL Eq. 10 prints it: then it is log(2B - 2), and
    has no lower bound.
    """
    z = F.normalize(torch.cat([z_1, z_2]).float(), dim=1)  # (2B, d)
    logits = (z @ z.T / tau).fill_diagonal_(-torch.inf)  # (2B, 2B)
    partner = torch.arange(len(z), device=z.device).roll(len(z_1))  # i' of each row i
    if positive_inside:
        return F.cross_entropy(logits, partner)
    positive = logits.gather(1, partner[:, None])  # (2B, 1)
    return (logits.scatter(1, partner[:, None], -torch.inf).logsumexp(dim=1) - positive.squeeze(1)).mean()


def cluster_contrast(q_1: Tensor, q_2: Tensor, *, tau: float, positive_inside: bool) -> Tensor:
    """Contrast of clusters: the columns of q (B, K) of two views are two views of K clusters. AECL Eq. 10-11, L_C.

    One cluster has nothing to be told from: 0.
    """
    if q_1.shape[1] == 1:
        return 0 * q_1.sum()
    return nt_xent(q_1.T, q_2.T, tau=tau, positive_inside=positive_inside)
