"""Cluster two moons with TCC, as in Fig. 1 of its paper (Shen et al., NeurIPS 2021).

    python examples/two_moons.py [FIGURE]      # default: docs/figures/two-moons.png

Some points are nearer to the other moon than to the far end of their own, so k-means cuts through both moons. TCC
trains a small network. The augmented view of a point is the end of a random walk over nearest neighbors from there.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import make_moons
from torch import nn

import coterie
from coterie.contracts import Network
from coterie.encoders.precomputed import PrecomputedEncoder


class RandomWalkNetwork(Network):
    """Encodes points. In training it encodes the end of a random walk from each point instead."""

    def __init__(self, dim):
        super().__init__(8)
        self.layers = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))

    def prepare(self, items):
        self.points = torch.as_tensor(items)
        distances = torch.cdist(self.points, self.points)
        nearest = distances.topk(10, largest=False).indices  # (N, 10), the point itself included
        step = torch.zeros(len(nearest), len(nearest)).scatter(1, nearest, 0.1)
        self.walk = torch.linalg.matrix_power(step, 256)  # (N, N) probabilities of the end after 256 steps
        return torch.arange(len(nearest))

    def forward(self, *views):
        return tuple(self.layers(self.points[self.walk[rows].multinomial(1).squeeze(1)]) for rows in views)

    def encode(self, prepared):
        return self.layers(self.points[prepared]).detach()

    def embed(self, items):
        return self.layers(torch.as_tensor(items)).detach().numpy()


class PointEncoder(PrecomputedEncoder):
    """Takes points, and trains a :class:`RandomWalkNetwork` on them."""

    def network(self, trainable_layers=None):
        return RandomWalkNetwork(self.dim)


def main(path, max_steps=400):
    """Draw the clusters of k-means and TCC, and return the accuracy of both."""
    points, moons = make_moons(400, noise=0.06, random_state=0)
    settings = {"encoder": PointEncoder(), "init": "kmeans", "n_neighbors": 0, "prior_weight": 1.0, "guard": "off"}
    settings |= {"epochs": 100, "max_steps": max_steps, "batch_size": 100, "encoder_lr": 0.01, "head_lr": 0.01}
    models = [coterie.KMeans(n_clusters=2, encoder="precomputed"), coterie.TCC(n_clusters=2, **settings)]
    figure, axes = plt.subplots(1, 2, figsize=(8, 2.6), layout="constrained")
    accuracy = {}
    for model, axis in zip(models, axes, strict=True):
        labels = model.fit_predict(points.astype(np.float32))
        name = type(model).__name__
        accuracy[name] = max(np.mean(labels == moons), np.mean(labels != moons))
        axis.set(title=f"{name}: {accuracy[name]:.1%}", aspect="equal")
        axis.scatter(*points.T, c=np.array(["#2a6f97", "#e07a5f"])[labels], s=8)
    figure.savefig(path, dpi=130)
    return accuracy


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "figures" / "two-moons.png")
