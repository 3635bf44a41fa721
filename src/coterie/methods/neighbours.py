r"""Neighbours: group texts by what their nearest texts say. coterie's own; nothing is trained.

Each vector is averaged over its nearest texts, words are added where they agree with the vectors, and of two
groupings of the result, k-means and average linkage, the one that the neighbour graph supports better is kept.

.. math:: x_i \leftarrow \frac{x_i + \sum_{j \in NN(i)} \cos(x_i, x_j)^3 x_j}{1 + \sum_j \cos(x_i, x_j)^3}, \qquad
          q_{ik} = \frac{\sum_{j \in NN(i)} \cos(h_i, h_j)^3 [y_j = k]}{\sum_j \cos(h_i, h_j)^3}

Paper: none - Code: this file. The study behind it: docs/methods/neighbours.md
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from coterie.clusterer import Clusterer
from coterie.contracts import Corpus, Labels, Objective, Vectors
from coterie.graph.criterion import entropy, evidence
from coterie.graph.linkage import average_linkage, cut
from coterie.graph.nearest import Links, nearest
from coterie.graph.smoothing import compress, smooth, unit_rows
from coterie.graph.words import fuse, word_vectors
from coterie.heads.centers import kmeans_centers, squared_distances
from coterie.heads.memory import Memory
from coterie.hyper import hyper

_LINKS_FOR_WORDS = 10  # links that tell whether words agree with the vectors
_LINKS_FOR_CHOICE = 5  # links that judge the two groupings
_LEAST_AGREEMENT = 1 / 3  # of the words' links with the vectors' groups, relative to the vectors' own
_LEAST_EVENNESS = 1 / 3  # perplexity of the sizes over K, below which average linkage found a giant and crumbs


class Neighbours(Clusterer, name="neighbours"):
    """Instant: smooth over nearest texts, then k-means or average linkage, whichever the graph supports."""

    n_neighbours: int = hyper(15, "nearest texts that a text is averaged over", symbol="k", ge=1)
    rounds: int = hyper(3, "how often", ge=0)
    word_weight: float = hyper(0.3, "share of the words' evidence where it agrees with the vectors'", ge=0, lt=1)
    least_size: float = hyper(0.05, "least size of a linked cluster, as a share of the mean size", ge=0, lt=1)
    exponent: float = hyper(0.65, "of the entropy in the choice between the groupings", symbol="a", ge=0, le=1)
    n_init: int = hyper(10, "starts of k-means, of which the best is kept", ge=1)

    def build_objective(self, dim: int) -> Objective:
        """Return an objective that knows no texts yet."""
        return NeighboursObjective(self, dim)


class NeighboursObjective(Objective):
    """The groups of the corpus, and a memory of its texts that votes on new ones."""

    mu: Tensor

    def __init__(self, hp: Neighbours, dim: int) -> None:
        super().__init__()
        self.hp = hp
        self.register_buffer("mu", torch.zeros(hp.n_clusters, dim))
        self.memory = Memory(dim)

    @property
    def centers(self) -> Tensor:
        """Return the mean vector of each cluster."""
        return self.mu

    def start(self, corpus: Corpus, seed: int | None) -> None:
        """Group the corpus and remember it."""
        counts = corpus.counts.numpy().astype(np.float64)
        labels = self._group(unit_rows(corpus.h.numpy()), corpus, counts, seed)
        labels = _largest_first(labels, counts, self.hp.n_clusters)
        member = F.one_hot(torch.from_numpy(labels), self.hp.n_clusters) * corpus.counts[:, None].double()  # (N, K)
        self.mu = ((member.T @ corpus.h.double()) / member.sum(dim=0)[:, None]).float()
        self.memory.remember(corpus.h, torch.from_numpy(labels))

    def _group(self, e: Vectors, corpus: Corpus, counts: NDArray[np.float64], seed: int | None) -> Labels:
        links, x = self._smoothed(e)
        labels = self._kmeans(x, counts, seed)
        words = self._words(corpus, seed)
        if words is not None and self._agrees(words, links, labels):
            fused_links, fused_x = self._smoothed(fuse(e, words, self.hp.word_weight))
            fused_labels = self._kmeans(fused_x, counts, seed)
            if self._score(fused_links, fused_labels) > self._score(links, labels):
                x, labels = fused_x, fused_labels
        linked = self._link(x, counts)
        return labels if linked is None else self._better(labels, linked, counts, links.first(_LINKS_FOR_CHOICE))

    def _smoothed(self, x: Vectors) -> tuple[Links, Vectors]:
        """Return the links of ``x`` and ``x`` averaged over them, but over no more than a mean cluster has."""
        links = nearest(x, max(self.hp.n_neighbours, _LINKS_FOR_WORDS))
        k = max(min(self.hp.n_neighbours, len(x) // self.hp.n_clusters - 1), 1)
        return links, compress(smooth(x, links.first(k), rounds=self.hp.rounds))

    def _words(self, corpus: Corpus, seed: int | None) -> Vectors | None:
        if self.hp.word_weight == 0 or not isinstance(corpus.items, list):
            return None
        return word_vectors(corpus.items, width=int(np.clip(2 * self.hp.n_clusters, 100, 300)), seed=seed)

    def _agrees(self, words: Vectors, links: Links, labels: Labels) -> bool:
        """Whether nearest by words are in one group of the vectors often enough to be trusted."""
        by_words, by_vectors = (
            evidence(some.first(_LINKS_FOR_WORDS), labels, self.hp.n_clusters).score(1.0)
            for some in (nearest(words, _LINKS_FOR_WORDS), links)
        )
        return by_words >= _LEAST_AGREEMENT * by_vectors

    def _score(self, links: Links, labels: Labels) -> float:
        return evidence(links.first(_LINKS_FOR_WORDS), labels, self.hp.n_clusters).score(self.hp.exponent)

    def _kmeans(self, x: Vectors, counts: NDArray[np.float64], seed: int | None) -> Labels:
        rows = torch.from_numpy(x)
        mu = kmeans_centers(rows, torch.from_numpy(counts), self.hp.n_clusters, n_init=self.hp.n_init, seed=seed)
        return squared_distances(rows, mu).argmin(dim=1).numpy()

    def _link(self, x: Vectors, counts: NDArray[np.float64]) -> Labels | None:
        least = max(2.0, round(self.hp.least_size * counts.sum() / self.hp.n_clusters))
        labels = cut(average_linkage(x, counts), counts, self.hp.n_clusters, least=least)
        if labels is None:
            return None
        mean = np.stack([x[labels == k].mean(axis=0) for k in range(self.hp.n_clusters)])
        return np.where(labels >= 0, labels, (x @ unit_rows(mean).T).argmax(axis=1))

    def _better(self, first: Labels, second: Labels, counts: NDArray[np.float64], links: Links) -> Labels:
        """Return ``second`` if the graph supports it more and it is not one giant and crumbs."""
        evenness = np.exp(entropy(np.bincount(second, counts) / counts.sum())) / self.hp.n_clusters
        scores = [evidence(links, labels, self.hp.n_clusters).score(self.hp.exponent) for labels in (first, second)]
        return second if evenness >= _LEAST_EVENNESS and scores[1] > scores[0] else first

    def assign(self, h: Tensor) -> Tensor:
        """Return the vote of the nearest training texts."""
        return self.memory.vote(h, self.hp.n_clusters, k=self.hp.n_neighbours)


def _largest_first(labels: Labels, counts: NDArray[np.float64], n_clusters: int) -> Labels:
    order = np.argsort(-np.bincount(labels, counts, minlength=n_clusters), kind="stable")
    rank = np.empty(n_clusters, dtype=np.int64)
    rank[order] = np.arange(n_clusters)
    return rank[labels]
