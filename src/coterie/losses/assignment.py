"""Soft assignments, their target distribution and the KL divergence between the two (DEC, arXiv:1511.06335)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def student_t(h: Tensor, mu: Tensor, *, alpha: float = 1.0) -> Tensor:
    r"""Return log q (B, K), the soft assignments of vectors h (B, D) to centers mu (K, D). SCCL Eq. 3.

    .. math:: q_{jk} \propto (1 + \|h_j - \mu_k\|^2 / \alpha)^{-(\alpha+1)/2}

    The result is log q because q itself underflows in float32 for distant centers.
    """
    dtype = torch.promote_types(h.dtype, torch.float32)  # never compute in half precision
    h = h.to(dtype)
    mu = mu.to(dtype)
    squared_distance = h.square().sum(dim=1, keepdim=True) - 2 * h @ mu.T + mu.square().sum(dim=1)  # (B, K)
    return (-(alpha + 1) / 2 * torch.log1p(squared_distance.clamp_min(0) / alpha)).log_softmax(dim=1)


def sharpen(log_q: Tensor) -> Tensor:
    r"""Return the target distribution p (B, K) of soft assignments log q (B, K), without gradient. SCCL Eq. 4.

    .. math:: p_{jk} \propto q_{jk}^2 / f_k, \quad f_k = \sum_j q_{jk}
    """
    log_q = log_q.detach()
    return (2 * log_q - log_q.logsumexp(dim=0)).softmax(dim=1)


def kl(p: Tensor, log_q: Tensor) -> Tensor:
    r"""Return KL(p || q) = \sum_k p_k (\log p_k - \log q_k), averaged over the batch. SCCL Eq. 5-6."""
    return (torch.xlogy(p, p) - p * log_q).sum(dim=1).mean()


def set_representation(log_q: Tensor, f: Tensor) -> Tensor:
    r"""Return one unit vector per cluster (K, d) from the vectors f (B, d) of a batch. TCC Eq. 4.

    .. math:: r_k = \sum_i q_{ik} f_i / \|\sum_i q_{ik} f_i\|

    The weights of each cluster are first normalized to sum to one. This does not change the direction of r_k, and it
    prevents underflow for clusters without a member in the batch: they are represented by the most probable row.
    """
    return F.normalize(log_q.softmax(dim=0).T @ f, dim=1)


def neighbor_consistency(log_q: Tensor, log_q_neighbor: Tensor) -> Tensor:
    r"""Return -\frac{1}{B} \sum_i \log \langle q_i, q_{n(i)} \rangle of items and their neighbors (B, K). SCAN Eq. 2.

    It is 0 if both are in the same cluster for certain, and log K if both are uniform.
    """
    return -(log_q + log_q_neighbor).logsumexp(dim=1).mean()
