"""A made-up objective, small enough to follow by hand, and one way to train it."""

from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import nn

from coterie.contracts import Corpus, Objective, Stage
from coterie.encoders.linear import LinearNetwork
from coterie.graph.nearest import nearest
from coterie.graph.smoothing import unit_rows
from coterie.training.guard import Guard
from coterie.training.seeding import seeded
from coterie.training.trainer import Run, Trainer


class Toy(Objective):
    """Pulls vectors to the nearer of two centers; ``events`` tells what was called."""

    n_augmented = 1

    def __init__(self, encoder):
        super().__init__(encoder)
        self.mu = nn.Parameter(torch.zeros(2, encoder.dim))
        self.register_buffer("momentum", torch.zeros(2, encoder.dim))  # what follows slowly, as in MoCo
        self.register_buffer("queue", torch.zeros(3, dtype=torch.long))  # what remembers the last steps
        self.events, self.batches, self.terms = [], [], []

    def start(self, corpus, seed):
        self.events.append("start")
        self.mu.data.copy_(corpus.means(2))
        self.momentum.copy_(self.mu.data)

    def stages(self, epochs):
        return [Stage("pull", epochs, self.pull)]

    def pull(self, batch):
        h, h_1 = self.encoder(batch.original, batch.augmented[0])
        near = (h[:, None] - self.mu).square().sum(dim=2).amin(dim=1).mean()
        return self.noted(batch, {"near": near, "same": 0.1 * (h_1[:, None] - self.mu).square().mean()})

    def noted(self, batch, terms):
        self.batches.append(batch)
        self.terms.append({name: term.item() for name, term in ((n, t.detach()) for n, t in terms.items())})
        return terms

    def after_step(self):
        self.momentum.lerp_(self.mu.data, 0.1)
        self.queue.copy_(torch.cat([self.queue[1:], self.batches[-1].rows[:1]]))

    @property
    def centers(self):
        return self.mu

    def assign(self, h):
        return (-(h.double()[:, None] - self.mu.double()).square().sum(dim=2)).softmax(dim=1)


class Trained(NamedTuple):
    objective: Toy
    history: list
    guard: Guard

    @property
    def labels(self):
        h = self.objective.encoder.embed(DATA)
        return self.objective.assign_all(h).argmax(axis=1)

    @property
    def records(self):
        """The history without what a clock says."""
        return [{name: value for name, value in record.items() if name != "seconds"} for record in self.history]


TRUTH = np.arange(14) % 2
DATA = (np.random.default_rng(0).normal(size=(14, 4)) + 3 * TRUTH[:, None]).astype(np.float32)
HOW = {
    "batch_size": 5, "epochs": 3, "epoch_steps": None, "max_steps": None, "encoder_lr": 0.01, "head_lr": 0.02,
    "schedule": "constant", "clip_norm": None, "checkpoint_every": 1, "seed": 0,
}  # fmt: skip


def prepare(cls=Toy, *, guard="off", views=None, **options):
    """Return everything a training needs: three steps an epoch, dropout in the network."""
    how = Trainer(**HOW | {name: value for name, value in options.items() if name in HOW})
    parts = {name: value for name, value in options.items() if name not in HOW}
    with seeded(0):
        network = LinearNetwork(4, lambda items: np.array(items, dtype=np.float32))
        objective = cls(network)
    original = network.prepare(DATA)
    corpus = Corpus(DATA, network.look(original), torch.ones(14, dtype=torch.long), torch.from_numpy(TRUTH))
    parts["guard"] = Guard(guard, nearest(unit_rows(DATA), 3), TRUTH, 2)
    return how, objective, corpus, views or (lambda _: [original, original]), parts


def train_toy(cls=Toy, **options):
    how, objective, corpus, views, parts = prepare(cls, **options)
    history = how.run(objective, corpus, views, **parts)
    return Trained(objective, history, parts["guard"])


@pytest.fixture
def toy():
    return Toy


@pytest.fixture
def train():
    """Train a made-up objective: ``train(cls, **what differs from HOW, **parts of a Run)``."""
    return train_toy


@pytest.fixture
def a_run():
    """A run that has not begun."""

    def build(cls=Toy, **options):
        how, objective, corpus, views, parts = prepare(cls, **options)
        objective.start(corpus, how.seed)
        return Run(how, objective, corpus, views, **parts)

    return build


@pytest.fixture
def data():
    return DATA, TRUTH
