"""Assigns items by a fitted mixture: by their embeddings, their words, and the training items near them."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from scipy.sparse import csr_matrix
from torch import Tensor, nn

from coterie.clustering.mixture import Floats, Mixture, MixtureSettings, affinity_and_degree
from coterie.fixed_height import in_fixed_chunks
from coterie.knn.classifier import QUERY_BLOCK, KNNClassifier
from coterie.knn.graph import KNNGraph

_STORED_CLUSTERS = 3  # most probable clusters that are stored for each training item


class MixtureClassifier(nn.Module):
    """Stores the parameters of a mixture, and for each training item its q and its embedding in 8 bits.

    A training item gets the q that the fit gave it. A new item gets the q of the mixture, with the training items that
    are nearest to it as its neighbors.
    """

    mu: Tensor  # (K, D)
    log_prior: Tensor  # (K,)
    word_evidence: Tensor  # (V, K) float16: its values are between -10 and 10
    temperature: Tensor  # ()
    counts: Tensor  # (N,) how often each training item occurs
    degree: Tensor  # (N,) of each training item in the neighbor graph
    clusters: Tensor  # (N, T) the most probable clusters of each training item
    q: Tensor  # (N, T) their probabilities; the rest is spread evenly over the other clusters

    def __init__(self, n_clusters: int, dim: int, k: int) -> None:
        super().__init__()
        n_stored = min(_STORED_CLUSTERS, n_clusters)
        self.n_clusters = n_clusters
        self.knn = KNNClassifier(dim, k)
        self.register_buffer("mu", torch.zeros(n_clusters, dim))
        self.register_buffer("log_prior", torch.zeros(n_clusters))
        self.register_buffer("word_evidence", torch.zeros(0, n_clusters, dtype=torch.float16))
        self.register_buffer("temperature", torch.ones(()))
        self.register_buffer("counts", torch.zeros(0))
        self.register_buffer("degree", torch.zeros(0))
        self.register_buffer("clusters", torch.zeros(0, n_stored, dtype=_index_type(n_clusters)))
        self.register_buffer("q", torch.zeros(0, n_stored))

    def store(self, mixture: Mixture, counts: Floats, h: Tensor, graph: KNNGraph, *, power: float) -> None:
        """Store a fitted mixture, with the counts (N,), embeddings h (N, D) and the neighbor graph of its items."""
        self.mu = torch.from_numpy(mixture.mu)
        self.log_prior = torch.from_numpy(mixture.log_prior).float()
        if mixture.word_evidence is not None:
            self.word_evidence = torch.from_numpy(mixture.word_evidence).half()
        self.temperature = torch.tensor(mixture.temperature)
        order = self.knn.store(h, torch.from_numpy(mixture.labels), torch.from_numpy(graph.indices))
        _, degree = affinity_and_degree(graph, counts, power=power)
        self.counts = torch.from_numpy(counts).float()[order]
        self.degree = torch.from_numpy(degree).float()[order]
        q, clusters = torch.from_numpy(mixture.q).topk(self.q.shape[1], dim=1)
        self.q, self.clusters = q[order], clusters[order].to(self.clusters.dtype)

    def predict_proba(self, h: Tensor, words: csr_matrix | None, settings: MixtureSettings, *, power: float) -> Tensor:
        """Return q (B, K) of embeddings h (B, D) and words (B, V), in float64; training items need no words."""
        row, is_stored = self.knn.find(h)
        is_new = ~is_stored
        q = torch.empty(len(h), self.n_clusters, dtype=torch.float64)
        q[is_stored] = self._stored_q(row[is_stored])
        if is_new.any():
            new_words = None if words is None else words[is_new.numpy()]
            logits = self._logits(h[is_new], new_words, settings, power)
            q[is_new] = (logits / self.temperature.double()).softmax(dim=1)
        return q

    def _logits(self, h: Tensor, words: csr_matrix | None, settings: MixtureSettings, power: float) -> Tensor:
        """Return log q (B, K) of new items, up to a constant."""
        mu = self.mu.double().T
        logits = settings.kappa * in_fixed_chunks(lambda e: e @ mu, F.normalize(h.double(), dim=1), QUERY_BLOCK)
        logits += settings.prior * self.log_prior.double()
        logits += settings.gamma * self._neighbor_q(h, power)
        if words is not None and len(self.word_evidence):
            logits += settings.beta * torch.from_numpy(words.astype("float64") @ self.word_evidence.double().numpy())
        return logits

    def _stored_q(self, rows: Tensor) -> Tensor:
        """Return q (B, K) of the training items ``rows`` (B,)."""
        stored = self.q[rows].double()
        n_others = max(self.n_clusters - stored.shape[1], 1)
        rest = (1 - stored.sum(dim=1, keepdim=True)).clamp_min(0) / n_others
        q = rest.repeat(1, self.n_clusters).scatter_(1, self.clusters[rows].long(), stored)
        return q / q.sum(dim=1, keepdim=True)

    def _neighbor_q(self, h: Tensor, power: float) -> Tensor:
        """Return (W q) (B, K) of new items, with the weights of :func:`coterie.clustering.mixture.neighbor_weights`."""
        row, is_stored = torch.zeros(len(h), dtype=torch.long), torch.zeros(len(h), dtype=torch.bool)
        neighbors, affinity = self.knn.weighted_neighbors(h, row, is_stored, power=power)  # (B, k)
        weighted = affinity * self.counts[neighbors].double()
        weights = weighted / (weighted.sum(dim=1, keepdim=True) * self.degree[neighbors].double()).sqrt()
        total = torch.zeros(len(h), self.n_clusters, dtype=torch.float64)
        for place in range(neighbors.shape[1]):
            total += weights[:, place, None] * self._stored_q(neighbors[:, place])
        return total


def _index_type(n: int) -> torch.dtype:
    """Return the smallest integer type for indices below ``n``, of 16 or 32 bits."""
    return torch.int16 if n <= torch.iinfo(torch.int16).max else torch.int32
