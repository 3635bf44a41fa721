r"""A mixture model over embeddings, words and neighbors, fitted by mean-field EM.

Item i has a unit vector h_i, words x_i, each with a weight, and neighbors W_i (:func:`neighbor_weights`). Cluster k has
a prior \pi_k, a direction \mu_k and a word distribution p(w | k), smoothed with s pseudo-words of the corpus
distribution p(w). The fit maximizes

.. math::
    J = \frac{1}{N} \sum_i \Big[ \sum_k q_{ik} \big(\kappa\, h_i \cdot \mu_k
        + \beta \sum_w x_{iw} \log \tfrac{p(w|k)}{p(w)}
        + \tfrac{\gamma}{2} (W q)_{ik} + \tfrac12 \log \pi_k \big) + H(q_i) \Big]
        + \frac{\beta s}{N} \sum_{k, w} p(w) \log \tfrac{p(w|k)}{p(w)}

by turns: \mu, p(w | k) and \pi given q, then all rows of q at once,

.. math:: \log q_{ik} = \kappa\, h_i \cdot \mu_k + \beta \sum_w x_{iw} \log \tfrac{p(w|k)}{p(w)} + \gamma (W q)_{ik}
          + \tfrac12 \log \pi_k + const.

J needs no labels, so it can help to choose among several starts (:mod:`coterie.clustering.starts`).
An item counts as often as it occurs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags_array

from coterie.arrays import FIT_FACTOR, is_large, row_chunks, subsample, unit_rows
from coterie.contracts import Labels, Vectors
from coterie.knn.graph import KNNGraph

Floats = NDArray[np.float64]
Assignments = NDArray[np.float32]
"""Soft assignments q (N, K)."""

_SMALLEST = 1e-12
_MOST_DAMPING = 16.0
_TEMPERATURES = (1.0, 100.0)  # between which the temperature of the probabilities is searched
_BISECTIONS = 12


@dataclass(frozen=True)
class MixtureSettings:
    """The weights of the evidence, and the length of the fit."""

    kappa: float = 20.0  # weight of the embeddings: the concentration of a von Mises-Fisher distribution
    beta: float = 1.0  # weight of the words
    gamma: float = 10.0  # weight of the neighbors
    prior: float = 0.5  # weight of log pi; 0: clusters have equal priors
    pseudo_words: float = 50.0  # words of the corpus distribution that are added to each cluster
    max_rounds: int = 15
    tolerance: float = 1e-5  # the fit ends when J rises by less, relative to J


@dataclass(frozen=True)
class Evidence:
    """What the mixture explains: N distinct items and how often each occurs."""

    h: Vectors  # (N, D), rows of length one
    counts: Floats  # (N,)
    words: csr_matrix | None = None  # (N, V), the weight of a word in a text; 0: not there
    neighbors: csr_matrix | None = None  # (N, N), from `neighbor_weights`

    def __len__(self) -> int:
        return len(self.h)


@dataclass(frozen=True)
class Mixture:
    """The parameters of K clusters, the assignments of the training items, and J."""

    mu: Vectors  # (K, D) unit directions
    log_prior: Floats  # (K,) log pi
    word_evidence: Vectors | None  # (V, K) log p(w | k) / p(w)
    q: Assignments  # (N, K)
    score: float  # J
    settings: MixtureSettings
    temperature: float = 1.0  # of the probabilities, see `calibrate`

    @property
    def labels(self) -> Labels:
        """The most probable cluster of each training item (N,)."""
        return np.asarray(self.q.argmax(axis=1), dtype=np.int64)

    @property
    def size_entropy(self) -> float:
        r"""The entropy H(\pi) of the cluster sizes: log K if all clusters are of equal size."""
        return -float(np.exp(self.log_prior) @ self.log_prior)

    def reordered(self, order: NDArray[np.int64]) -> Mixture:
        """Return the mixture with its clusters in another order: ``order`` (K,) holds their old indices."""
        word_evidence = None if self.word_evidence is None else self.word_evidence[:, order]
        return replace(
            self, mu=self.mu[order], log_prior=self.log_prior[order], word_evidence=word_evidence, q=self.q[:, order]
        )


def fit_mixture(
    evidence: Evidence, labels: Labels, n_clusters: int, settings: MixtureSettings | None = None
) -> Mixture:
    """Return the mixture that EM reaches from ``labels`` (N,). J never falls from round to round."""
    settings = settings or MixtureSettings()
    mixture = _maximize(evidence, _one_hot(labels, n_clusters), settings)
    for _ in range(settings.max_rounds):
        improved = _round(evidence, mixture)
        if improved is None:
            break
        gain = improved.score - mixture.score
        mixture = improved
        if gain < settings.tolerance * abs(mixture.score):
            break
    return mixture


def labels_by_parameters(mixture: Mixture, h: Vectors, words: csr_matrix | None) -> Labels:
    """Return the most probable cluster (N,) of items with embeddings h (N, D) and words (N, V), without neighbors."""
    labels = np.empty(len(h), dtype=np.int64)
    for rows in row_chunks(len(h)):
        part = Evidence(unit_rows(h[rows]), np.ones(len(h[rows])), None if words is None else words[rows])
        labels[rows] = _logits(part, mixture, slice(None)).argmax(axis=1)
    return labels


def neighbor_weights(graph: KNNGraph, counts: Floats, *, power: float = 3.0) -> csr_matrix:
    r"""Return W (N, N), as if item j were there c_j = ``counts[j]`` times and each of them a neighbor.

    .. math:: W_{ij} = A_{ij} c_j / \sqrt{d_i d_j}, \qquad A_{ij} = \max(\cos(h_i, h_j), 0)^{power},
              \qquad d_i = \sum_j A_{ij} c_j

    A_{ij} is zero unless one of i and j is a neighbor of the other.
    """
    affinity, degree = affinity_and_degree(graph, counts, power=power)
    scale = 1 / np.sqrt(np.maximum(degree, _SMALLEST))
    return csr_matrix(diags_array(scale) @ affinity @ diags_array(scale * counts)).astype(np.float32)


def affinity_and_degree(graph: KNNGraph, counts: Floats, *, power: float) -> tuple[csr_matrix, Floats]:
    """Return the symmetric weights A (N, N) of :func:`neighbor_weights` and the degrees d (N,)."""
    weights = graph.weights(power)
    affinity = weights.maximum(weights.T)
    return affinity, np.asarray(affinity @ counts, dtype=np.float64)


def calibrate(mixture: Mixture, evidence: Evidence) -> Mixture:
    r"""Return the mixture with q = softmax(logits / T), and T such that probabilities are realistic.

    Words and neighbors are not independent evidence, so q of the fit is close to 0 or 1. T is found without labels: the
    mean probability of the labels becomes the mean share of neighbors that have the same label.
    """
    if evidence.neighbors is None or mixture.q.shape[1] == 1:
        return replace(mixture, q=_tempered(evidence, mixture, 1.0))
    agreement = _agreement_of_neighbors(evidence.neighbors, _tempered(evidence, mixture, 1.0).argmax(axis=1))
    low, high = np.log(_TEMPERATURES)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        confidence = _mean_confidence(evidence, mixture, float(np.exp(middle)))
        low, high = (middle, high) if confidence > agreement else (low, middle)
    temperature = float(np.exp((low + high) / 2))
    return replace(mixture, q=_tempered(evidence, mixture, temperature), temperature=temperature)


def without_empty_clusters(mixture: Mixture) -> Mixture:
    """Return the mixture with at least one item in each cluster.

    An empty cluster gets the item that is most probable in it, from a cluster that has others. There must be K items.
    """
    q, labels = mixture.q, mixture.labels
    n_items = np.bincount(labels, minlength=q.shape[1])
    for k in np.flatnonzero(n_items == 0):
        item = int(np.where(n_items[labels] > 1, q[:, k], -1).argmax())
        if q is mixture.q:
            q = q.copy()
        q[item, [k, labels[item]]] = q[item, [labels[item], k]]
        n_items[labels[item]] -= 1
        n_items[k] = 1
        labels[item] = k
    return replace(mixture, q=q)


def _agreement_of_neighbors(neighbors: csr_matrix, labels: Labels) -> float:
    """Return the share of the edge weight that is between items with the same label."""
    edges = neighbors.tocoo()
    same = edges.data[labels[edges.row] == labels[edges.col]]
    return float(same.sum(dtype=np.float64) / max(edges.data.sum(dtype=np.float64), _SMALLEST))


def _mean_confidence(evidence: Evidence, mixture: Mixture, temperature: float) -> np.float32:
    """Return the mean probability of the labels at ``temperature``; of very many items, that of a sample."""
    n = len(evidence)
    if not is_large(n, factor=FIT_FACTOR):
        return np.float32(_tempered(evidence, mixture, temperature).max(axis=1).mean())
    sample = subsample(n, factor=FIT_FACTOR)
    parts = (_softmax(_logits(evidence, mixture, sample[rows]) / temperature) for rows in row_chunks(len(sample)))
    return np.float32(np.concatenate([q.max(axis=1) for q in parts]).mean())


def _tempered(evidence: Evidence, mixture: Mixture, temperature: float) -> Assignments:
    """Return softmax(logits / temperature) (N, K)."""
    q = np.empty_like(mixture.q)
    for rows in row_chunks(len(evidence)):
        q[rows] = _softmax(_logits(evidence, mixture, rows) / temperature)
    return q


def _round(evidence: Evidence, mixture: Mixture) -> Mixture | None:
    """Return the mixture after one round, damped as much as needed for J to rise; None if it cannot rise.

    All rows of q change at once, so a full step may go too far where neighbors disagree. A damped step moves log q only
    part of the way.
    """
    damping = 0.0
    while damping <= _MOST_DAMPING:
        improved = _maximize(evidence, _assign(evidence, mixture, damping), mixture.settings)
        if improved.score >= mixture.score:
            return improved
        damping = 2 * damping or 1.0
    return None


def _assign(evidence: Evidence, mixture: Mixture, damping: float) -> Assignments:
    """Return q (N, K) by the parameters; ``damping`` is the weight of the previous log q."""
    q = np.empty_like(mixture.q)
    for rows in row_chunks(len(evidence)):
        logits = _logits(evidence, mixture, rows)
        if damping:
            logits = (logits + damping * np.log(mixture.q[rows] + _SMALLEST)) / (1 + damping)
        q[rows] = _softmax(logits)
    return q


def _maximize(evidence: Evidence, q: Assignments, settings: MixtureSettings) -> Mixture:
    """Return the parameters that maximize J for ``q`` (N, K), with J."""
    mu = np.zeros((q.shape[1], evidence.h.shape[1]))
    sizes = np.zeros(q.shape[1])
    for rows in row_chunks(len(evidence)):
        weighted = q[rows] * evidence.counts[rows, None].astype(np.float32)
        mu += weighted.T @ evidence.h[rows]
        sizes += weighted.sum(axis=0, dtype=np.float64)
    mu /= np.linalg.norm(mu, axis=1, keepdims=True) + _SMALLEST
    log_prior = np.log(sizes / sizes.sum() + _SMALLEST)
    word_evidence, penalty = None, 0.0
    if evidence.words is not None and settings.beta:
        word_evidence, penalty = _word_evidence(evidence.words, evidence.counts, q, settings.pseudo_words)
    mixture = Mixture(mu.astype(np.float32), log_prior, word_evidence, q, 0.0, settings)
    score = (_score(evidence, mixture) - settings.beta * penalty) / sizes.sum()
    return replace(mixture, score=float(score))


def _word_evidence(words: csr_matrix, counts: Floats, q: Assignments, pseudo_words: float) -> tuple[Vectors, float]:
    """Return log p(w | k) / p(w) (V, K), and how much the pseudo-words lower J."""
    in_cluster = np.zeros((words.shape[1], q.shape[1]))
    for rows in row_chunks(len(q)):
        in_cluster += words[rows].T @ (q[rows] * counts[rows, None].astype(np.float32))
    base = words.T @ counts
    base = base[:, None] / base.sum()  # (V, 1), p(w); every word of the vocabulary occurs
    smoothed = in_cluster + pseudo_words * base
    log_ratio = np.log(smoothed / smoothed.sum(axis=0) / base)
    return log_ratio.astype(np.float32), -pseudo_words * float((base * log_ratio).sum())


def _score(evidence: Evidence, mixture: Mixture) -> float:
    """Return the sum over all items that is N J without pseudo-words."""
    total = 0.0
    for rows in row_chunks(len(evidence)):
        q = mixture.q[rows]
        logits = _logits(evidence, mixture, rows, neighbor_share=0.5)  # an edge belongs to both of its items
        value = (q * logits).sum(axis=1) - (q * np.log(q + _SMALLEST)).sum(axis=1)  # (B,)
        total += float(evidence.counts[rows] @ value)
    return total


def _logits(evidence: Evidence, mixture: Mixture, rows: Any, *, neighbor_share: float = 1.0) -> Vectors:
    """Return log q (B, K) of some rows, up to a constant."""
    settings = mixture.settings
    logits = settings.kappa * (evidence.h[rows] @ mixture.mu.T)
    logits += settings.prior * mixture.log_prior
    if evidence.words is not None and mixture.word_evidence is not None:
        logits += settings.beta * (evidence.words[rows] @ mixture.word_evidence)
    if evidence.neighbors is not None and settings.gamma:
        logits += neighbor_share * settings.gamma * (evidence.neighbors[rows] @ mixture.q)
    return np.asarray(logits)


def _softmax(logits: Vectors) -> Vectors:
    q = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(q / q.sum(axis=1, keepdims=True))


def _one_hot(labels: Labels, n_clusters: int) -> Assignments:
    q = np.zeros((len(labels), n_clusters), dtype=np.float32)
    q[np.arange(len(labels)), labels] = 1
    return q
