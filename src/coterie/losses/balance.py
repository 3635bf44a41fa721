"""How sure assignments are, and how evenly they fall. Both in nats."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def row_entropy(log_q: Tensor) -> Tensor:
    r"""Return -\frac{1}{B} \sum_{ij} q_{ij} \log q_{ij}: log K when every row is undecided. AECL Eq. 5, L_E1."""
    return -(log_q.exp() * log_q).sum(dim=1).mean()


def imbalance(log_q: Tensor) -> Tensor:
    r"""Return \log K - H(\bar q), \bar q_j = \frac{1}{B} \sum_i q_{ij}: 0 when all clusters are equally large.

    AECL Eq. 13 prints H itself with a plus, which would gather all texts in one cluster; its code has this.
    """
    n, k = log_q.shape
    log_mean = log_q.logsumexp(dim=0) - log_q.new_tensor(n).log()  # (K,)
    return log_q.new_tensor(k).log() + (log_mean.exp() * log_mean).sum()


def pull_to_even(sizes: Tensor) -> float:
    r"""Return a weight for :func:`imbalance` by how even groups of ``sizes`` (K,) are: min(10, 0.01 / (\log K - H)^2).

    AECL sets 10 for balanced, 0.18 for slightly and 0.09 for heavily imbalanced data; this needs nobody who knows.
    """
    share = sizes.double() / sizes.sum()
    uneven = math.log(len(sizes)) + float(torch.xlogy(share, share).sum())
    return min(10.0, 0.01 / max(uneven, 1e-6) ** 2)
