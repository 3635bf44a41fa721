r"""Neighbours: group texts by what their nearest texts say. coterie's own; nothing is trained.

Each vector is averaged over its nearest texts, and the result is grouped by k-means: from random starts and from
average linkage, without words and, where words agree with the vectors, with them. The silhouette says which to keep.

.. math:: x_i \leftarrow \frac{x_i + \sum_{j \in NN(i)} \cos(x_i, x_j)^3 x_j}{1 + \sum_j \cos(x_i, x_j)^3}, \qquad
          q_{ik} = \frac{\sum_{j \in NN(i)} \cos(h_i, h_j)^3 [y_j = k]}{\sum_j \cos(h_i, h_j)^3}

Paper: none - Code: this file. The study behind it: docs/methods/neighbours.md
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import silhouette_score
from torch import Tensor

from coterie.clusterer import Clusterer
from coterie.contracts import Corpus, Labels, Network, Objective, Vectors
from coterie.graph.evidence import WORD_AGREEMENT, WORD_WEIGHT, words_agree, words_of
from coterie.graph.linkage import average_linkage, cut
from coterie.graph.nearest import Links, nearest
from coterie.graph.smoothing import compress, smooth, unit_rows
from coterie.graph.words import fuse
from coterie.heads.centers import kmeans_centers, squared_distances
from coterie.heads.memory import Memory
from coterie.hyper import hyper

_SAMPLE = 4000  # texts whose silhouette is measured


class Neighbours(Clusterer, name="neighbours"):
    """Instant: smooth over the nearest texts, then keep the grouping with the best silhouette."""

    n_neighbours: int = hyper(15, "nearest texts that a text is averaged over", symbol="k", ge=1)
    rounds: int = hyper(3, "how often", ge=0)
    word_weight: float = hyper(
        WORD_WEIGHT, "share of the words' evidence, where it helps; 0 leaves words out", ge=0, lt=1
    )
    word_agreement: float = hyper(
        WORD_AGREEMENT, "what words must know of the vectors' groups, of what vectors know", ge=0
    )
    least_size: float = hyper(0.05, "least size of a linked cluster, as a share of the mean size", ge=0, lt=1)
    linkage_margin: float = hyper(0.012, "by how much silhouette linkage must beat k-means to be kept", ge=0)
    n_init: int = hyper(10, "random starts of k-means, of which the best is kept", ge=1)

    def build_objective(self, encoder: Network) -> Objective:
        """Return an objective that knows no texts yet."""
        return NeighboursObjective(self, encoder)


class NeighboursObjective(Objective):
    """The groups of the corpus, and a memory of its texts that votes on new ones."""

    mu: Tensor

    def __init__(self, hp: Neighbours, encoder: Network) -> None:
        super().__init__(encoder)
        self.hp = hp
        self.register_buffer("mu", torch.zeros(hp.n_clusters, encoder.dim))
        self.memory = Memory(encoder.dim)

    @property
    def centers(self) -> Tensor:
        """Return the mean vector of each cluster."""
        return self.mu

    def start(self, corpus: Corpus, seed: int | None) -> None:
        """Group the corpus and remember it."""
        labels = torch.from_numpy(self._group(unit_rows(corpus.h.numpy()), corpus, seed))
        self.mu = replace(corpus, labels=labels).means(self.hp.n_clusters)
        self.memory.remember(corpus.h, labels)

    def _group(self, e: Vectors, corpus: Corpus, seed: int | None) -> Labels:
        counts, evidence = corpus.counts.double(), e
        links = nearest(e, max(self.hp.n_neighbours, 10))
        x = self._smoothed(e, links)
        best = self._kmeans(x, counts, seed)
        words = words_of(corpus.items, self.hp.n_clusters, seed=seed) if self.hp.word_weight else None
        least = self.hp.word_agreement
        if words is not None and words_agree(words, links, best, self.hp.n_clusters, least=least):
            evidence = fuse(e, words, self.hp.word_weight)
            fused = self._smoothed(evidence, nearest(evidence, self.hp.n_neighbours))
            labels = self._kmeans(fused, counts, seed)
            if _silhouette(evidence, labels) > _silhouette(evidence, best):
                x, best = fused, labels
        linked = self._linked(x, counts, seed)
        if linked is None:
            return best
        gain = _silhouette(evidence, linked) - _silhouette(evidence, best)
        return linked if gain > self.hp.linkage_margin else best

    def _smoothed(self, x: Vectors, links: Links) -> Vectors:
        """Return ``x`` averaged over its nearest, but over no more than a cluster of mean size has."""
        k = max(min(self.hp.n_neighbours, len(x) // self.hp.n_clusters - 1), 1)
        return compress(smooth(x, links.first(k), rounds=self.hp.rounds))

    def _kmeans(self, x: Vectors, counts: Tensor, seed: int | None, start: Tensor | None = None) -> Labels:
        rows, n_init = torch.from_numpy(x), self.hp.n_init if start is None else 1
        mu = kmeans_centers(rows, counts, self.hp.n_clusters, n_init=n_init, seed=seed, start=start)
        return squared_distances(rows, mu).argmin(dim=1).numpy()

    def _linked(self, x: Vectors, counts: Tensor, seed: int | None) -> Labels | None:
        """Return k-means from the groups of average linkage; None when these are too few."""
        weight: NDArray[np.float64] = counts.numpy()
        least = max(2.0, round(self.hp.least_size * weight.sum() / self.hp.n_clusters))
        groups = cut(average_linkage(x, weight), weight, self.hp.n_clusters, least=least)
        if groups is None:
            return None
        means = np.stack([x[groups == k].mean(axis=0) for k in range(self.hp.n_clusters)])
        return self._kmeans(x, counts, seed, torch.from_numpy(means))

    def assign(self, h: Tensor) -> Tensor:
        """Return the vote of the nearest training texts."""
        return self.memory.vote(h, self.hp.n_clusters, k=self.hp.n_neighbours)


def _silhouette(x: Vectors, labels: Labels) -> float:
    """Return the mean silhouette by cosine of a fixed sample; -1 where it is not defined."""
    sample = np.random.default_rng(0).permutation(len(x))[:_SAMPLE]
    if not 2 <= len(np.unique(labels[sample])) < len(sample):
        return -1.0
    return float(silhouette_score(x[sample], labels[sample], metric="cosine"))
