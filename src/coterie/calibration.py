r"""Probabilities that mean something: two numbers for the soft assignments of every method, found without labels.

.. math:: q_{ik} \to (1 - \epsilon)\, q_{ik}^{1/T} / \textstyle\sum_l q_{il}^{1/T} + \epsilon / K

The temperature T and the noise \epsilon maximize the likelihood of the clusters that resampling gives to some items:
the clusters of their nearest neighbors, and those that k-means finds on a random half of the items. Neighbors and
k-means see the embeddings before training. The most probable cluster of an item does not change.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.cluster import KMeans

from coterie.arrays import unit_rows
from coterie.clustering.matching import match_clusters
from coterie.contracts import Corpus, Labels, Objective, Vectors
from coterie.knn.graph import knn_graph
from coterie.knn.smoothing import compress, smooth
from coterie.probabilities import Calibration

_MIN_ITEMS = 200  # fewer items say too little about the probabilities
_MIN_PER_CLUSTER = 4  # items of the sample in a cluster of mean size
_SAMPLE = 3_000
_CANDIDATES = 30_000  # items among which neighbors are searched
_N_NEIGHBORS = 15
_ROUNDS = 3  # of smoothing before k-means
_HALVINGS = 2
_LARGEST_LOG_T = 5.0
_SMALLEST = 1e-12


def calibrate(objective: Objective, corpus: Corpus, pretrained: Vectors, *, seed: int) -> None:
    """Set the calibration of a fitted objective; ``pretrained`` (N, D) are the embeddings before training."""
    n_clusters = len(objective.centers)
    objective.calibration = Calibration()
    n_sampled = min(len(pretrained), _SAMPLE)
    if n_clusters == 1 or len(pretrained) < _MIN_ITEMS or n_sampled < _MIN_PER_CLUSTER * n_clusters:
        return
    candidates = np.random.default_rng(seed).permutation(len(pretrained))[:_CANDIDATES]
    q = _assigned(objective, corpus, candidates)
    e, labels = unit_rows(pretrained[candidates]), np.asarray(q.argmax(axis=1), dtype=np.int64)
    resampled = [
        *_clusters_of_neighbors(e[:_SAMPLE], e, labels),
        *_clusters_of_halves(e[:_SAMPLE], labels[:_SAMPLE], n_clusters, seed),
    ]
    objective.calibration = fit_calibration(q[:_SAMPLE], resampled)


def _assigned(objective: Objective, corpus: Corpus, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return q (n, K) of some items."""
    h, items = corpus.h.numpy(), corpus.items
    if objective.assign_batch_size is not None:  # q depends on the other rows
        return objective.assign_all(h, items)[rows]
    chosen = [items[i] for i in rows.tolist()] if isinstance(items, list) else np.asarray(items)[rows]
    return objective.assign_all(h[rows], chosen)


def fit_calibration(q: NDArray[np.float64], resampled: Sequence[Labels]) -> Calibration:
    """Return T and noise that make the ``resampled`` clusters (each (N,)) of items with q (N, K) most probable."""
    log_q = np.log(q + _SMALLEST)
    items = np.arange(len(q))

    def loss(values: NDArray[np.float64]) -> float:
        p = _calibration(values).apply_to_log(log_q)
        return -float(np.mean([np.log(p[items, labels] + _SMALLEST).mean() for labels in resampled]))

    simplex = np.array([[0.0, -2.0], [1.0, -2.0], [0.0, -4.0]])
    options = {"initial_simplex": simplex, "maxiter": 100, "xatol": 0.01, "fatol": 1e-5}
    return _calibration(minimize(loss, simplex[0], method="Nelder-Mead", options=options).x)


def _calibration(values: NDArray[np.float64]) -> Calibration:
    return Calibration(
        temperature=float(np.exp(np.clip(values[0], -_LARGEST_LOG_T, _LARGEST_LOG_T))), noise=float(expit(values[1]))
    )


def _clusters_of_neighbors(e: Vectors, candidates: Vectors, labels: Labels) -> list[Labels]:
    """Return the clusters (n,) of some of the nearest neighbors of ``e`` (n, D), the first rows of ``candidates``."""
    k = min(_N_NEIGHBORS, len(candidates) - 1)
    clusters = []
    for start in range(0, len(e), 256):
        cosines = e[start : start + 256] @ candidates.T
        own = np.arange(len(cosines))
        cosines[own, start + own] = -np.inf  # an item is no neighbor of itself
        nearest = np.sort(np.argpartition(-cosines, k - 1, axis=1)[:, :k], axis=1)  # equal cosines in the order of rows
        order = np.argsort(-np.take_along_axis(cosines, nearest, axis=1), axis=1, kind="stable")
        clusters.append(labels[np.take_along_axis(nearest, order, axis=1)])
    return list(np.concatenate(clusters).T[:: -(-k // (2 * _HALVINGS))])  # as many as halves give, near and far


def _clusters_of_halves(e: Vectors, labels: Labels, n_clusters: int, seed: int) -> list[Labels]:
    """Return the clusters (n,) by k-means on either half of the items, matched to ``labels`` (n,)."""
    x = compress(smooth(e, knn_graph(e, min(_N_NEIGHBORS, len(e) - 1)), rounds=_ROUNDS))
    found = []
    for halving in range(_HALVINGS):
        order = np.random.default_rng([seed, halving]).permutation(len(x))
        for half in np.array_split(order, 2):
            clusters = KMeans(n_clusters, n_init=1, random_state=seed).fit(x[half]).predict(x)
            match = match_clusters(labels, clusters)
            found.append(np.array([match.get(k, k) for k in clusters.tolist()]))
    return found
