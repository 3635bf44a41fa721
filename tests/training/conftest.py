"""A toy objective that is small enough to follow by hand, and functions that train it."""

import signal
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import nn

from coterie.arrays import unit_rows
from coterie.clustering.mixture import Evidence, neighbor_weights
from coterie.contracts import Corpus, Objective, Stage
from coterie.encoders.networks.linear import LinearNetwork
from coterie.errors import TrainingStopped
from coterie.knn.graph import knn_graph
from coterie.seeding import seeded
from coterie.training.checkpoint import Checkpoint
from coterie.training.guard import Guard
from coterie.training.stopping import Stopping
from coterie.training.trainer import Run, Trainer

LABELS = np.arange(14) % 2
DATA = (np.random.default_rng(0).normal(size=(14, 4)) + 3 * LABELS[:, None]).astype(np.float32)
SETTINGS = {
    "batch_size": 5, "epochs": 3, "epoch_steps": None, "max_steps": None, "encoder_lr": 0.01, "head_lr": 0.02,
    "schedule": "constant", "max_grad_norm": None, "checkpoint_every": 1, "seed": 0, "stopping": Stopping(),
}  # fmt: skip


class Toy(Objective):
    """Pulls vectors to the nearer of two centers. It records its batches, its terms and other ``events``."""

    n_augmented = 1

    def __init__(self, network):
        super().__init__(network)
        self.mu = nn.Parameter(torch.zeros(2, network.dim))
        self.register_buffer("momentum", torch.zeros(2, network.dim))  # a moving average, as in MoCo
        self.register_buffer("queue", torch.zeros(3, dtype=torch.long))  # the first row of the last three steps
        self.events = []
        self.batches = []
        self.terms = []

    def initialize(self, corpus, seed):
        self.events.append("initialize")
        self.mu.data.copy_(corpus.means(2))
        self.momentum.copy_(self.mu.data)

    def stages(self, epochs):
        return [Stage("pull", epochs, self.pull)]

    def pull(self, batch):
        h, h_1 = self.network(batch.original, batch.augmented[0])
        near = (h[:, None] - self.mu).square().sum(dim=2).amin(dim=1).mean()
        terms = {"near": near, "same": 0.1 * (h_1[:, None] - self.mu).square().mean()}
        self.batches.append(batch)
        self.terms.append({name: term.detach().item() for name, term in terms.items()})
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
        h = self.objective.network.embed(DATA)
        return self.objective.assign_all(h).argmax(axis=1)

    @property
    def state(self):
        return {name: value.clone() for name, value in self.objective.state_dict().items()}

    @property
    def records(self):
        """The history without the seconds."""
        return [{name: value for name, value in record.items() if name != "seconds"} for record in self.history]


def prepare(cls=Toy, *, guard="off", views=None, **options):
    """Return all arguments of a training: 14 items, three steps an epoch, dropout in the network."""
    trainer = Trainer(**SETTINGS | {name: value for name, value in options.items() if name in SETTINGS})
    parts = {name: value for name, value in options.items() if name not in SETTINGS}
    with seeded(0):
        network = LinearNetwork(4, lambda items: np.array(items, dtype=np.float32))
        objective = cls(network)
    prepared = network.prepare(DATA)
    corpus = Corpus(
        items=DATA,
        h=network.encode(prepared),
        counts=torch.ones(14, dtype=torch.long),
        labels=torch.from_numpy(LABELS),
        prepared=prepared,
    )
    e, counts = unit_rows(DATA), np.ones(14)
    evidence = Evidence(e, counts, None, neighbor_weights(knn_graph(e, 3), counts))
    parts["guard"] = Guard(guard, evidence, LABELS, 2)
    return trainer, objective, corpus, views or (lambda _: [prepared]), parts


def train_toy(cls=Toy, **options):
    trainer, objective, corpus, views, parts = prepare(cls, **options)
    history = trainer.run(objective, corpus, views, **parts)
    return Trained(objective, history, parts["guard"])


@pytest.fixture
def toy():
    return Toy


@pytest.fixture
def train():
    """Train a toy objective: ``train(cls, **changed settings, **parts of a Run)``."""
    return train_toy


@pytest.fixture
def new_run():
    """Return a run that has not begun: ``new_run(cls, **options)``."""

    def build(cls=Toy, **options):
        trainer, objective, corpus, views, parts = prepare(cls, **options)
        objective.initialize(corpus, trainer.seed)
        return Run(trainer, objective, corpus, views, **parts)

    return build


@pytest.fixture
def data():
    """The items (14, 4) and their initial labels (14,)."""
    return DATA, LABELS


@pytest.fixture
def slope(toy):
    """A loss with slope one in every direction: each Adam step is as long as its learning rate."""

    class Slope(toy):
        def initialize(self, corpus, seed):
            self.events.append((0.0, 0.0))

        def pull(self, batch):
            self.batches.append(batch)
            return {"down": self.mu.sum() + self.network.outward.weight.sum()}

        def after_step(self):
            self.events.append((float(self.mu[0, 0].detach()), float(self.network.outward.weight[0, 0].detach())))

    return Slope


@pytest.fixture
def assert_same():
    """Compare two state dicts bit by bit."""

    def check(one, other):
        assert one.keys() == other.keys()
        for name, value in one.items():
            assert torch.equal(value, other[name]), name

    return check


@pytest.fixture
def interrupt_and_resume(train, tmp_path):
    """Train, interrupt after ``step`` steps, and resume: ``interrupt_and_resume(cls, step, **options)``."""

    def run(cls, step, **options):
        class Interrupted(cls):
            def after_step(self):
                super().after_step()
                if len(self.batches) == step:
                    signal.raise_signal(signal.SIGINT)

        options |= {"checkpoint": Checkpoint(tmp_path / f"{step}", "the same items")}
        with pytest.raises(TrainingStopped, match=f"Stopped at step {step} "):
            train(Interrupted, **options)
        return train(cls, **options)

    return run
