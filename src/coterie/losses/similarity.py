"""Contrast whose positives are all texts of a group, each as far as it resembles: AECL's L_I."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

Form = Literal["paper", "code", "alone"]


class View(NamedTuple):
    """One view of a batch."""

    z: Tensor  # (B, d) projections
    c: Tensor  # (B, d) consistent representations, AECL's h
    s: Tensor  # (B, B) how much each text attends to which


def similarity_contrast(views: Sequence[View], same: Tensor, *, tau: float, form: Form) -> Tensor:
    """Return L_I as printed (``paper``), as in the authors' release (``code``), or without Eq. 7 (``alone``).

    One text has nothing to be told from: 0.
    """
    if len(same) == 1:
        return 0 * views[0].z.sum()
    if form == "code":
        return similarity_as_coded(views, same, tau=tau, broadcast=True)
    return similarity_guided(views, same if form == "paper" else torch.zeros_like(same), tau=tau)


def similarity_guided(views: Sequence[View], same: Tensor, *, tau: float) -> Tensor:
    r"""Return AECL Eq. 6-9; ``same`` (B, B) is 1 where two texts are in one group (j \in \Lambda_i), else 0.

    .. math:: L_I = \frac{1}{2B} \sum_i \sum_v -\log(l_{1,i} + l^v_{2,i})
    """
    view_0, view_1 = (View(_unit(view.z), _unit(view.c), view.s) for view in views)
    l_1 = _between_views(view_0.z, view_1.z, tau)  # (B,)
    losses = [-torch.log(l_1 + _within_view(view, same, tau)) for view in (view_0, view_1)]
    return torch.stack(losses).mean()


def similarity_as_coded(views: Sequence[View], same: Tensor, *, tau: float, broadcast: bool) -> Tensor:
    r"""Return L_I as the authors' release computes it.

    The positives are all four blocks of [z; c] with itself, the logarithm is taken row by row, and with ``broadcast``
    a missing dimension pairs every row's positive with every row's negatives: p_r / d_c instead of p_r / d_r.
    """
    n = len(same)
    e = _exp(_unit(torch.cat([view.z for view in views])), tau)  # (2B, 2B)
    p, d = torch.cat([e.diagonal(n), e.diagonal(-n)]), _negatives(e).sum(dim=1)  # (2B,)
    l_1 = p[:, None] / d if broadcast else p / d
    losses = []
    for view in views:
        e = _exp(_unit(torch.cat([view.z, view.c])), tau)
        weight = view.s.tile(2, 2).fill_diagonal_(0) + 1e-5  # only z-z and c-c of a text itself are left out
        l_2 = (e * weight * same.tile(2, 2)).sum(dim=1) / _negatives(e).sum(dim=1)
        losses.append(-torch.log(l_2 + l_1).mean())
    return torch.stack(losses).mean()


def confident(log_q: Tensor, threshold: float) -> Tensor:
    """Return 1 where a row of q (B, K) is surer than ``threshold``, else 0. AECL Eq. 4."""
    return (log_q.detach().amax(dim=1).exp() > threshold).float()


def by_confidence(same: Tensor, log_q: Tensor, threshold: float) -> Tensor:
    """Return how texts of a group count where confidence decides: all alike, if both are sure (CCSSL, CVPR 2022)."""
    sure = confident(log_q, threshold)
    return F.normalize(same * sure[:, None] * sure, p=1, dim=1)


def _unit(x: Tensor) -> Tensor:
    return F.normalize(x.float(), dim=1)


def _between_views(z_0: Tensor, z_1: Tensor, tau: float) -> Tensor:
    """Return l_1 (B,), Eq. 6: a text against its other view, both ways."""
    across = _exp(z_0, tau, z_1)
    positive = across.diagonal()
    forth = positive / (_off(_exp(z_0, tau)) + _off(across)).sum(dim=1)
    back = positive / (_off(_exp(z_1, tau)) + _off(across.T)).sum(dim=1)
    return forth + back


def _within_view(view: View, same: Tensor, tau: float) -> Tensor:
    """Return l_2 (B,), Eq. 7: z against the c of its group and the other way round, weighted by S."""
    across = _exp(view.z, tau, view.c)
    weight = view.s * same
    by_z = (weight * across).sum(dim=1) / (_off(_exp(view.z, tau)) + _off(across)).sum(dim=1)
    by_c = (weight * across.T).sum(dim=1) / (_off(_exp(view.c, tau)) + _off(across.T)).sum(dim=1)
    return by_z + by_c


def _exp(a: Tensor, tau: float, b: Tensor | None = None) -> Tensor:
    """Return exp((cos - 1) / tau): smaller than exp(cos / tau) by a factor that every ratio here is free of."""
    return torch.exp((a @ (a if b is None else b).T - 1) / tau)


def _off(e: Tensor) -> Tensor:
    """Return ``e`` (B, B) with zeros on the diagonal: k is not i."""
    return e - torch.diag(e.diagonal())


def _negatives(e: Tensor) -> Tensor:
    """Return ``e`` (2B, 2B) with zeros where row and column are of one text."""
    n = len(e) // 2
    return e * ~torch.eye(n, dtype=torch.bool, device=e.device).tile(2, 2)
