"""Soft assignments, their targets, and the divergence between the two (DEC, arXiv:1511.06335)."""

from __future__ import annotations

import torch
from torch import Tensor


def student_t(h: Tensor, mu: Tensor, *, alpha: float = 1.0) -> Tensor:
    r"""Return log q (B, K), q_{jk} \propto (1 + \|h_j - \mu_k\|^2 / \alpha)^{-(\alpha+1)/2}. SCCL Eq. 3.

    The logarithm, because q itself underflows in float32 where a center is far away.
    """
    h, mu = (x.to(torch.promote_types(h.dtype, torch.float32)) for x in (h, mu))  # never in half precision
    square = h.square().sum(dim=1, keepdim=True) - 2 * h @ mu.T + mu.square().sum(dim=1)  # (B, K), no (B, K, D)
    return (-(alpha + 1) / 2 * torch.log1p(square.clamp_min(0) / alpha)).log_softmax(dim=1)


def sharpen(log_q: Tensor) -> Tensor:
    r"""Return the target p_{jk} \propto q_{jk}^2 / f_k with f_k = \sum_j q_{jk}, without gradient. SCCL Eq. 4."""
    log_q = log_q.detach()
    return (2 * log_q - log_q.logsumexp(dim=0)).softmax(dim=1)


def kl(p: Tensor, log_q: Tensor) -> Tensor:
    r"""Return KL(p || q) = \sum_k p_k (\log p_k - \log q_k), averaged over the batch. SCCL Eq. 5-6."""
    return (torch.xlogy(p, p) - p * log_q).sum(dim=1).mean()
