"""Base class of objectives that train a classifier head on pseudo-labels (AECL, RSTC, ClusterBERT)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

import torch
from torch import Tensor

from coterie.clustering.kmeans import NearestCenter, kmeans_centers, nearest_center
from coterie.contracts import Corpus, Network, Objective
from coterie.heads.classifier import Classifier

_CHUNK = 4096  # rows per call of the head


class PseudoLabelObjective(Objective):
    """Assigns by the head once it is trained and predicts every cluster; before that, by the nearest center.

    So the state before training is as good as the initial labels, and no cluster is ever empty. With
    :attr:`head_only` it is as the papers have it.
    """

    transient = frozenset({"pseudo_labels", "head_trained"})
    recluster_labels = False
    """Whether k-means replaces the initial labels before the head is trained on them."""
    use_head = True
    """Whether the head may assign; False: always the nearest center."""
    head_only = False
    """Whether the head assigns in any case, as in the papers, even untrained or with empty clusters."""
    kmeans_restarts = 0
    """Random starts of the final k-means; 0: it starts from the means of the pseudo-labels."""

    pseudo_labels: Tensor  # (N,) a cluster for each item of the corpus
    head_trained: Tensor  # () whether the head has been trained on pseudo-labels
    assign_by_head: Tensor  # () whether the head assigns; otherwise the nearest center does

    def __init__(self, network: Network, n_clusters: int, classifier: Classifier) -> None:
        super().__init__(network)
        self.n_clusters = n_clusters
        self.classifier = classifier
        self.nearest = NearestCenter(n_clusters, network.dim)
        self.register_buffer("pseudo_labels", torch.zeros(0, dtype=torch.long))
        self.register_buffer("head_trained", torch.tensor(False))
        self.register_buffer("assign_by_head", torch.tensor(False))

    @abstractmethod
    def logits(self, h: Tensor) -> Tensor:
        """Return the logits of the head (B, K) for h (B, D), in float64 and without dropout."""

    def initialize(self, corpus: Corpus, seed: int) -> None:
        """Take the initial labels as pseudo-labels."""
        self.pseudo_labels = torch.as_tensor(corpus.labels, device=self.nearest.mu.device).clone()

    def recluster(self, corpus: Corpus, seed: int) -> None:
        """Replace the pseudo-labels by k-means on the current embeddings, the best of 10 restarts."""
        mu = kmeans_centers(corpus.h, corpus.counts, self.n_clusters, n_init=10, seed=seed)
        self.pseudo_labels.copy_(nearest_center(corpus.h, mu))

    def start_pseudo_labeling(self, corpus: Corpus, seed: int) -> None:
        """Mark the head as trained; recluster first if :attr:`recluster_labels` is set and it was untrained."""
        if self.recluster_labels and not self.head_trained:
            self.recluster(corpus, seed)
        self.head_trained.fill_(True)

    @torch.no_grad()
    def fit_assigner(self, corpus: Corpus, seed: int) -> None:
        """Decide between head and nearest center, and place the centers.

        The centers are the means of the clusters of the head, or those of the final k-means.
        """
        logits = self.in_chunks(self.logits, corpus.h, _CHUNK)  # (N, K)
        ready = self.use_head and bool(self.head_trained)
        self.assign_by_head.fill_(self.head_only or (ready and self.classifier.cover_all_clusters(logits)))
        if self.assign_by_head:
            labels = (logits + self.classifier.offset.cpu()).argmax(dim=1)  # (N,)
            mu = replace(corpus, labels=labels).means(self.n_clusters)
            mu = torch.where(mu.isnan(), self._means_of_pseudo_labels(corpus), mu)  # clusters that the head misses
        elif self.kmeans_restarts:
            mu = kmeans_centers(corpus.h, corpus.counts, self.n_clusters, n_init=self.kmeans_restarts, seed=seed)
        else:
            mu = self.kmeans_from_labels(corpus, seed)
        self.nearest.place(mu, corpus.h)

    def kmeans_from_labels(self, corpus: Corpus, seed: int) -> Tensor:
        """Return the centers (K, D) of k-means that starts from the means of the pseudo-labels."""
        init = self._means_of_pseudo_labels(corpus)
        return kmeans_centers(corpus.h, corpus.counts, self.n_clusters, seed=seed, init=init)

    def _means_of_pseudo_labels(self, corpus: Corpus) -> Tensor:
        return replace(corpus, labels=self.pseudo_labels.cpu()).means(self.n_clusters)

    @property
    def assigned_by(self) -> str:
        """Return ``head`` or ``kmeans``."""
        return "head" if self.assign_by_head else "kmeans"

    @property
    def centers(self) -> Tensor:
        """Return the mean embedding of each cluster (K, D)."""
        return self.nearest.mu

    def assign(self, h: Tensor) -> Tensor:
        """Return q (B, K) in float64: by the head, or by the nearest center."""
        if self.assign_by_head:
            return (self.logits(h) + self.classifier.offset).softmax(dim=1)
        q: Tensor = self.nearest(h)
        return q
