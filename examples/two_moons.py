"""Why one never clusters alone: two moons, as in Fig. 1 of the TCC paper (Shen et al., NeurIPS 2021).

    python examples/two_moons.py [PICTURE]      # by default docs/figures/two-moons.png

A point may be nearer to the other moon than to the far end of its own, so k-means cuts through both. TCC reads points
with a small network and is told one thing: where a walk over nearest points ends is a view of where it began.
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


class Walk(Network):
    """Reads points; while it learns, not the point itself but the end of a walk from it. An image would be cropped."""

    def __init__(self, dim):
        super().__init__(8)
        self.layers = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))

    def prepare(self, items):
        self.points = torch.as_tensor(items)
        near = torch.cdist(self.points, self.points).topk(10, largest=False).indices  # (N, 10), itself among them
        step = torch.zeros(len(near), len(near)).scatter(1, near, 0.1)
        self.ends = torch.linalg.matrix_power(step, 256)  # (N, N), how often a walk of 256 steps ends where
        return torch.arange(len(near))

    def forward(self, *views):
        return tuple(self.layers(self.points[self.ends[rows].multinomial(1).squeeze(1)]) for rows in views)

    def look(self, prepared):
        return self.layers(self.points[prepared]).detach()

    def embed(self, items):
        return self.layers(torch.as_tensor(items)).detach().numpy()


class Plane(PrecomputedEncoder):
    """Points of the plane."""

    def network(self, dim, trainable_layers=None):
        return Walk(dim)


def main(picture):
    """Draw both ways of grouping the moons, and return the share of points that each gets right."""
    points, moons = make_moons(400, noise=0.06, random_state=0)
    start = {"encoder": Plane(), "init": "kmeans", "n_neighbours": 0, "prior_weight": 1.0, "guard": "off"}
    steps = {"epochs": 100, "max_steps": 400, "batch_size": 100, "encoder_lr": 0.01, "head_lr": 0.01}
    right, figure = {}, plt.figure(figsize=(8, 2.6), layout="constrained")
    for number, model in enumerate((coterie.KMeans(encoder="precomputed"), coterie.TCC(**start, **steps)), start=1):
        labels, name = model.set_params(n_clusters=2).fit(points.astype(np.float32)).labels_, type(model).__name__
        right[name] = max(np.mean(labels == moons), np.mean(labels != moons))
        panel = figure.add_subplot(1, 2, number, title=f"{name}: {right[name]:.1%}", aspect="equal")
        panel.scatter(*points.T, c=np.array(["#2a6f97", "#e07a5f"])[labels], s=8)
    figure.savefig(picture, dpi=130)
    return right


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "figures" / "two-moons.png")
