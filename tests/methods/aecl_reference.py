"""The equations of AECL as slow loops, and small inputs for them.

A view is (z, c, s, q): c is h in the paper, and q is p.
"""

import math

import numpy as np
import torch

from coterie.contracts import Batch, Corpus, Network
from coterie.methods.aecl import AECL, AECLObjective


def e(x, y, tau):
    return math.exp(float(x @ y) / float(np.linalg.norm(x) * np.linalg.norm(y)) / tau)


def instance_loss(views, y, tau):
    """Eq. 6-9."""
    (z_0, *_), (z_1, *_) = views
    n, total = len(y), 0.0
    for i in range(n):
        others = [k for k in range(n) if k != i]
        same = [j for j in range(n) if y[j] == y[i]]

        def ratio(a, b, numerator, i=i, others=others):
            return numerator / sum(e(a[i], a[k], tau) + e(a[i], b[k], tau) for k in others)

        l_1 = ratio(z_0, z_1, e(z_0[i], z_1[i], tau)) + ratio(z_1, z_0, e(z_1[i], z_0[i], tau))
        for z, c, s, _ in views:
            l_2 = ratio(z, c, sum(s[i][j] * e(z[i], c[j], tau) for j in same))
            l_2 += ratio(c, z, sum(s[i][j] * e(c[i], z[j], tau) for j in same))
            total -= math.log(l_1 + l_2)
    return total / (2 * n)


def official_instance_loss(views, y, tau):
    """L_I in the official code: all four blocks of [z; c], and p_r over every d_k."""
    n = len(y)

    def denominator(a, r):
        return sum(e(a[r], a[k], tau) for k in range(2 * n) if (k - r) % n)

    both, losses = [*views[0][0], *views[1][0]], []
    p = [e(both[r], both[r - n], tau) for r in range(2 * n)]
    d = [denominator(both, r) for r in range(2 * n)]
    for z, c, s, _ in views:
        a, logs = [*z, *c], []
        for k in range(2 * n):
            same = [j for j in range(2 * n) if y[j % n] == y[k % n]]
            numerator = sum(e(a[k], a[j], tau) * ((j != k) * s[k % n][j % n] + 1e-5) for j in same)
            logs += [math.log(numerator / denominator(a, k) + p[r] / d[k]) for r in range(2 * n)]
        losses.append(-sum(logs) / len(logs))
    return sum(losses) / 2


def cluster_loss(views, tau, *, positive_in_denominator):
    """Eq. 10-11; in the official code the positive is in the denominator."""
    columns, total = [*views[0][3].T, *views[1][3].T], 0.0
    k = len(columns) // 2
    for i in range(2 * k):
        partner = (i + k) % (2 * k)
        below = [j for j in range(2 * k) if j != i and (positive_in_denominator or j != partner)]
        total -= math.log(e(columns[i], columns[i - k], tau) / sum(e(columns[i], columns[j], tau) for j in below))
    return total / (2 * k)


def entropy(q):
    return -sum(q_j * math.log(q_j) for q_j in q)


def imbalance(q):
    """The difference between the largest possible entropy and that of the mean row, Eq. 13."""
    return math.log(q.shape[1]) - entropy(q.mean(axis=0))


def pseudo_label_loss(q, y, mask=None):
    """Eq. 12; the sum is over the texts in the mask, the mean over all texts."""
    mask = [True] * len(y) if mask is None else mask
    return -sum(math.log(q[i][y[i]]) for i in range(len(y)) if mask[i]) / len(y)


SETTINGS = {
    "n_clusters": 3, "instance_weight": 7.0, "pseudo_label_weight": 3.0, "entropy_weight": 0.5, "balance_weight": 2.0,
    "temperature": 0.4, "cluster_temperature": 0.6,
}  # fmt: skip


def make_objective(**options):
    torch.manual_seed(3)  # with this seed the head predicts all three clusters in the batch below
    objective = AECLObjective(AECL(**SETTINGS | options), Network(8))
    with torch.no_grad():
        objective.g_h.into.weight *= 4  # so that attention and predictions are far from uniform
        for layer in (objective.classifier.layers[1], objective.classifier.layers[4], objective.classifier.layers[6]):
            layer.weight *= 4
            layer.bias.zero_()
    return objective.eval()


def make_corpus(n=30, n_clusters=3):
    generator = torch.Generator().manual_seed(2)
    labels = torch.arange(n) % n_clusters
    h = 0.5 * torch.randn(n, 8, generator=generator) + 2 * torch.eye(3, 8)[labels % 3]
    return Corpus(h.numpy(), h, torch.ones(n, dtype=torch.long), labels)


def initialized(**options):
    """Return an objective and the corpus that it was initialized from."""
    objective, corpus = make_objective(**options), make_corpus(n_clusters=options.get("n_clusters", 3))
    objective.initialize(corpus, 0)
    return objective, corpus


def make_batch():
    h, h_1 = torch.randn(2, 6, 8, generator=torch.Generator().manual_seed(1))
    return Batch(torch.tensor([4, 0, 2, 11, 7, 9]), h, (h_1,))


def view_arrays(objective, batch):
    """Return z, c, s and q of both views as arrays."""
    views = []
    with torch.no_grad():
        for h in (batch.original, *batch.augmented):
            z = objective.g_z(h)
            c, s = objective.g_h(z)
            views.append([part.double().numpy() for part in (z, c, s, objective.classifier(c).softmax(dim=1))])
    return views


def values(terms):
    return {name: term.detach().item() for name, term in terms.items()}


def small(**options):
    """Return an AECL that trains 5 epochs of 10 steps."""
    defaults = {
        "n_clusters": 3, "encoder": "tfidf", "epoch_steps": 10, "epochs": 5, "contrast_epochs": 1,
        "pseudo_label_epochs": 2, "batch_size": 30, "encoder_lr": 1e-3, "guard": "off",
    }  # fmt: skip
    return AECL(**defaults | options)


def distinct(topics):
    return sorted(set(topics[0]))
