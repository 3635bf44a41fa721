r"""Optimal transport of texts to clusters whose sizes are part of the problem (RSTC, ACL 2023).

.. math::
    \min_{\pi, b} \; -\sum_{ij} \pi_{ij} \log p_{ij} + \epsilon \sum_{ij} \pi_{ij} (\log \pi_{ij} - 1)
    - w \sum_j (\log b_j + \log(1 - b_j))
    \quad \text{with} \quad \sum_j \pi_{ij} = \tfrac1N, \; \sum_i \pi_{ij} = b_j, \; \sum_j b_j = 1

The last term is a barrier: no cluster becomes empty and none takes all texts. RSTC writes the weight w as two numbers,
epsilon_2 and lambda, but the solution depends only on their quotient w = epsilon_2 / lambda.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

Marginal = Literal["barrier", "average", "multiplicative", "fixed"]
_SINKHORN_STEPS = 1000
_NEWTON_STEPS = 100
_MIN_EXPONENT = -80.0  # exp of less is a denormal number or zero; denormals make exp a hundred times slower


class Plan(NamedTuple):
    """A transport plan: the share of each text that goes to each cluster."""

    log_pi: Tensor  # (N, K); pi sums to 1/N in every row and, within the tolerance, to b over the columns
    b: Tensor  # (K,) float64, the cluster sizes; sums to one

    @property
    def labels(self) -> Tensor:
        """The cluster (N,) that receives the largest share of each text."""
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
    r"""Return the transport plan \pi_{ij} = u_i p_{ij}^{1/\epsilon} v_j for log p (N, K), by Sinkhorn's algorithm.

    ``b`` (K,) are the initial cluster sizes, each between 0 and 1; by default they are equal. The algorithm stops when
    the column sums of the plan differ from b by less than ``tolerance``, summed over clusters. ``marginal`` is the
    update of b:

    * barrier: the minimum of the problem above (RSTC's H1), see :func:`barrier_marginal`. It does not depend on the
      initial b.
    * average: once, 0.1 b + 0.9 times the share of texts for which each cluster is the most probable (H2).
    * multiplicative: b_j \propto b_j v_j^{-\epsilon / w} (H3), see :func:`multiplicative_marginal`.
    * fixed: no update.
    """
    n, n_clusters = log_p.shape
    b = torch.full((n_clusters,), 1 / n_clusters, dtype=torch.float64) if b is None else b.double()
    b = b.to(log_p.device)
    if marginal == "average":
        b = 0.1 * b + 0.9 * log_p.argmax(dim=1).bincount(minlength=n_clusters).double() / n
    scores = log_p / epsilon  # (N, K)
    buffer = torch.empty_like(scores)  # reused by all steps
    log_v = torch.zeros_like(b)
    for step in range(_SINKHORN_STEPS):
        log_u = -math.log(n) - _logsumexp(torch.add(scores, log_v.to(scores), out=buffer), dim=1)  # (N,)
        log_s = _logsumexp(torch.add(scores, log_u[:, None], out=buffer), dim=0).double()  # (K,); column sums are v s
        if step and (b - (log_v + log_s).exp()).abs().sum() < tolerance:
            break
        if marginal == "barrier" and n_clusters > 1:
            b = barrier_marginal(log_s, epsilon=epsilon, weight=weight)
        elif marginal == "multiplicative":
            b = multiplicative_marginal(log_s, epsilon=epsilon, weight=weight, b=b)
        log_v = b.log() - log_s
    return Plan((scores + log_v.to(scores)).log_softmax(dim=1) - math.log(n), b)


def barrier_marginal(log_s: Tensor, *, epsilon: float, weight: float) -> Tensor:
    r"""Return the optimal cluster sizes b (K,) for v = b / s, where s (K,) are the column sums at v = 1; K > 1.

    .. math:: \min_b \; \epsilon \sum_j b_j (\log \tfrac{b_j}{s_j} - 1) - w \sum_j (\log b_j + \log(1 - b_j))
              \quad \text{with} \quad \sum_j b_j = 1

    With g_j = \epsilon \log v_j, the multiplier h of the constraint, \epsilon_2 = w and \lambda = 1, the minimum is

    .. math:: b_j = \frac{(g_j - h) + 2w - \sqrt{(g_j - h)^2 + 4w^2}}{2 (g_j - h)}
                  = \sigma(-\operatorname{arsinh}\tfrac{g_j - h}{2w})

    which is RSTC's formula for b (its quotient is 0/0 at g_j = h; the limit is 1/2). RSTC inserts g of the previous
    step. This function solves for b and g together, because alternating updates oscillate where \epsilon b_j > 2w.
    """
    scaled_log_s = epsilon * log_s
    n_clusters = len(log_s)
    # At h = even[j], cluster j has size 1/K. At the smallest of them no cluster is larger, at the largest none smaller.
    even = weight * (n_clusters / (n_clusters - 1) - n_clusters) - epsilon * math.log(n_clusters) - scaled_log_s
    low = float(even.min())
    high = float(even.max())
    h = min(max(-epsilon * float(log_s.logsumexp(dim=0)), low), high)  # the exact solution for w = 0
    for _ in range(_NEWTON_STEPS):
        b, slope = _size(scaled_log_s + h, epsilon, weight)
        excess = float(b.sum().log())
        low, high = (low, h) if excess > 0 else (h, high)
        if abs(excess) < 1e-13 or low == high:
            break
        h -= excess * float(b.sum() / slope.sum())
        if not low < h < high:
            h = (low + high) / 2  # bisection, where Newton's method leaves the interval
    return b / b.sum()


def _size(c: Tensor, epsilon: float, weight: float) -> tuple[Tensor, Tensor]:
    r"""Return b with \epsilon \log b + w (1 / (1 - b) - 1 / b) = c, and the derivative of b by c; all are (K,).

    Newton's method for t = logit b, whose equation is -\epsilon \log(1 + e^{-t}) + 2 w \sinh t = c. The initial t is
    below the solution, where the left side is concave for t < 0, so that no step overshoots.
    """
    t = torch.maximum(torch.asinh(c / (2 * weight)), (c / epsilon).clamp_max(0))
    for _ in range(_NEWTON_STEPS):
        derivative = epsilon * torch.sigmoid(-t) + 2 * weight * torch.cosh(t)
        change = (c + epsilon * F.softplus(-t) - 2 * weight * torch.sinh(t)) / derivative
        t = t + change
        if change.abs().max() < 1e-12 * (1 + t.abs().max()):
            break
    return torch.sigmoid(t), torch.sigmoid(t) * torch.sigmoid(-t) / derivative


def multiplicative_marginal(log_s: Tensor, *, epsilon: float, weight: float, b: Tensor) -> Tensor:
    r"""Return the b^{new}_j \propto b_j v_j^{-\epsilon / w} with v = b^{new} / s, all of shape (K,).

    The solution is b^{new} \propto b^{1-r} s^r with r = \epsilon / (\epsilon + w). At the fixed point all v are equal:
    then the plan is p^{1/\epsilon} row by row, and every text goes to its most probable cluster. RSTC uses v = b / s
    instead, which oscillates around that point.
    """
    r = epsilon / (epsilon + weight)
    return ((1 - r) * b.log() + r * log_s).softmax(dim=0)


def _logsumexp(x: Tensor, *, dim: int) -> Tensor:
    """Return the logarithm of the sum of exponentials. Overwrites x."""
    maximum = x.amax(dim=dim, keepdim=True)
    return x.sub_(maximum).clamp_(min=_MIN_EXPONENT).exp_().sum(dim=dim).log() + maximum.squeeze(dim)
