"""What objectives share that teach a classifier groups and let it file texts."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

import torch
from torch import Tensor

from coterie.contracts import Corpus, Network, Objective
from coterie.heads.centers import NearestCenter, kmeans_centers, squared_distances
from coterie.heads.classifier import Classifier


class TaughtObjective(Objective):
    """Keeps the groups that are taught. Until the classifier has learnt to choose each of them, centers file texts.

    So the state before training is worth what the first grouping is worth, and no group is ever empty.
    """

    scratch = frozenset({"groups", "taught"})
    anew = False
    """Whether the groups are made anew by k-means before they are taught."""

    groups: Tensor  # (N,) a group for each text of the corpus
    taught: Tensor  # () whether the classifier has been taught at all
    by_classifier: Tensor  # () whether it files texts; else the nearest center does

    def __init__(self, encoder: Network, n_clusters: int, classifier: Classifier) -> None:
        super().__init__(encoder)
        self.n_clusters, self.classifier = n_clusters, classifier
        self.nearest = NearestCenter(n_clusters, encoder.dim)
        self.register_buffer("groups", torch.zeros(0, dtype=torch.long))
        self.register_buffer("taught", torch.tensor(False))
        self.register_buffer("by_classifier", torch.tensor(False))

    @abstractmethod
    def logits(self, h: Tensor) -> Tensor:
        """Return what the classifier says (B, K), in float64 and without dropout."""

    def start(self, corpus: Corpus, seed: int | None) -> None:
        """Take the first grouping."""
        self.groups = torch.as_tensor(corpus.labels, device=self.nearest.mu.device).clone()

    def regroup(self, corpus: Corpus) -> None:
        """Group anew by k-means on the vectors as they are now."""
        mu = kmeans_centers(corpus.h, corpus.counts, self.n_clusters, n_init=10, seed=0)
        self.groups.copy_(squared_distances(corpus.h, mu).argmin(dim=1))

    def begin_to_teach(self, corpus: Corpus) -> None:
        """From here on the classifier may file texts."""
        if self.anew and not self.taught:
            self.regroup(corpus)
        self.taught.fill_(True)

    @torch.no_grad()
    def finish(self, corpus: Corpus, seed: int | None) -> None:
        """Decide who files texts, and place the centers: the means of what is filed, or k-means from the groups."""
        logits = self.in_parts(self.logits, corpus.h, 4096)  # (N, K)
        self.by_classifier.fill_(bool(self.taught) and self.classifier.reach_all(logits))
        if self.by_classifier:
            labels = (logits + self.classifier.offset.cpu()).argmax(dim=1)
            mu = replace(corpus, labels=labels).means(self.n_clusters)
        else:
            mu = self.from_groups(corpus)
        self.nearest.place(mu, corpus.h)

    def from_groups(self, corpus: Corpus) -> Tensor:
        """Return the centers (K, D) of k-means that starts at the means of the groups."""
        start = replace(corpus, labels=self.groups.cpu()).means(self.n_clusters)
        return kmeans_centers(corpus.h, corpus.counts, self.n_clusters, seed=0, start=start)

    @property
    def centers(self) -> Tensor:
        """Return the mean vector of each cluster."""
        return self.nearest.mu

    def assign(self, h: Tensor) -> Tensor:
        """Return q (B, K)."""
        q: Tensor = (self.logits(h) + self.classifier.offset).softmax(dim=1) if self.by_classifier else self.nearest(h)
        return q
