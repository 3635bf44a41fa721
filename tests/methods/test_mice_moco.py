"""MiCE and MoCo: their losses against slow loops, and what happens between two steps."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import coterie
from coterie.contracts import Batch, Corpus, Network

H = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(1))
ROWS = torch.arange(6)
BATCH = Batch(ROWS, H[0], (H[1], H[2]))


class LinearNetwork(Network):
    """A network with weights, for the momentum encoder to average."""

    def __init__(self):
        super().__init__(4)
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, *views):
        return tuple(self.layer(view) for view in views)


def make(cls, **settings):
    torch.manual_seed(0)
    objective = cls(n_clusters=3, **settings).build_objective(LinearNetwork())
    objective.initialize(Corpus(["text"] * 6, H[0], torch.ones(6), torch.arange(6) % 3), 0)
    return objective


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def numpy(x):
    return x.detach().double().numpy()


# -- MoCo


def moco_embeddings(objective, h):
    return unit(numpy(objective.g(objective.network.layer(h))))


def test_moco_contrasts_with_the_items_of_earlier_steps():
    objective = make(coterie.MoCo, temperature=0.3, queue_size=8)
    assert objective.contrast(BATCH)["instance"].item() == pytest.approx(0)  # no negatives yet
    z, z_hat = moco_embeddings(objective, H[1]), moco_embeddings(objective, H[2])
    objective.after_step()
    shown = torch.tensor([0, 1, 2, 9, 9, 9])  # the first three are in the queue, and not their own negatives
    found = objective.contrast(Batch(ROWS, H[0], (H[1], H[2]), (shown, shown)))["instance"].item()
    losses = []
    for i in range(6):
        positive = np.exp(z[i] @ z_hat[i] / 0.3)
        negatives = sum(np.exp(z[i] @ z_hat[j] / 0.3) for j in range(6) if j != shown[i])
        losses.append(-np.log(positive / (positive + negatives)))
    assert found == pytest.approx(np.mean(losses), rel=1e-4)


def test_the_momentum_encoder_follows_slowly():
    objective = make(coterie.MoCo, momentum=0.9)
    before = numpy(objective.momentum_encoder(objective.student, H[1]))
    weight = objective.network.layer.weight
    old = weight.detach().clone()
    with torch.no_grad():
        weight += 1
    np.testing.assert_array_equal(numpy(objective.momentum_encoder(objective.student, H[1])), before)
    objective.after_step()
    torch.testing.assert_close(objective.momentum_encoder.get_buffer("network/layer/weight"), old + 0.1)


# -- MiCE


def slow_gate(objective, h, tau):
    """Eq. 3 with the corners of a simplex as the fixed prototypes of the gate."""
    g = numpy(objective.classifier(objective.scale * h))
    corners = unit(np.eye(3) - 1 / 3)
    e = np.exp(unit(g - g.mean(axis=1, keepdims=True)) @ corners.T / tau)
    return e / e.sum(axis=1, keepdims=True)


def test_mice_maximizes_the_elbo_of_its_posterior():
    objective = make(coterie.MiCE, temperature=0.7, latent_dim=5, queue_size=8, scale=1.5)
    objective.elbo(BATCH)
    objective.after_step()  # the queue holds the second views
    shown = torch.tensor([0, 1, 9, 9, 9, 9])
    found = objective.elbo(Batch(ROWS, H[0], (H[1], H[2]), (shown, shown)))["mixture"].item()
    h = objective.network.layer(H[1])
    pi = slow_gate(objective, h, 0.7)
    f, v = unit(numpy(objective.experts(h))), unit(numpy(objective.experts(objective.network.layer(H[2]))))
    mu = unit(numpy(objective.experts.mu))
    total = 0.0
    for i in range(6):
        phi = []
        for k in range(3):
            score = [np.exp(v[j, k] @ (f[i, k] + mu[k]) / 0.7) for j in range(6)]
            phi.append(score[i] / (score[i] + sum(score[j] for j in range(6) if j != shown[i])))
        q = pi[i] * phi / sum(pi[i] * phi)
        total += sum(q[k] * (np.log(pi[i, k] * phi[k]) - np.log(q[k])) for k in range(3))
    assert found == pytest.approx(-total / 6, rel=1e-4)


def test_mice_starts_from_the_initial_clusters():
    objective = make(coterie.MiCE, scale=7.0)
    mu = Corpus(["text"] * 6, H[0], torch.ones(6), torch.arange(6) % 3).means(3)
    nearest = torch.cdist(H[0], mu).argmin(dim=1)
    torch.testing.assert_close(objective.log_q(H[0]).argmax(dim=1), nearest)
    f = F.normalize(objective.experts(mu), dim=2)
    torch.testing.assert_close(objective.experts.mu.data, torch.stack([f[k, k] for k in range(3)]))


def test_prototypes_are_the_directions_of_their_clusters():
    objective = make(coterie.MiCE, latent_dim=5)
    corpus = Corpus(["text"] * 6, H[1], torch.ones(6), None)
    labels = objective.logits(H[1]).argmax(dim=1).tolist()
    f, before = unit(numpy(objective.experts(H[1]))), numpy(objective.experts.mu)
    objective.update_prototypes(corpus, 0)
    for k in range(3):
        own = [f[i, k] for i in range(6) if labels[i] == k]
        expected = unit(sum(own)) if own else before[k]
        np.testing.assert_allclose(numpy(objective.experts.mu)[k], expected, atol=1e-6)
    assert len(set(labels)) > 1
