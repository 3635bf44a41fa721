"""The equations of SCCL as slow loops."""

import math

import numpy as np


def instance_loss(z_1, z_2, tau):
    """Eq. 1-2."""
    views, n = [*z_1, *z_2], len(z_1)

    def s(i, j):
        return float(views[i] @ views[j] / (np.linalg.norm(views[i]) * np.linalg.norm(views[j])))

    total = 0.0
    for i in range(2 * n):
        partner = (i + n) % (2 * n)
        denominator = sum(math.exp(s(i, j) / tau) for j in range(2 * n) if j != i)
        total -= math.log(math.exp(s(i, partner) / tau) / denominator)
    return total / (2 * n)


def soft_assignment(h, mu, alpha):
    """Eq. 3."""
    kernel = [[(1 + ((h_j - mu_k) ** 2).sum() / alpha) ** (-(alpha + 1) / 2) for mu_k in mu] for h_j in h]
    return np.array([[k / sum(row) for k in row] for row in kernel])


def target(q):
    """Eq. 4."""
    f = [sum(q[j][k] for j in range(len(q))) for k in range(len(q[0]))]
    ratio = [[q_jk**2 / f_k for q_jk, f_k in zip(row, f, strict=True)] for row in q]
    return np.array([[r / sum(row) for r in row] for row in ratio])


def divergence(p, q):
    """Eq. 5-6."""
    return sum(p[j][k] * math.log(p[j][k] / q[j][k]) for j in range(len(p)) for k in range(len(p[0]))) / len(p)
