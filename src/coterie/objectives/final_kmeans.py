"""Base class of objectives that train embeddings and then cluster them by k-means."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from coterie.clustering.kmeans import NearestCenter, kmeans_centers
from coterie.contracts import Corpus, Network, Objective


class FinalKMeansObjective(Objective):
    """k-means on the trained embeddings, from the means of the initial clusters or from ``restarts`` random starts."""

    transient = frozenset({"initial_labels"})

    initial_labels: Tensor  # (N,)

    def __init__(self, network: Network, n_clusters: int, *, restarts: int) -> None:
        super().__init__(network)
        self.n_clusters, self.restarts = n_clusters, restarts
        self.nearest = NearestCenter(n_clusters, network.dim)
        self.register_buffer("initial_labels", torch.zeros(0, dtype=torch.long))

    def initialize(self, corpus: Corpus, seed: int) -> None:
        """Take the initial labels."""
        self.initial_labels = torch.as_tensor(corpus.labels, device=self.nearest.mu.device).clone()

    def fit_assigner(self, corpus: Corpus, seed: int) -> None:
        """Place the centers by k-means."""
        k = self.n_clusters
        init = None if self.restarts else replace(corpus, labels=self.initial_labels.cpu()).means(k)
        mu = kmeans_centers(corpus.h, corpus.counts, k, n_init=max(self.restarts, 1), seed=seed, init=init)
        self.nearest.place(mu, corpus.h)

    @property
    def assigned_by(self) -> str:
        """Return ``kmeans``."""
        return "kmeans"

    @property
    def centers(self) -> Tensor:
        """Return the centers of k-means (K, D)."""
        return self.nearest.mu

    def assign(self, h: Tensor) -> Tensor:
        """Return q (B, K) in float64, by the nearest center."""
        q: Tensor = self.nearest(h)
        return q
