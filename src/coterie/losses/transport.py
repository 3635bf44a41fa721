r"""Optimal transport of texts to clusters, where how much each cluster gets is learnt with it (RSTC, ACL 2023).

.. math::
    \min_{\pi, b} \; -\sum_{ij} \pi_{ij} \log p_{ij} + \epsilon \sum_{ij} \pi_{ij} (\log \pi_{ij} - 1)
    - w \sum_j (\log b_j + \log(1 - b_j))
    \quad \text{with} \quad \sum_j \pi_{ij} = \tfrac1N, \; \sum_i \pi_{ij} = b_j, \; \sum_j b_j = 1

The last sum keeps every cluster from vanishing and from taking everything. RSTC writes the weight w as two numbers,
epsilon_2 and lambda, but only their quotient w = epsilon_2 / lambda decides anything.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

Marginal = Literal["barrier", "average", "multiplicative", "fixed"]
_STEPS, _NEWTON_STEPS = 1000, 100
_NOTHING = -80.0  # as an exponent; below it a processor needs a hundred times as long, for a result of zero


class Plan(NamedTuple):
    """How much of each text goes to each cluster."""

    log_pi: Tensor  # (N, K), its exponentials sum to 1/N in every row and, nearly, to b in the columns
    b: Tensor  # (K,) float64, sums to one

    @property
    def labels(self) -> Tensor:
        """The cluster (N,) that most of each text goes to."""
        return self.log_pi.argmax(dim=1)


def adaptive_transport(
    log_p: Tensor,
    *,
    epsilon: float,
    weight: float,
    b: Tensor | None = None,
    marginal: Marginal = "barrier",
    tolerance: float = 1e-3,
) -> Plan:
    r"""Return the plan for log p (N, K) that Sinkhorn's algorithm finds, \pi_{ij} = u_i p_{ij}^{1/\epsilon} v_j.

    ``b`` (K,) is where the marginal starts, every entry between 0 and 1; without it all are equal. It ends when the
    columns of the plan are within ``tolerance`` of b, summed over the clusters. ``marginal`` says what becomes of b:

    * barrier: the minimum above (RSTC's H1), see :func:`barrier_marginal`. Where it starts does not matter.
    * average: 0.1 b + 0.9 of how often each cluster is the likeliest, once (H2).
    * multiplicative: b_j \propto b_j v_j^{-\epsilon / w} (H3), see :func:`multiplicative_marginal`.
    * fixed: it stays as it is.
    """
    n, n_clusters = log_p.shape
    b = torch.full((n_clusters,), 1 / n_clusters, dtype=torch.float64) if b is None else b.double()
    b = b.to(log_p.device)
    if marginal == "average":
        b = 0.1 * b + 0.9 * log_p.argmax(dim=1).bincount(minlength=n_clusters).double() / n
    scores = log_p / epsilon  # (N, K)
    work = torch.empty_like(scores)  # one block of memory for all steps
    log_v = torch.zeros_like(b)
    for step in range(_STEPS):
        log_u = -math.log(n) - _logsumexp(torch.add(scores, log_v.to(scores), out=work), dim=1)  # (N,): row sums
        log_s = _logsumexp(torch.add(scores, log_u[:, None], out=work), dim=0).double()  # (K,): v s is what arrives
        if step and (b - (log_v + log_s).exp()).abs().sum() < tolerance:
            break
        if marginal == "barrier" and n_clusters > 1:
            b = barrier_marginal(log_s, epsilon=epsilon, weight=weight)
        elif marginal == "multiplicative":
            b = multiplicative_marginal(log_s, epsilon=epsilon, weight=weight, b=b)
        log_v = b.log() - log_s  # column sums
    return Plan((scores + log_v.to(scores)).log_softmax(dim=1) - math.log(n), b)


def barrier_marginal(log_s: Tensor, *, epsilon: float, weight: float) -> Tensor:
    r"""Return the b (K,) that suits v = b / s best, where s (K,) is what the clusters would get at v = 1; K > 1.

    .. math:: \min_b \; \epsilon \sum_j b_j (\log \tfrac{b_j}{s_j} - 1) - w \sum_j (\log b_j + \log(1 - b_j))
              \quad \text{with} \quad \sum_j b_j = 1

    There, with g_j = \epsilon \log v_j, the multiplier h of the sum, \epsilon_2 = w and \lambda = 1,

    .. math:: b_j = \frac{(g_j - h) + 2w - \sqrt{(g_j - h)^2 + 4w^2}}{2 (g_j - h)}
                  = \sigma(-\operatorname{arsinh}\tfrac{g_j - h}{2w})

    which is RSTC's b (its quotient is 0/0 at g_j = h; the limit is 1/2). RSTC puts the last step's g into it; this
    solves for b and g at once, because one after the other they circle where \epsilon b_j > 2w.
    """
    height, n_clusters = epsilon * log_s, len(log_s)
    even = weight * (n_clusters / (n_clusters - 1) - n_clusters) - epsilon * math.log(n_clusters) - height
    low, high = float(even.min()), float(even.max())  # of h, where no cluster is above 1/K, and none is below
    h = min(max(-epsilon * float(log_s.logsumexp(dim=0)), low), high)  # exact when w is 0
    for _ in range(_NEWTON_STEPS):
        b, slope = _size(height + h, epsilon, weight)
        excess = float(b.sum().log())
        low, high = (low, h) if excess > 0 else (h, high)
        if abs(excess) < 1e-13 or low == high:
            break
        h -= excess * float(b.sum() / slope.sum())
        if not low < h < high:
            h = (low + high) / 2
    return b / b.sum()


def _size(c: Tensor, epsilon: float, weight: float) -> tuple[Tensor, Tensor]:
    r"""Return the b with \epsilon \log b + w (1 / (1 - b) - 1 / b) = c, and its derivative by c; all are (K,).

    By Newton's method for t = logit b, whose equation is -\epsilon \log(1 + e^{-t}) + 2 w \sinh t = c. The start is
    left of the solution, where that curve is concave as long as t < 0; so no step goes past it.
    """
    t = torch.maximum(torch.asinh(c / (2 * weight)), (c / epsilon).clamp_max(0))
    for _ in range(_NEWTON_STEPS):
        bend = epsilon * torch.sigmoid(-t) + 2 * weight * torch.cosh(t)
        change = (c + epsilon * F.softplus(-t) - 2 * weight * torch.sinh(t)) / bend
        t = t + change
        if change.abs().max() < 1e-12 * (1 + t.abs().max()):
            break
    return torch.sigmoid(t), torch.sigmoid(t) * torch.sigmoid(-t) / bend


def multiplicative_marginal(log_s: Tensor, *, epsilon: float, weight: float, b: Tensor) -> Tensor:
    r"""Return the b^{new}_j \propto b_j v_j^{-\epsilon / w} with v = b^{new} / s, all of shape (K,).

    That is b^{new} \propto b^{1-r} s^r with r = \epsilon / (\epsilon + w). It rests where all v are equal: then the
    plan is p^{1/\epsilon} row by row, and a text goes to its likeliest cluster. RSTC takes v = b / s instead, which
    circles around that point.
    """
    r = epsilon / (epsilon + weight)
    return ((1 - r) * b.log() + r * log_s).softmax(dim=0)


def _logsumexp(x: Tensor, *, dim: int) -> Tensor:
    """Return the logarithm of the sum of exponentials; x is overwritten."""
    top = x.amax(dim=dim, keepdim=True)
    return x.sub_(top).clamp_(min=_NOTHING).exp_().sum(dim=dim).log() + top.squeeze(dim)
