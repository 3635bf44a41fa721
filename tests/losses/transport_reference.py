"""RSTC's official code for adaptive transport as slow loops, and random inputs."""

import math

import numpy as np
import torch
from scipy.optimize import brentq


def closed_form(difference, e2, lam):
    """b_j of g_j - h, as in the paper."""
    x = difference * lam
    return (x + 2 * e2 - math.sqrt(x**2 + 4 * e2**2)) / (2 * x)


def multiplier(g, e2, lam):
    """The h for which all b sum to one."""

    def excess(h):
        return sum(closed_form(g_j - h, e2, lam) if g_j != h else 0.5 for g_j in g) - 1

    return brentq(excess, min(g) - 1e4, max(g) + 1e4, xtol=1e-14)


def official_transport(p, *, epsilon, e2, lam, steps):
    """Alternate Sinkhorn's two divisions and the update of b; return the plan (N, K) and b of every step."""
    n, n_clusters = p.shape
    kernel = [[p[i][j] ** (1 / epsilon) for j in range(n_clusters)] for i in range(n)]
    b = [1 / n_clusters] * n_clusters
    u = [1 / n] * n
    history = []
    for _ in range(steps):
        v = [b[j] / sum(kernel[i][j] * u[i] for i in range(n)) for j in range(n_clusters)]
        u = [1 / n / sum(kernel[i][j] * v[j] for j in range(n_clusters)) for i in range(n)]
        g = [epsilon * math.log(v_j) for v_j in v]
        h = multiplier(g, e2, lam)
        b = [closed_form(g_j - h, e2, lam) for g_j in g]
        history.append(b)
    plan = np.array([[u[i] * kernel[i][j] * v[j] for j in range(n_clusters)] for i in range(n)])
    return plan, np.array(history)


def random_log_p(n=12, n_clusters=4, *, scale=1.5, seed=0, skew=0.0):
    """Return log p (N, K) in float64; with ``skew`` the first clusters are more probable."""
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(n, n_clusters, generator=generator, dtype=torch.float64)
    return (logits - skew * torch.arange(n_clusters)).log_softmax(dim=1)


def column_sums(plan):
    return plan.log_pi.double().exp().sum(dim=0)
