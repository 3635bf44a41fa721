"""Initial clusterings for the mixture: k-means and average linkage on several features, and the choice among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal, NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_matrix

from coterie.arrays import is_large, row_chunks, unit_rows
from coterie.clustering.kmeans import quick_kmeans_labels
from coterie.clustering.linkage import linkage_labels
from coterie.clustering.mixture import Evidence, Floats, Mixture, MixtureSettings, fit_mixture, neighbor_weights
from coterie.contracts import Labels, Vectors
from coterie.errors import InputError
from coterie.knn.graph import KNNGraph, knn_graph
from coterie.knn.smoothing import compress, smooth
from coterie.words.tfidf_svd import fuse

_SCREENING_SAMPLE = 4096  # rows on which all starts are compared; the best are then fitted to all rows
_ROWS_PER_CLUSTER = 16  # of the screening sample at least
_PLACES = {"kmeans": 4, "linkage": 1}  # starts of each algorithm that are fitted to all rows; linkage takes longer
_PLACES_OF_MANY = {"kmeans": 2, "linkage": 1}  # of very many rows
_EVEN_CLUSTERS = 3  # with so few, J is not corrected for its preference for clusters of equal size
JOINT_WORD_WEIGHT = 0.3  # weight of the words in the joint features


class Start(NamedTuple):
    """How an initial clustering is computed."""

    algorithm: Literal["kmeans", "linkage"]
    features: Literal["embeddings", "joint"]  # joint: with TF-IDF features
    neighbors: float  # share of the nearest neighbors that features are averaged over
    rounds: int  # of averaging


STARTS = (
    Start("kmeans", "embeddings", 0, 0),
    Start("kmeans", "embeddings", 1, 3),
    Start("kmeans", "joint", 1 / 3, 3),
    Start("kmeans", "joint", 1, 1),
    Start("linkage", "embeddings", 0, 0),
    Start("linkage", "embeddings", 1, 3),
    Start("linkage", "joint", 1 / 3, 3),
    Start("linkage", "joint", 1, 1),
)


@dataclass(frozen=True)
class Features:
    """What initial clusterings are computed from."""

    e: Vectors  # (N, D) unit embeddings
    graph: KNNGraph  # of the embeddings
    counts: torch.Tensor  # (N,)
    words: Vectors | None  # (N, W) TF-IDF features
    n_clusters: int
    n_neighbors: int
    smoothing_rounds: int  # at most
    power: float
    n_init: int
    min_cluster_size: float
    seed: int

    def rows(self, rows: np.ndarray) -> Features:
        """Return the features of some rows."""
        words = None if self.words is None else self.words[rows]
        graph = knn_graph(self.e[rows], self.n_neighbors)
        return replace(self, e=self.e[rows], graph=graph, counts=self.counts[torch.from_numpy(rows)], words=words)

    @cached_property
    def joint(self) -> tuple[Vectors, KNNGraph] | None:
        """Embeddings joined with word features, and their neighbor graph; None without words."""
        if self.words is None:
            return None
        joint = fuse(self.e, self.words, JOINT_WORD_WEIGHT)
        return joint, knn_graph(joint, self.n_neighbors)

    @property
    def neighbors(self) -> KNNGraph:
        """The neighbor graph by embeddings and words; without words by embeddings."""
        return self.graph if self.joint is None else self.joint[1]

    def possible(self, starts: Iterable[Start]) -> list[Start]:
        """Return the distinct starts that there are features for, with at most ``smoothing_rounds``."""
        limited = [start._replace(rounds=min(start.rounds, self.smoothing_rounds)) for start in starts]
        same = [start if start.rounds else start._replace(neighbors=0) for start in limited]
        return [start for start in dict.fromkeys(same) if start.features == "embeddings" or self.words is not None]

    def labels(self, start: Start) -> Labels | None:
        """Return the labels (N,) of a start; None if linkage finds too few clusters of some size."""
        x, graph = (self.e, self.graph) if start.features == "embeddings" or self.joint is None else self.joint
        if start.rounds:
            x = self._smoothed(x, graph, start)
        if start.algorithm == "kmeans":
            return self._kmeans(x)
        return linkage_labels(
            x, self.counts, graph, self.n_clusters, min_cluster_size=self.min_cluster_size, seed=self.seed
        )

    def _smoothed(self, x: Vectors, graph: KNNGraph, start: Start) -> Vectors:
        """Return ``x`` averaged over its neighbors, at most as many as a cluster of mean size has."""
        k = max(min(round(start.neighbors * self.n_neighbors), len(x) // self.n_clusters - 1), 1)
        return compress(smooth(x, graph.first(k), rounds=start.rounds, power=self.power))

    def _kmeans(self, x: Vectors) -> Labels:
        return quick_kmeans_labels(x, self.counts, self.n_clusters, n_init=self.n_init, seed=self.seed)


def choose_mixture(
    evidence: Evidence,
    features: Features,
    starts: Iterable[Start],
    settings: MixtureSettings,
    *,
    evenness_penalty: float,
) -> Mixture:
    r"""Return the mixture with the highest J - c H(\pi) over all starts, with c = ``evenness_penalty`` log(K / 3).

    Embeddings, words and neighbors say partly the same, so J counts evidence more than once, but the prior of the
    cluster sizes \pi not even once. J alone therefore prefers clusters of equal size, the more of them the more. Of
    many rows, starts are compared on a sample first, and only the best of each algorithm are fitted to all rows.
    """
    starts = features.possible(starts)

    def criterion(mixture: Mixture) -> float:
        return _criterion(mixture, evenness_penalty)

    n_sample = max(_SCREENING_SAMPLE, _ROWS_PER_CLUSTER * features.n_clusters)
    if len(evidence) > n_sample:
        rows = _sample(len(evidence), n_sample, features.seed)
        sample = features.rows(rows)
        words = None if evidence.words is None else evidence.words[rows]
        fits_of_sample = partial(_fits, evidence_of_sample(sample, evidence.counts[rows], words), sample, settings)
        places = _PLACES_OF_MANY if is_large(len(evidence)) else _PLACES
        with suppress(InputError):  # a sample may have too few distinct rows
            starts = _finalists(starts, places, fits_of_sample, criterion)
    fits = (mixture for _, mixture in _fits(evidence, features, settings, starts))
    best = max(fits, key=criterion, default=None)
    if best is None:  # no linkage has enough clusters
        return next(_fits(evidence, features, settings, STARTS[:1]))[1]
    return best


def _finalists(
    starts: list[Start],
    places: Mapping[str, int],
    fits: Callable[[list[Start]], Iterator[tuple[Start, Mixture]]],
    criterion: Callable[[Mixture], float],
) -> list[Start]:
    """Return as many starts of each algorithm as it has places: those whose ``fits`` to a sample are best.

    A sample has few items of small clusters, so it cannot compare algorithms that treat those differently.
    """
    finalists: list[Start] = []
    for algorithm, n in places.items():
        candidates = [start for start in starts if start.algorithm == algorithm]
        if len(candidates) > n:
            scores = {start: criterion(mixture) for start, mixture in fits(candidates)}
            candidates = sorted(scores, key=lambda start: -scores[start])[:n]
        finalists += candidates
    return finalists


def _fits(
    evidence: Evidence, features: Features, settings: MixtureSettings, starts: Iterable[Start]
) -> Iterator[tuple[Start, Mixture]]:
    for start in starts:
        try:
            labels = features.labels(start)
        except InputError:
            if not start.rounds:  # the embeddings themselves have too few distinct rows
                raise
            continue  # smoothing has made rows equal
        if labels is not None:
            yield start, fit_mixture(evidence, labels, features.n_clusters, settings)


def _criterion(mixture: Mixture, evenness_penalty: float) -> float:
    weight = evenness_penalty * max(math.log(mixture.q.shape[1] / _EVEN_CLUSTERS), 0.0)
    return mixture.score - weight * mixture.size_entropy


def evidence_of_sample(sample: Features, counts: Floats, words: csr_matrix | None) -> Evidence:
    """Return the evidence of some rows, with the words that occur in them and the neighbors that are among them."""
    if words is not None:
        words = words[:, words.getnnz(axis=0) > 0]
    return Evidence(sample.e, counts, words, neighbor_weights(sample.neighbors, counts, power=sample.power))


def joint_features(h: Vectors, words: Vectors) -> Vectors:
    """Return :attr:`Features.joint` without a copy of ``h`` (N, D), whose rows may have any length."""
    joint = np.empty((len(h), h.shape[1] + words.shape[1]), dtype=np.float32)
    for rows in row_chunks(len(h)):
        joint[rows] = fuse(unit_rows(h[rows]), words[rows], JOINT_WORD_WEIGHT)
    return joint


def _sample(n: int, size: int, seed: int) -> np.ndarray:
    return np.sort(np.random.default_rng(seed).choice(n, size, replace=False))
