r"""Probabilities that mean something: two numbers for the soft assignments of every method, found without labels.

.. math:: q_{ik} \to (1 - \epsilon)\, q_{ik}^{1/T} / \textstyle\sum_l q_{il}^{1/T} + \epsilon / K

The items are clustered again, by the mixture of `neighbors` on random halves of them, and these clusters are matched to
those of the method. The share of them that an item stays in is what its confidence should be: T and \epsilon maximize
the likelihood of staying. The mixture sees the embeddings before training. The most probable cluster of an item does
not change.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from coterie.arrays import unit_rows
from coterie.clustering.halves import clusters_of_halves
from coterie.clustering.matching import match_clusters
from coterie.contracts import Corpus, Items, Labels, Network, Objective, Vectors
from coterie.encoders.encoder import Encoder
from coterie.probabilities import Calibration

_MIN_ITEMS = 200  # fewer items say too little about the probabilities
_MIN_PER_CLUSTER = 4  # items of the sample in a cluster of mean size
_SAMPLE = 3_000
_HALVINGS = 2
_LARGEST_LOG_T = 5.0
_SMALLEST = 1e-12


def calibrate(objective: Objective, corpus: Corpus, untrained: Vectors, *, seed: int) -> None:
    """Set the calibration of a fitted objective; ``untrained`` (N, D) are embeddings that the method did not make."""
    n_clusters = len(objective.centers)
    objective.calibration = Calibration()
    n_sampled = min(len(untrained), _SAMPLE)
    if n_clusters == 1 or len(untrained) < _MIN_ITEMS or n_sampled < _MIN_PER_CLUSTER * n_clusters:
        return
    sample = np.random.default_rng(seed).permutation(len(untrained))[:_SAMPLE]
    items = _rows(corpus.items, sample)
    q = _assigned(objective, corpus, sample, items)
    found = clusters_of_halves(unit_rows(untrained[sample]), items, n_clusters, n_halvings=_HALVINGS, seed=seed)
    if found:
        objective.calibration = fit_calibration(q, stays(q.argmax(axis=1), found))


def untrained_embeddings(network: Network, encoder: Encoder, before: Corpus, after: Corpus) -> Vectors:
    """Return embeddings (N, D) for other clusterings of the same items, in which clusters are not yet compact.

    They are those ``before`` training, or the encoder's where the network starts from scratch. Of images they are those
    ``after`` training, because before it images are near in pixels only.
    """
    if encoder.below is not encoder:
        return encoder.below.embed_corpus(after.items)
    if not network.from_scratch:
        return before.h.numpy()
    return after.h.numpy() if encoder.input_type == "images" else encoder.embed_corpus(after.items)


def _rows(items: Items, rows: NDArray[np.int64]) -> Items:
    return [items[i] for i in rows.tolist()] if isinstance(items, list) else np.asarray(items)[rows]


def _assigned(objective: Objective, corpus: Corpus, rows: NDArray[np.int64], items: Items) -> NDArray[np.float64]:
    """Return q (n, K) of the items in some rows."""
    h = corpus.h.numpy()
    if objective.assign_batch_size is not None:  # q depends on the other rows
        return objective.assign_all(h, corpus.items)[rows]
    return objective.assign_all(h[rows], items)


def stays(labels: Labels, others: Sequence[Labels]) -> NDArray[np.float64]:
    """Return the share (N,) of ``others``, each (N,), in which an item is in the cluster that matches its own."""
    share = np.zeros(len(labels))
    for clusters in others:
        match = match_clusters(labels, clusters)
        share += np.array([match.get(k, -1) for k in clusters.tolist()]) == labels
    return share / len(others)


def fit_calibration(q: NDArray[np.float64], share: NDArray[np.float64]) -> Calibration:
    """Return T and noise under which the largest probabilities of q (N, K) fit ``share`` (N,): items that stay."""
    log_q = np.log(q + _SMALLEST)

    def loss(values: NDArray[np.float64]) -> float:
        confidence = _calibration(values).apply_to_log(log_q).max(axis=1)
        cross_entropy = share * np.log(confidence + _SMALLEST) + (1 - share) * np.log1p(_SMALLEST - confidence)
        return -float(cross_entropy.mean())

    simplex = np.array([[0.0, -2.0], [1.0, -2.0], [0.0, -4.0]])
    options = {"initial_simplex": simplex, "maxiter": 100, "xatol": 0.01, "fatol": 1e-5}
    return _calibration(minimize(loss, simplex[0], method="Nelder-Mead", options=options).x)


def _calibration(values: NDArray[np.float64]) -> Calibration:
    return Calibration(
        temperature=float(np.exp(np.clip(values[0], -_LARGEST_LOG_T, _LARGEST_LOG_T))), noise=float(expit(values[1]))
    )
