"""The base class of methods that divide the items once; new items are assigned by their nearest neighbors."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from coterie.clusterer import Clusterer
from coterie.clustering.kmeans import cluster_means
from coterie.contracts import Corpus, Labels, Network, Objective, Vectors
from coterie.data.rows import Rows
from coterie.encoders.encoder import Encoder
from coterie.errors import InputError
from coterie.hyper import hyper
from coterie.knn.classifier import KNNClassifier
from coterie.knn.graph import knn_graph

_GB = 1e9


class PartitionClusterer(Clusterer):
    """Divides the items into clusters by an algorithm that cannot assign new items; their nearest neighbors do."""

    n_neighbors: int = hyper(15, "nearest training texts whose clusters decide on a new text", symbol="k", ge=1)
    max_memory_gb: float = hyper(6.0, "refuse texts whose pairs need more memory, before anything is computed", gt=0)

    @abstractmethod
    def partition(self, corpus: Corpus, seed: int) -> Labels:
        """Return the cluster of each item of the corpus (N,), counted from 0; -1: an outlier of all clusters."""

    @property
    def is_random(self) -> bool:
        """Whether the seed makes a difference."""
        return True

    def bytes_needed(self, n: int) -> float:
        """Return the memory that :meth:`partition` needs for ``n`` distinct items."""
        return 0.0

    def build_objective(self, network: Network) -> Objective:
        """Return an objective that has stored no items yet."""
        return PartitionObjective(self, network)

    def _check(self, X: Any, column: str | None, encoder: Encoder, *, reset: bool) -> Rows[Any]:  # noqa: N803
        rows = super()._check(X, column, encoder, reset=reset)
        needed = self.bytes_needed(rows.n_distinct) / _GB
        if reset and needed > self.max_memory_gb:
            raise InputError(
                f"{type(self).__name__} compares all pairs of {rows.n_distinct:,} distinct texts, which needs "
                f"{needed:,.1f} GB, more than `max_memory_gb` = {self.max_memory_gb:g}. Use --method neighbors, which "
                "compares only near texts, or raise max_memory_gb if the machine has the memory."
            )
        return rows


class PartitionObjective(Objective):
    """The items with their clusters, and the mean of each cluster."""

    mu: Tensor  # (K, D)

    def __init__(self, hp: PartitionClusterer, network: Network) -> None:
        super().__init__(network)
        assert isinstance(hp.n_clusters, int)
        self.hp = hp
        self.n_clusters = hp.n_clusters
        self.n_outliers = 0
        self.register_buffer("mu", torch.zeros(hp.n_clusters, network.dim))
        self.classifier = KNNClassifier(network.dim, hp.n_neighbors)

    @property
    def centers(self) -> Tensor:
        """The mean embedding of each cluster (K, D)."""
        return self.mu

    def initialize(self, corpus: Corpus, seed: int) -> None:
        """Divide the items, and store all but the outliers with their clusters; the largest cluster is 0."""
        corpus = _distinct(corpus, 2 if self.hp.finds_n_clusters else self.n_clusters)
        n = len(corpus.h)
        labels = np.arange(n) if self.n_clusters == n else self.hp.partition(corpus, seed)
        self.n_outliers = int((labels < 0).sum())
        inside = torch.from_numpy(labels >= 0)
        h, counts, labels = corpus.h[inside], corpus.counts[inside], labels[labels >= 0]
        sizes = np.bincount(labels, counts.numpy())
        self.n_clusters = len(sizes)
        labels = np.argsort(np.argsort(-sizes, kind="stable"))[labels]
        self.mu = cluster_means(h, counts, labels, self.n_clusters)
        k = min(self.hp.n_neighbors, len(h) - 1)
        near = knn_graph(_unit(h), k).indices if k else np.empty((1, 0), dtype=np.int64)
        self.classifier.store(h, torch.from_numpy(labels), torch.from_numpy(near))

    def assign(self, h: Tensor) -> Tensor:
        """Return q (B, K): the share of the nearest stored items in each cluster."""
        return self.classifier.predict_proba(h, self.n_clusters)


def _distinct(corpus: Corpus, least: int) -> Corpus:
    """Return the corpus with each distinct embedding once; refuse fewer of them than ``least``."""
    _, first, inverse = np.unique(corpus.h.numpy(), axis=0, return_index=True, return_inverse=True)
    if len(first) < least:
        raise InputError(
            f"{least} clusters need as many distinct embeddings, but there are {len(first)}. Request fewer clusters, "
            "or use an encoder that tells these items apart."
        )
    if len(first) == len(corpus.h):
        return corpus
    counts = torch.from_numpy(np.bincount(inverse.ravel(), corpus.counts.numpy())).to(corpus.counts.dtype)
    order = np.argsort(first)
    first = first[order]
    items = corpus.items[first] if isinstance(corpus.items, np.ndarray) else [corpus.items[i] for i in first]
    return replace(corpus, items=items, h=corpus.h[first], counts=counts[order], prepared=None)


def unit_vectors(corpus: Corpus) -> Vectors:
    """Return the embeddings of a corpus (N, D) in rows of length one."""
    return _unit(corpus.h)


def _unit(h: Tensor) -> Vectors:
    return np.asarray(torch.nn.functional.normalize(h, dim=1).numpy())
