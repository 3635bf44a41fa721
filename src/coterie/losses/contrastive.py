"""Contrastive losses. Every function returns a scalar."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def nt_xent(z_1: Tensor, z_2: Tensor, *, tau: float, positive_in_denominator: bool = True) -> Tensor:
    r"""Return the NT-Xent loss of two views z_1, z_2 (B, d) of a batch. SimCLR Eq. 1 (arXiv:2002.05709), SCCL Eq. 1-2.

    .. math::
        \ell_i = -\log \frac{\exp(\cos(z_i, z_{i'}) / \tau)}{\sum_{j \neq i} \exp(\cos(z_i, z_j) / \tau)}

    averaged over the 2B rows, where i' is the other view of i. It is log(2B - 1) if all rows are identical.
    With ``positive_in_denominator=False`` the sum also leaves out i', as in AECL Eq. 10. Then it is log(2B - 2) for
    identical rows, and it has no lower bound.
    """
    z = F.normalize(torch.cat([z_1, z_2]).float(), dim=1)  # (2B, d)
    logits = (z @ z.T / tau).fill_diagonal_(-torch.inf)  # (2B, 2B)
    other_view = torch.arange(len(z), device=z.device).roll(len(z_1))  # (2B,), i' of each row i
    if positive_in_denominator:
        return F.cross_entropy(logits, other_view)
    positive = logits.gather(1, other_view[:, None])  # (2B, 1)
    negatives = logits.scatter(1, other_view[:, None], -torch.inf)  # (2B, 2B)
    return (negatives.logsumexp(dim=1) - positive.squeeze(1)).mean()


def nt_xent_between_clusters(z_1: Tensor, z_2: Tensor, labels: Tensor, *, tau: float) -> Tensor:
    r"""Return the NT-Xent loss of two views z_1, z_2 (B, d) in which only rows of other clusters are negatives.

    .. math::
        \ell_i = -\log \frac{\exp(\cos(z_i, z_{i'}) / \tau)}
                           {\sum_{j = i' \vee y_j \neq y_i} \exp(\cos(z_i, z_j) / \tau)}

    averaged over the 2B rows with the clusters ``labels`` (2B,). It is 0 for a row without negatives.
    """
    z = F.normalize(torch.cat([z_1, z_2]).float(), dim=1)  # (2B, d)
    other_view = torch.arange(len(z), device=z.device).roll(len(z_1))  # (2B,), i' of each row i
    left_out = (labels[:, None] == labels).scatter(1, other_view[:, None], value=False)  # (2B, 2B), also i itself
    return F.cross_entropy((z @ z.T / tau).masked_fill(left_out, -torch.inf), other_view)


def cluster_contrast(q_1: Tensor, q_2: Tensor, *, tau: float, positive_in_denominator: bool) -> Tensor:
    """Return the NT-Xent loss of clusters. AECL Eq. 10-11, L_C.

    The columns of the soft assignments q_1, q_2 (B, K) are two views of the K clusters. A single cluster has no
    negatives, so its loss is 0.
    """
    if q_1.shape[1] == 1:
        return 0 * q_1.sum()
    return nt_xent(q_1.T, q_2.T, tau=tau, positive_in_denominator=positive_in_denominator)


def cross_view(z_1: Tensor, z_2: Tensor, *, tau: float) -> Tensor:
    r"""Return the contrastive loss between two views z_1, z_2 (B, d) of a batch. DECCRL Eq. 2-4.

    .. math::
        \ell_{i_1} = -\log \frac{\exp(\cos(z_{i_1}, z_{i_2}) / \tau)}
                               {\sum_{m \neq i} \exp(\cos(z_{i_1}, z_{m_2}) / \tau)}

    and \ell_{i_2} with the views exchanged. The loss is the mean over i of their sum, 2 log(B - 1) if all rows are
    identical. Unlike in NT-Xent, the positive is not in the denominator and all negatives are in the other view.
    """
    if len(z_1) < 2:  # no negatives
        return (z_1.sum() + z_2.sum()) * 0.0
    logits = F.normalize(z_1.float(), dim=1) @ F.normalize(z_2.float(), dim=1).T / tau  # (B, B), view 1 by view 2
    positive = logits.diagonal()  # (B,)
    negatives = logits.masked_fill(torch.eye(len(logits), dtype=torch.bool, device=logits.device), -torch.inf)
    return (negatives.logsumexp(dim=1) + negatives.logsumexp(dim=0) - 2 * positive).mean()


def queue_contrast(z: Tensor, positive: Tensor, queue: Tensor, same: Tensor, *, tau: float) -> Tensor:
    r"""Return the InfoNCE loss of rows z (B, d) with a queue of negatives p (L, d). TCC Eq. 5 and 7.

    .. math::
        \ell_i = -\log \frac{\exp(\hat z_i z_i / \tau)}
                            {\exp(\hat z_i z_i / \tau) + \sum_l \exp(p_l z_i / \tau) 1(same_{il} = 0)}

    averaged over the B rows. ``positive`` \hat z (B, d) is the other view of z. All rows are unit vectors. ``same``
    (B, L) is True where a queue row is the same cluster (Eq. 5: l mod K = k) or item (Eq. 7) as row i, so that it is
    not a negative. The loss is log(1 + n) for identical rows and n negatives, and 0 without negatives.
    """
    positive_logit = (z * positive).sum(dim=1, keepdim=True)  # (B, 1)
    queue_logits = (z @ queue.T).masked_fill(same, -torch.inf)  # (B, L)
    logits = torch.cat([positive_logit, queue_logits], dim=1) / tau  # (B, 1 + L)
    return F.cross_entropy(logits, torch.zeros(len(z), dtype=torch.long, device=z.device))


def expert_contrast(f: Tensor, v: Tensor, mu: Tensor, queue: Tensor, same: Tensor, *, tau: float) -> Tensor:
    r"""Return log p(y_i | x_i, z = k) (B, K): the InfoNCE of each expert k with a queue of negatives p. MiCE Eq. 5-7.

    .. math::
        p(y_i | x_i, k) = \frac{\exp(v_{ik} (f_{ik} + \mu_k) / \tau)}
                               {\exp(v_{ik} (f_{ik} + \mu_k) / \tau) + \sum_l \exp(p_{lk} (f_{ik} + \mu_k) / \tau)}

    f, v (B, K, d) are the two views, \mu (K, d) the prototypes, ``queue`` p (L, K, d), all of unit length. ``same``
    (B, L) is True where a queue row is the same item as row i, so that it is not a negative.
    """
    expert = f + mu  # (B, K, d)
    positive = (v * expert).sum(dim=2, keepdim=True)  # (B, K, 1)
    negatives = torch.einsum("lkd,bkd->bkl", queue, expert).masked_fill(same[:, None], -torch.inf)  # (B, K, L)
    return (torch.cat([positive, negatives], dim=2) / tau).log_softmax(dim=2)[..., 0]


def neighborhood_contrast(z: Tensor, z_delta: Tensor, near: Tensor, *, tau: float) -> Tensor:
    r"""Return the contrast of rows z (B, d) with perturbed rows z_delta (B, d), in both directions. VaSCL Eq. 5-6.

    .. math::
        \ell_{N(i)}(a, b) = -\log \frac{\exp(\cos(a, b) / \tau)}
                                      {\exp(\cos(a, b) / \tau) + \sum_{k \in N(i)} \exp(\cos(a, z_k) / \tau)}

    ``near`` (B, n) are the rows N(i) in the neighborhood of each row. The loss is 2 log(1 + n) for identical rows.
    """
    z, z_delta = F.normalize(z.float(), dim=1), F.normalize(z_delta.float(), dim=1)
    positive = (z * z_delta).sum(dim=1, keepdim=True)  # (B, 1)
    first = torch.zeros(len(z), dtype=torch.long, device=z.device)
    losses = [
        F.cross_entropy(torch.cat([positive, (a @ z.T).gather(1, near)], dim=1) / tau, first) for a in (z, z_delta)
    ]
    return losses[0] + losses[1]
