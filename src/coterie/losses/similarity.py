"""Similarity-guided contrastive loss: all texts of a pseudo-label are positives, weighted by attention. AECL, L_I."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

Form = Literal["paper", "official", "instance_only"]


class View(NamedTuple):
    """One view of a batch."""

    z: Tensor  # (B, d) projections
    c: Tensor  # (B, d) consistent representations, h in the AECL paper
    s: Tensor  # (B, B) attention of text i to text j, S in the AECL paper


def similarity_contrast(views: Sequence[View], same: Tensor, *, tau: float, form: Form) -> Tensor:
    r"""Return the scalar loss L_I of two views. ``same`` (B, B) is 1 if two texts have the same pseudo-label, else 0.

    ``form`` selects the formula: ``paper`` is AECL Eq. 6-9, ``official`` is the official code, ``instance_only`` is
    Eq. 6 and 9 without Eq. 7, so that only the other view of a text is its positive.
    A single text has no negatives, so its loss is 0.
    """
    if len(same) == 1:
        return 0 * views[0].z.sum()
    if form == "official":
        return similarity_contrast_official(views, same, tau=tau, broadcast=True)
    if form == "instance_only":
        same = torch.zeros_like(same)
    return similarity_contrast_paper(views, same, tau=tau)


def similarity_contrast_paper(views: Sequence[View], same: Tensor, *, tau: float) -> Tensor:
    r"""Return L_I as in the paper, AECL Eq. 6-9. ``same`` (B, B) is 1 where j \in \Lambda_i, else 0.

    .. math:: L_I = \frac{1}{2B} \sum_i \sum_v -\log(l_{1,i} + l^v_{2,i})
    """
    view_0, view_1 = (View(_unit(view.z), _unit(view.c), view.s) for view in views)
    l_1 = _between_views(view_0.z, view_1.z, tau)  # (B,)
    losses = [-torch.log(l_1 + _within_view(view, same, tau)) for view in (view_0, view_1)]
    return torch.stack(losses).mean()


def similarity_contrast_official(views: Sequence[View], same: Tensor, *, tau: float, broadcast: bool) -> Tensor:
    r"""Return L_I as computed by the official code.

    It differs from the paper in three ways. The positives are all four blocks of [z; c] with itself. The logarithm is
    taken for each of the 2B rows. With ``broadcast`` a missing dimension combines the positive of every row r with
    the negatives of every row c: p_r / d_c instead of p_r / d_r.
    """
    n = len(same)
    e = _exp_similarity(_unit(torch.cat([view.z for view in views])), tau)  # (2B, 2B)
    positives = torch.cat([e.diagonal(n), e.diagonal(-n)])  # (2B,)
    negatives = _mask_same_text(e).sum(dim=1)  # (2B,)
    l_1 = positives[:, None] / negatives if broadcast else positives / negatives
    losses = []
    for view in views:
        e = _exp_similarity(_unit(torch.cat([view.z, view.c])), tau)  # (2B, 2B)
        weight = view.s.tile(2, 2).fill_diagonal_(0) + 1e-5  # a text with itself counts in z-c and c-z only
        l_2 = (e * weight * same.tile(2, 2)).sum(dim=1) / _mask_same_text(e).sum(dim=1)  # (2B,)
        losses.append(-torch.log(l_2 + l_1).mean())
    return torch.stack(losses).mean()


def confidence_mask(log_q: Tensor, threshold: float) -> Tensor:
    """Return 1 where the largest probability of a row of q (B, K) exceeds ``threshold``, else 0. AECL Eq. 4."""
    return (log_q.detach().amax(dim=1).exp() > threshold).float()


def confidence_weights(same: Tensor, log_q: Tensor, threshold: float) -> Tensor:
    """Return weights (B, B) for the positives of each text that replace the attention S (CCSSL, CVPR 2022).

    Two texts with the same pseudo-label count if both are confident. The weights of a row are equal and sum to one,
    or are all 0.
    """
    mask = confidence_mask(log_q, threshold)
    return F.normalize(same * mask[:, None] * mask, p=1, dim=1)


def _unit(x: Tensor) -> Tensor:
    return F.normalize(x.float(), dim=1)


def _between_views(z_0: Tensor, z_1: Tensor, tau: float) -> Tensor:
    """Return l_1 (B,), Eq. 6: each text against its other view, in both directions."""
    across = _exp_similarity(z_0, tau, z_1)
    positive = across.diagonal()
    from_0 = positive / (_zero_diagonal(_exp_similarity(z_0, tau)) + _zero_diagonal(across)).sum(dim=1)
    from_1 = positive / (_zero_diagonal(_exp_similarity(z_1, tau)) + _zero_diagonal(across.T)).sum(dim=1)
    return from_0 + from_1


def _within_view(view: View, same: Tensor, tau: float) -> Tensor:
    """Return l_2 (B,), Eq. 7: z against c of the same pseudo-label and c against z, weighted by S."""
    across = _exp_similarity(view.z, tau, view.c)
    weight = view.s * same
    from_z = (weight * across).sum(dim=1)
    from_z = from_z / (_zero_diagonal(_exp_similarity(view.z, tau)) + _zero_diagonal(across)).sum(dim=1)
    from_c = (weight * across.T).sum(dim=1)
    from_c = from_c / (_zero_diagonal(_exp_similarity(view.c, tau)) + _zero_diagonal(across.T)).sum(dim=1)
    return from_z + from_c


def _exp_similarity(a: Tensor, tau: float, b: Tensor | None = None) -> Tensor:
    """Return exp((cos - 1) / tau). The constant factor exp(-1 / tau) cancels in every ratio and prevents overflow."""
    return torch.exp((a @ (a if b is None else b).T - 1) / tau)


def _zero_diagonal(e: Tensor) -> Tensor:
    """Return ``e`` (B, B) with zeros on the diagonal."""
    return e - torch.diag(e.diagonal())


def _mask_same_text(e: Tensor) -> Tensor:
    """Return ``e`` (2B, 2B) with zeros where row and column belong to the same text."""
    n = len(e) // 2
    return e * ~torch.eye(n, dtype=torch.bool, device=e.device).tile(2, 2)
