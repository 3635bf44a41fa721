r"""Neighbours: group texts by what their nearest texts say. coterie's own; nothing is trained.

Each vector is averaged over its nearest texts, and the result is grouped by k-means: from random starts and from
average linkage, without words and, where words agree with the vectors, with them. The silhouette says which to keep.

.. math:: x_i \leftarrow \frac{x_i + \sum_{j \in NN(i)} \cos(x_i, x_j)^3 x_j}{1 + \sum_j \cos(x_i, x_j)^3}, \qquad
          q_{ik} = \frac{\sum_{j \in NN(i)} \cos(h_i, h_j)^3 [y_j = k]}{\sum_j \cos(h_i, h_j)^3}

Paper: none - Code: this file. The study behind it: docs/methods/neighbours.md
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from coterie.clusterer import Clusterer
from coterie.contracts import Corpus, Labels, Network, Objective, Vectors
from coterie.graph.evidence import WORD_AGREEMENT, WORD_WEIGHT, words_agree, words_of
from coterie.graph.groups import by_kmeans, by_linkage, means_of, silhouette
from coterie.graph.nearest import Links, nearest
from coterie.graph.smoothing import compress, smooth, unit_rows
from coterie.graph.words import fuse
from coterie.heads.memory import Memory
from coterie.hyper import hyper

Use = Literal["auto", "never", "always"]


class Neighbours(Clusterer, name="neighbours"):
    """Instant: smooth over the nearest texts, then keep the grouping with the best silhouette."""

    n_neighbours: int = hyper(15, "nearest texts that a text is averaged over", symbol="k", ge=1)
    rounds: int = hyper(3, "how often", ge=0)
    power: float = hyper(3.0, "of the cosine, that a near text weighs and votes with", ge=0)
    words: Use = hyper("auto", "join the words' evidence: where it helps, never, or always")
    word_weight: float = hyper(WORD_WEIGHT, "share of the words' evidence; 0 leaves words out", ge=0, lt=1)
    word_agreement: float = hyper(
        WORD_AGREEMENT, "what words must know of the vectors' groups, of what vectors know", ge=0
    )
    linkage: Use = hyper("auto", "start k-means from average linkage: where it is better, never, or always")
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
        self.memory = Memory(encoder.dim, hp.n_neighbours)

    @property
    def centers(self) -> Tensor:
        """Return the mean vector of each cluster."""
        return self.mu

    def start(self, corpus: Corpus, seed: int | None) -> None:
        """Group the corpus and remember it."""
        e = unit_rows(corpus.h.numpy())
        links = nearest(e, max(self.hp.n_neighbours, 10))
        labels = self._group(e, links, corpus, seed)
        self.mu = means_of(corpus.h, corpus.counts, labels, self.hp.n_clusters)
        near = links.first(self.hp.n_neighbours).rows
        self.memory.remember(corpus.h, torch.from_numpy(labels), torch.from_numpy(near))

    def _group(self, e: Vectors, links: Links, corpus: Corpus, seed: int | None) -> Labels:
        x, evidence = self._smoothed(e, links), e
        best = self._kmeans(x, corpus, seed)
        words = self._words(e, links, corpus, best, seed)
        if words is not None:
            evidence = fuse(e, words, self.hp.word_weight)
            joined = nearest(evidence, self.hp.n_neighbours)
            fused = self._smoothed(evidence, joined)
            labels = self._kmeans(fused, corpus, seed)
            if self.hp.words == "always" or silhouette(evidence, labels) > silhouette(evidence, best):
                x, best, links = fused, labels, joined
        if self.hp.linkage == "never":
            return best
        least, k = self.hp.least_size, self.hp.n_clusters
        linked = by_linkage(x, corpus.counts, links, k, least_size=least, seed=seed)
        if linked is None:
            return best
        gain = silhouette(evidence, linked) - silhouette(evidence, best)
        return linked if self.hp.linkage == "always" or gain > self.hp.linkage_margin else best

    def _smoothed(self, x: Vectors, links: Links) -> Vectors:
        """Return ``x`` averaged over its nearest, but over no more than a cluster of mean size has."""
        k = max(min(self.hp.n_neighbours, len(x) // self.hp.n_clusters - 1), 1)
        return compress(smooth(x, links.first(k), rounds=self.hp.rounds, power=self.hp.power))

    def _kmeans(self, x: Vectors, corpus: Corpus, seed: int | None) -> Labels:
        return by_kmeans(x, corpus.counts, self.hp.n_clusters, n_init=self.hp.n_init, seed=seed)

    def _words(self, e: Vectors, links: Links, corpus: Corpus, labels: Labels, seed: int | None) -> Vectors | None:
        """Return what words say of the texts (N, V); None when there are none, or none to be believed."""
        if self.hp.words == "never" or not self.hp.word_weight:
            return None
        words = words_of(corpus.items, self.hp.n_clusters, seed=seed)
        if words is None or self.hp.words == "always":
            return words
        least = self.hp.word_agreement
        return words if words_agree(e, words, links, labels, self.hp.n_clusters, least=least) else None

    def assign(self, h: Tensor) -> Tensor:
        """Return the vote of the nearest training texts."""
        return self.memory.vote(h, self.hp.n_clusters, power=self.hp.power)
