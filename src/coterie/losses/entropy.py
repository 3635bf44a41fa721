"""Entropy of soft assignments, per row and of the mean row. All values are in nats."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def row_entropy(log_q: Tensor) -> Tensor:
    r"""Return the mean entropy of the rows of q (B, K): log K if every row is uniform. AECL Eq. 5, L_E1.

    .. math:: -\frac{1}{B} \sum_{ij} q_{ij} \log q_{ij}
    """
    return -(log_q.exp() * log_q).sum(dim=1).mean()


def size_imbalance(log_q: Tensor) -> Tensor:
    r"""Return \log K - H(\bar q), \bar q_j = \frac{1}{B} \sum_i q_{ij}: 0 if all clusters have the same size.

    AECL Eq. 13 adds H(\bar q) to the loss, which would move all rows to one cluster. The official code uses this
    function.
    """
    n, k = log_q.shape
    log_mean = log_q.logsumexp(dim=0) - log_q.new_tensor(n).log()  # (K,)
    return log_q.new_tensor(k).log() + (log_mean.exp() * log_mean).sum()


def kl_uniform(log_q: Tensor, *, per_item: bool) -> Tensor:
    r"""Return KL(q \| 1/K) = \log K - H(q). TCC Eq. 8.

    With ``per_item`` it is averaged over the rows of q (B, K), and 0 if every row is uniform. Otherwise it is the
    divergence of the mean row, and 0 if all clusters have the same size.
    """
    if per_item:
        return log_q.new_tensor(log_q.shape[1]).log() - row_entropy(log_q)
    return size_imbalance(log_q)


def balance_weight_for(sizes: Tensor) -> float:
    r"""Return a weight for :func:`size_imbalance` from cluster ``sizes`` (K,): min(10, 0.01 / (\log K - H)^2).

    AECL sets 10 for balanced, 0.18 for slightly and 0.09 for heavily imbalanced data. This rule needs no prior
    knowledge of the data.
    """
    share = sizes.double() / sizes.sum()
    imbalance = math.log(len(sizes)) + float(torch.xlogy(share, share).sum())
    return min(10.0, 0.01 / max(imbalance, 1e-6) ** 2)
