"""The loss of RSTC as slow loops, and small inputs for it."""

import math

import numpy as np
import torch

from coterie.contracts import Batch, Corpus, Network
from coterie.methods.rstc import RSTC, RSTCObjective


def one_direction(z_1, z_2, tau):
    """Return the mean loss of finding the second view of a text from the first, as in the official code."""

    def cosine(x, y):
        return float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)))

    total = 0.0
    for i in range(len(z_1)):
        positive = math.exp(cosine(z_1[i], z_2[i]) / tau)
        others = [j for j in range(len(z_1)) if j != i]
        negatives = sum(math.exp(cosine(z_1[i], z[j]) / tau) for z in (z_1, z_2) for j in others)
        total -= math.log(positive / (positive + negatives))
    return total / len(z_1)


def instance_loss(z_1, z_2, tau):
    return one_direction(z_1, z_2, tau) + one_direction(z_2, z_1, tau)


def cross_entropy(logits, y):
    total = 0.0
    for row, label in zip(logits, y, strict=True):
        total -= math.log(math.exp(row[label]) / sum(math.exp(x) for x in row))
    return total / len(y)


def classifier_logits(objective, h, scale):
    """Return the logits of P for h without dropout, layer by layer."""
    x = scale * h.double()
    for linear in (layer for layer in objective.classifier.layers if isinstance(layer, torch.nn.Linear)):
        x = x @ linear.weight.detach().double().T + linear.bias.detach().double()
        if linear.out_features != objective.hp.n_clusters:
            x = x.clamp_min(0)
    return x.numpy()


SETTINGS = {"n_clusters": 3, "instance_weight": 7.0, "temperature": 0.4, "scale": 2.0, "balance_weight": 0.3}


def make_objective(**options):
    torch.manual_seed(0)
    return RSTCObjective(RSTC(**SETTINGS | options), Network(4))


def make_corpus(n=30):
    generator = torch.Generator().manual_seed(2)
    labels = torch.arange(n) % 3
    h = 0.5 * torch.randn(n, 4, generator=generator) + 2 * torch.eye(3, 4)[labels]
    return Corpus(h.numpy(), h, torch.ones(n, dtype=torch.long), labels)


def initialized(**options):
    """Return an objective and the corpus that it was initialized from."""
    objective, corpus = make_objective(**options), make_corpus()
    objective.initialize(corpus, 0)
    return objective, corpus


def make_batch():
    h, h_1, h_2 = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(1))
    return Batch(torch.tensor([4, 0, 2, 11, 7, 9]), h, (h_1, h_2))


def values(terms):
    return {name: term.detach().item() for name, term in terms.items()}


def small(**options):
    defaults = {"n_clusters": 3, "encoder": "tfidf", "epoch_steps": 4, "encoder_lr": 1e-3, "tolerance": 0.0}
    return RSTC(**defaults | options)
