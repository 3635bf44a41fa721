r"""Neighbors: a mixture over embeddings, words and nearest neighbors. Nothing is trained.

k-means and average linkage give initial clusters: on the embeddings, on embeddings averaged over their nearest
neighbors, and on embeddings joined with TF-IDF features. The mixture improves each of them. Without any label, the one
with the highest score J is kept, less a penalty for clusters of even size, which J prefers.

.. math:: \log q_{ik} = \kappa\, h_i \cdot \mu_k + \beta \sum_w x_{iw} \log \tfrac{p(w|k)}{p(w)} + \gamma (W q)_{ik}
          + \tfrac12 \log \pi_k + const.

Paper: none, it is coterie's own method - Code: clustering/mixture.py. Experiments: docs/methods/neighbors.md
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from coterie.arrays import FIT_FACTOR, subsample, unit_rows
from coterie.clusterer import Clusterer
from coterie.clustering.defaults import (
    EVENNESS_PENALTY,
    MAX_DF,
    MAX_WORDS,
    MIN_CLUSTER_SIZE,
    MIN_DF,
    N_NEIGHBORS,
    SIMILARITY_POWER,
    SMOOTHING_ROUNDS,
)
from coterie.clustering.kmeans import cluster_means
from coterie.clustering.mixture import (
    Evidence,
    Floats,
    Mixture,
    MixtureSettings,
    calibrate,
    fit_mixture,
    labels_by_parameters,
    neighbor_weights,
    without_empty_clusters,
)
from coterie.clustering.mixture_classifier import MixtureClassifier
from coterie.clustering.starts import STARTS, Features, Start, choose_mixture, evidence_of_sample, joint_features
from coterie.contracts import Corpus, Items, Labels, Network, Objective
from coterie.hyper import hyper
from coterie.knn.classifier import KNNClassifier
from coterie.knn.graph import KNNGraph, knn_graph
from coterie.knn.neighborhood import word_features
from coterie.remembered import forget
from coterie.words.tfidf_svd import FEATURES
from coterie.words.vocabulary import Vocabulary

Use = Literal["auto", "never", "always"]
_SAMPLED_PER_CLUSTER = 100  # items of a sample that may replace all items in the choice of the mixture


class Neighbors(Clusterer, name="neighbors"):
    """A mixture over embeddings, words and nearest neighbors; nothing is trained."""

    n_neighbors: int = hyper(N_NEIGHBORS, "nearest neighbors of each text", symbol="k", ge=1)
    similarity_power: float = hyper(SIMILARITY_POWER, "exponent of the cosine in the weight of a neighbor", ge=0)
    smoothing_rounds: int = hyper(
        SMOOTHING_ROUNDS, "how often embeddings are averaged over their neighbors for initial clusters", ge=0
    )
    embedding_weight: float = hyper(20.0, "weight of the embeddings", symbol="κ", ge=0)
    word_weight: float = hyper(1.0, "weight of the words; 0: no words", symbol="β", ge=0)
    max_words: float = hyper(MAX_WORDS, "words that a text counts for at most: those of a longer text weigh less", gt=0)
    neighbor_weight: float = hyper(10.0, "weight of the neighbors", symbol="γ", ge=0)
    em_rounds: int = hyper(15, "rounds of EM at most", ge=1)
    min_df: int = hyper(MIN_DF, "texts that a word must occur in", ge=1)
    max_df: float = hyper(MAX_DF, "largest share of the texts that a word may occur in", gt=0, le=1)
    use_linkage: Use = hyper(
        "auto", "initial clusters by average linkage; auto: beside those by k-means, and the best fit is kept"
    )
    evenness_penalty: float = hyper(
        EVENNESS_PENALTY,
        "weight of log(K/3) times the entropy of the cluster sizes, subtracted from J in the choice",
        ge=0,
    )
    min_cluster_size: float = hyper(
        MIN_CLUSTER_SIZE, "least size of a linkage cluster, relative to the mean size", ge=0, lt=1
    )
    n_init: int = hyper(3, "random initializations of k-means; the best is kept", ge=1)
    assign_by: Literal["mixture", "knn"] = hyper(
        "mixture", "how new texts are assigned: by the mixture, or by the labels of their nearest neighbors"
    )

    def build_objective(self, network: Network) -> Objective:
        """Return an objective that has stored no texts yet."""
        return NeighborsObjective(self, network)

    def saved_notes(self) -> dict[str, Any]:
        """Return the vocabulary."""
        objective = self.fitted_objective()
        assert isinstance(objective, NeighborsObjective)
        return {"words": objective.vocabulary.words}

    def restore_notes(self, notes: dict[str, Any]) -> None:
        """Load the vocabulary."""
        objective = self.fitted_objective()
        assert isinstance(objective, NeighborsObjective)
        objective.vocabulary = Vocabulary(notes.get("words", []))


class NeighborsObjective(Objective):
    """Clusters the corpus in :meth:`initialize`, and assigns items by the mixture."""

    mu: Tensor  # (K, D)

    def __init__(self, hp: Neighbors, network: Network) -> None:
        super().__init__(network)
        self.hp = hp
        self.vocabulary = Vocabulary([])
        self.register_buffer("mu", torch.zeros(hp.n_clusters, network.dim))
        self.classifier: MixtureClassifier | KNNClassifier
        if hp.assign_by == "mixture":
            self.classifier = MixtureClassifier(hp.n_clusters, network.dim, hp.n_neighbors)
        else:
            self.classifier = KNNClassifier(network.dim, hp.n_neighbors)

    @property
    def centers(self) -> Tensor:
        """The mean embedding of each cluster (K, D)."""
        return self.mu

    @property
    def assigned_by(self) -> str:
        """What assigns: the mixture, or the nearest neighbors."""
        return self.hp.assign_by

    def initialize(self, corpus: Corpus, seed: int) -> None:
        """Cluster the corpus, from its labels where it has some, and store it in the classifier."""
        hp, counts = self.hp, corpus.counts.double().numpy()
        mixture, graph = self._fit(corpus, counts, self._words(corpus.items), seed)
        if corpus.labels is None:
            mixture = mixture.reordered(np.argsort(-np.bincount(mixture.labels, counts, hp.n_clusters), kind="stable"))
        self.mu = cluster_means(corpus.h, corpus.counts, mixture.labels, hp.n_clusters)
        if isinstance(self.classifier, MixtureClassifier):
            self.classifier.store(mixture, counts, corpus.h, graph, power=hp.similarity_power)
        else:
            self.classifier.store(corpus.h, torch.from_numpy(mixture.labels), torch.from_numpy(graph.indices))

    def _fit(self, corpus: Corpus, counts: Floats, words: csr_matrix | None, seed: int) -> tuple[Mixture, KNNGraph]:
        """Return the mixture, and the neighbor graph by embeddings."""
        hp, labels = self.hp, None if corpus.labels is None else corpus.labels.numpy()
        if self._starts_from_sample(len(counts)):
            graph, neighbors, features = self._graphs_and_sample(corpus, seed)
            labels = self._labels_by_sample(features, corpus, counts, words) if labels is None else labels
            e = unit_rows(corpus.h.numpy())
        else:
            features = self._features(corpus, seed)
            graph, neighbors, e = features.graph, features.neighbors, features.e
        evidence = Evidence(e, counts, words, neighbor_weights(neighbors, counts, power=hp.similarity_power))
        if labels is None:
            fitted = self._choose(evidence, features)
        else:  # a training has found them, and the clusters keep their order, or a sample has
            fitted = fit_mixture(evidence, labels, hp.n_clusters, self._settings())
        return without_empty_clusters(calibrate(fitted, evidence)), graph

    def _starts_from_sample(self, n: int) -> bool:
        """Whether ``n`` items are many, and a sample has enough of them in a cluster of mean size."""
        n_sampled = len(subsample(n, factor=FIT_FACTOR))
        return n_sampled < n and n_sampled >= _SAMPLED_PER_CLUSTER * int(self.hp.n_clusters)

    def _choose(self, evidence: Evidence, features: Features) -> Mixture:
        penalty = self.hp.evenness_penalty
        return choose_mixture(evidence, features, self._starts(), self._settings(), evenness_penalty=penalty)

    def _graphs_and_sample(self, corpus: Corpus, seed: int) -> tuple[KNNGraph, KNNGraph, Features]:
        """Return the neighbor graphs of all items, by embeddings and with words, and the features of a sample.

        Features of all items take gigabytes if there are a million, so they are freed as early as possible.
        """
        features = self._features(corpus, seed)
        graph, words = features.graph, features.words
        sample = features.rows(subsample(len(corpus.h), factor=FIT_FACTOR))
        del features
        if words is None:
            return graph, graph, sample
        joint = joint_features(corpus.h.numpy(), words)
        del words
        forget(FEATURES)
        return graph, knn_graph(joint, self.hp.n_neighbors, near=graph), sample

    def _labels_by_sample(self, sample: Features, corpus: Corpus, counts: Floats, words: csr_matrix | None) -> Labels:
        """Return labels of all items by the mixture that is fitted to a sample."""
        rows = subsample(len(counts), factor=FIT_FACTOR)
        words_of_sample = None if words is None else words[rows]
        mixture = self._choose(evidence_of_sample(sample, counts[rows], words_of_sample), sample)
        if words is not None and words_of_sample is not None:
            words = words[:, words_of_sample.getnnz(axis=0) > 0]
        labels = labels_by_parameters(mixture, corpus.h.numpy(), words)
        labels[rows] = mixture.labels
        return labels

    def _features(self, corpus: Corpus, seed: int) -> Features:
        """Return what initial clusters are computed from."""
        hp, e = self.hp, unit_rows(corpus.h.numpy())
        return Features(
            e, knn_graph(e, hp.n_neighbors), corpus.counts,
            word_features(corpus.items, hp.n_clusters, seed=seed) if hp.word_weight else None,
            hp.n_clusters, hp.n_neighbors, hp.smoothing_rounds, hp.similarity_power, hp.n_init, hp.min_cluster_size,
            seed,
        )  # fmt: skip

    def _words(self, items: Items) -> csr_matrix | None:
        """Choose the vocabulary and return the words of each text (N, V); None for items without words."""
        if not isinstance(items, list) or not self.hp.word_weight:
            return None
        self.vocabulary = Vocabulary.from_texts(items, min_df=self.hp.min_df, max_df=self.hp.max_df)
        return self._word_matrix(items) if self.vocabulary.words else None

    def _word_matrix(self, texts: Sequence[str]) -> csr_matrix:
        """Return x (N, V). The words of a text are not independent evidence, so many of them count as a few."""
        return self.vocabulary.incidence(texts, max_sum=self.hp.max_words)

    def _starts(self) -> list[Start]:
        """Return the initial clusterings that `use_linkage` allows."""
        allowed = {"auto": ("kmeans", "linkage"), "never": ("kmeans",), "always": ("linkage",)}[self.hp.use_linkage]
        return [start for start in STARTS if start.algorithm in allowed]

    def _settings(self) -> MixtureSettings:
        hp = self.hp
        return MixtureSettings(hp.embedding_weight, hp.word_weight, hp.neighbor_weight, max_rounds=hp.em_rounds)

    def assign(self, h: Tensor) -> Tensor:
        """Return q (B, K) of h (B, D), without words."""
        return self._assign(h, None)

    def assign_items(self, h: Tensor, items: Items | None) -> Tensor:
        """Return q (B, K) of h (B, D) and the words of the items."""
        words = None
        if isinstance(items, list) and isinstance(self.classifier, MixtureClassifier) and self.vocabulary.words:
            is_stored = self.classifier.knn.find(h)[1].tolist()  # the words of training texts are not needed again
            words = self._word_matrix(["" if stored else items[i] for i, stored in enumerate(is_stored)])
        return self._assign(h, words)

    def _assign(self, h: Tensor, words: csr_matrix | None) -> Tensor:
        power = self.hp.similarity_power
        if isinstance(self.classifier, KNNClassifier):
            return self.classifier.predict_proba(h, self.hp.n_clusters, power=power)
        return self.classifier.predict_proba(h, words, self._settings(), power=power)
