"""AECL's L_I as slow loops, and random views; h of the paper is c here."""

import torch

from coterie.losses.similarity import (
    View,
    similarity_contrast,
    similarity_contrast_official,
    similarity_contrast_paper,
)


def exp_similarity(x, y, tau):
    """exp(sim(x, y) / tau), Eq. 8."""
    return torch.exp(x @ y / (x.norm() * y.norm()) / tau)


def slow_between_views(z_0, z_1, i, tau):
    """l_1 of text i, Eq. 6."""
    others = [k for k in range(len(z_0)) if k != i]
    total = 0.0
    for own, other in ((z_0, z_1), (z_1, z_0)):
        negatives = sum(exp_similarity(own[i], own[k], tau) + exp_similarity(own[i], other[k], tau) for k in others)
        total = total + exp_similarity(own[i], other[i], tau) / negatives
    return total


def slow_within_view(view, labels, i, tau):
    """l_2 of text i, Eq. 7. Text i itself is one of the positives."""
    z, c, s = view
    others = [k for k in range(len(z)) if k != i]
    positives = [j for j in range(len(z)) if labels[j] == labels[i]]
    total = 0.0
    for own, other in ((z, c), (c, z)):
        positive = sum(s[i, j] * exp_similarity(own[i], other[j], tau) for j in positives)
        negatives = sum(exp_similarity(own[i], own[k], tau) + exp_similarity(own[i], other[k], tau) for k in others)
        total = total + positive / negatives
    return total


def slow_paper(views, labels, tau):
    """Eq. 6, 7 and 9."""
    n = len(labels)
    total = 0.0
    for i in range(n):
        l_1 = slow_between_views(views[0].z, views[1].z, i, tau)
        for view in views:
            total = total - torch.log(l_1 + slow_within_view(view, labels, i, tau))
    return total / (2 * n)


def slow_instance_only(views, labels, tau):
    """Eq. 6 and 9 without Eq. 7."""
    n = len(labels)
    return -sum(torch.log(slow_between_views(views[0].z, views[1].z, i, tau)) for i in range(n)) / n


def slow_official(views, labels, tau, *, broadcast):
    """The official code: rows 0..n-1 are z (or view 0), rows n..2n-1 are c (or view 1)."""
    n = len(labels)
    rows = range(2 * n)

    def negatives(vectors, r):
        return sum(exp_similarity(vectors[r], vectors[c], tau) for c in rows if c % n != r % n)

    both_views = [*views[0].z, *views[1].z]
    p = [exp_similarity(both_views[r], both_views[(r + n) % (2 * n)], tau) for r in rows]
    d = [negatives(both_views, r) for r in rows]
    losses = []
    for z, c, s in views:
        vectors = [*z, *c]
        l_2 = []
        for r in rows:
            positives = 0.0
            for k in rows:
                weight = (0.0 if r == k else s[r % n, k % n]) + 1e-5
                same = float(labels[r % n] == labels[k % n])
                positives = positives + exp_similarity(vectors[r], vectors[k], tau) * weight * same
            l_2.append(positives / negatives(vectors, r))
        pairs = [(r, k) for r in rows for k in rows] if broadcast else [(r, r) for r in rows]
        losses.append(-sum(torch.log(l_2[k] + p[r] / d[k]) for r, k in pairs) / len(pairs))
    return sum(losses) / 2


# Each entry is the loss of the package and its slow loop.
LOSSES = {
    "paper": (similarity_contrast_paper, slow_paper),
    "official": (
        lambda views, same, tau: similarity_contrast_official(views, same, tau=tau, broadcast=True),
        lambda views, labels, tau: slow_official(views, labels, tau, broadcast=True),
    ),
    "official_without_broadcast": (
        lambda views, same, tau: similarity_contrast_official(views, same, tau=tau, broadcast=False),
        lambda views, labels, tau: slow_official(views, labels, tau, broadcast=False),
    ),
    "instance_only": (
        lambda views, same, tau: similarity_contrast(views, same, tau=tau, form="instance_only"),
        slow_instance_only,
    ),
}


def random_views(n=5, dim=4, *, seed=0, dtype=torch.float32):
    """Return two views with an asymmetric S, and labels of two clusters."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    views = [View(draw(n, dim), draw(n, dim), draw(n, n).softmax(dim=1)) for _ in range(2)]
    return [View(*(tensor.to(dtype) for tensor in view)) for view in views], torch.arange(n) % 2


def same_label(labels):
    """Return the mask (B, B) of pairs with the same label."""
    return (labels[:, None] == labels).float()


def with_gradients(views):
    return [View(*(tensor.clone().requires_grad_() for tensor in view)) for view in views]
