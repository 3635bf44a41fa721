"""Base class of objectives with trained centers and Student-t soft assignments (SCCL, DECCRL)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from coterie.clustering.kmeans import NearestCenter, kmeans_centers
from coterie.contracts import Corpus, Network, Objective
from coterie.losses.assignment import student_t


class StudentTObjective(Objective):
    r"""Centers \mu that are trained, and assignment by q or by a final k-means that starts from them.

    .. math:: q_{jk} \propto (1 + s^2 \|h_j - \mu_k\|^2 / \alpha)^{-(\alpha+1)/2}

    \alpha are the ``degrees_of_freedom`` and s is the ``scale`` of the distances.
    """

    kmeans_restarts = 0
    """Random starts of the final k-means; 0: it starts from the trained centers."""

    def __init__(
        self,
        network: Network,
        n_clusters: int,
        *,
        degrees_of_freedom: float,
        scale: float,
        assign_by: Literal["kmeans", "q"],
    ) -> None:
        super().__init__(network)
        self.n_clusters = n_clusters
        self.degrees_of_freedom = degrees_of_freedom
        self.scale = scale
        self.assign_by = assign_by
        self.mu = nn.Parameter(torch.zeros(n_clusters, network.dim))
        self.nearest = NearestCenter(n_clusters, network.dim)

    def initialize(self, corpus: Corpus, seed: int) -> None:
        """Place the centers at the means of the initial clusters."""
        self.mu.data.copy_(corpus.means(self.n_clusters))

    def log_q(self, h: Tensor) -> Tensor:
        """Return log q (B, K) of h (B, D)."""
        return student_t(self.scale * h, self.scale * self.mu, alpha=self.degrees_of_freedom)

    def kmeans_from_centers(self, corpus: Corpus, seed: int) -> Tensor:
        """Return the centers (K, D) of k-means that starts from mu."""
        init = self.mu.detach().cpu()
        return kmeans_centers(corpus.h, corpus.counts, self.n_clusters, seed=seed, init=init)

    def fit_assigner(self, corpus: Corpus, seed: int) -> None:
        """Fit the final k-means, if it assigns."""
        if self.assign_by == "kmeans":
            restarts = self.kmeans_restarts
            if restarts:
                mu = kmeans_centers(corpus.h, corpus.counts, self.n_clusters, n_init=restarts, seed=seed)
            else:
                mu = self.kmeans_from_centers(corpus, seed)
            self.nearest.place(mu, corpus.h)

    @property
    def assigned_by(self) -> str:
        """Return ``kmeans`` or ``q``."""
        return self.assign_by

    @property
    def centers(self) -> Tensor:
        """Return the centers (K, D) that assign: those of the final k-means, or mu."""
        return self.nearest.mu if self.assign_by == "kmeans" else self.mu

    def assign(self, h: Tensor) -> Tensor:
        """Return q (B, K) in float64: by the nearest center of the final k-means, or by the Student-t kernel."""
        if self.assign_by == "kmeans":
            q: Tensor = self.nearest(h)
            return q
        return self.log_q(h.double()).softmax(dim=1)
