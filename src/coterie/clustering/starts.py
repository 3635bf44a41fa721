"""Initial clusterings for the mixture: k-means on several features, and average linkage where it is better."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import torch

from coterie.clustering.kmeans import kmeans_centers, kmeans_labels
from coterie.clustering.linkage import linkage_labels
from coterie.clustering.mixture import Evidence, fit_mixture, neighbor_weights
from coterie.contracts import Labels, Vectors
from coterie.errors import InputError
from coterie.knn.graph import KNNGraph, knn_graph
from coterie.knn.smoothing import compress, smooth
from coterie.words.tfidf_svd import fuse

_KMEANS_SAMPLE = 8192  # rows on which the random initializations of k-means are compared
_LINKAGE_SAMPLE = 4096  # rows on which linkage is compared with k-means
_LINKAGE_MARGIN = 0.03  # of J; a wrong linkage costs more than a missed one
JOINT_WORD_WEIGHT = 0.3  # weight of the words in the joint features


@dataclass(frozen=True)
class Features:
    """What initial clusterings are computed from."""

    e: Vectors  # (N, D) unit embeddings
    counts: torch.Tensor  # (N,)
    words: Vectors | None  # (N, W) TF-IDF features
    n_clusters: int
    n_neighbors: int
    smoothing_rounds: int
    power: float
    n_init: int
    seed: int

    def rows(self, rows: np.ndarray) -> Features:
        """Return the features of some rows."""
        words = None if self.words is None else self.words[rows]
        return replace(self, e=self.e[rows], counts=self.counts[torch.from_numpy(rows)], words=words)

    def smoothed(self, x: Vectors, graph: KNNGraph, n_neighbors: int) -> Vectors:
        """Return ``x`` averaged over its neighbors, at most as many as a cluster of mean size has."""
        k = max(min(n_neighbors, len(x) // self.n_clusters - 1), 1)
        return compress(smooth(x, graph.first(k), rounds=self.smoothing_rounds, power=self.power))

    def joint(self) -> tuple[Vectors, KNNGraph] | None:
        """Return embeddings joined with word features, and their neighbor graph; None without words."""
        if self.words is None:
            return None
        joint = fuse(self.e, self.words, JOINT_WORD_WEIGHT)
        return joint, knn_graph(joint, self.n_neighbors)

    def kmeans(self, x: Vectors) -> Labels:
        """Return k-means labels; of many rows the best of ``n_init`` initializations is found on a sample."""
        init = None
        if len(x) > _KMEANS_SAMPLE:
            rows = np.sort(np.random.default_rng(self.seed).choice(len(x), _KMEANS_SAMPLE, replace=False))
            sample, counts = torch.from_numpy(x[rows]), self.counts[torch.from_numpy(rows)].double()
            with suppress(InputError):  # if most rows are equal, a sample may have too few distinct rows
                init = kmeans_centers(sample, counts, self.n_clusters, n_init=self.n_init, seed=self.seed)
        return kmeans_labels(x, self.counts, self.n_clusters, n_init=self.n_init, seed=self.seed, init=init)


def kmeans_starts(features: Features, graph: KNNGraph) -> Iterator[tuple[str, Labels]]:
    """Yield named k-means labels: of the embeddings, smoothed over few and many neighbors, and joined with words."""
    yield "embeddings", features.kmeans(features.e)
    k = features.n_neighbors
    for n_neighbors in (max(k // 3, 1), k, 2 * k):
        yield f"smoothed over {n_neighbors}", features.kmeans(features.smoothed(features.e, graph, n_neighbors))
    joint = features.joint()
    if joint is not None:
        yield "joined with words", features.kmeans(features.smoothed(*joint, k))


def linkage_start(features: Features, graph: KNNGraph, *, min_cluster_size: float, always: bool) -> Labels | None:
    """Return the labels of average linkage where it is better than k-means on the same features; else None.

    k-means prefers clusters of equal size; linkage also finds small clusters beside large ones. The two are compared by
    the score J of the mixture over embeddings and neighbors, without words, which prefer equal sizes too. Many rows are
    compared on a sample. In doubt the answer is None.
    """
    gains = dict(_gains(_sample(features), min_cluster_size))
    best = max(gains, key=lambda name: gains[name], default=None)
    if best is None or (gains[best] < _LINKAGE_MARGIN and not always):
        return None
    x, own_graph = _families(features, graph)[best]
    return _linkage(features, features.smoothed(x, own_graph, features.n_neighbors), own_graph, min_cluster_size)


def _families(features: Features, graph: KNNGraph) -> dict[str, tuple[Vectors, KNNGraph]]:
    """Return the kinds of features that linkage can use, each with its neighbor graph."""
    joint = features.joint()
    families = {"embeddings": (features.e, graph)}
    return families if joint is None else families | {"joint": joint}


def _sample(features: Features) -> Features:
    n = len(features.e)
    if n <= _LINKAGE_SAMPLE:
        return features
    return features.rows(np.sort(np.random.default_rng(features.seed).choice(n, _LINKAGE_SAMPLE, replace=False)))


def _gains(features: Features, min_cluster_size: float) -> Iterator[tuple[str, float]]:
    """Yield for each kind of features by how much J of linkage exceeds J of k-means."""
    graph = knn_graph(features.e, features.n_neighbors)
    counts = features.counts.double().numpy()
    evidence = Evidence(features.e, counts, None, neighbor_weights(graph, counts, power=features.power))
    for name, (x, own_graph) in _families(features, graph).items():
        smoothed = features.smoothed(x, own_graph, features.n_neighbors)
        linked = _linkage(features, smoothed, own_graph, min_cluster_size)
        if linked is not None:
            by_linkage = fit_mixture(evidence, linked, features.n_clusters)
            by_kmeans = fit_mixture(evidence, features.kmeans(smoothed), features.n_clusters)
            yield name, by_linkage.score - by_kmeans.score


def _linkage(features: Features, smoothed: Vectors, graph: KNNGraph, min_cluster_size: float) -> Labels | None:
    return linkage_labels(
        smoothed, features.counts, graph.first(features.n_neighbors), features.n_clusters,
        min_cluster_size=min_cluster_size, seed=features.seed,
    )  # fmt: skip
