r"""Normalized mutual information between the clusters of neighbors: how well a neighbor graph predicts a clustering.

Let J(c, d) be the share of the edge weight between clusters c and d, and p(c) its marginal.

.. math:: \frac{I}{H} = \frac{\sum_{c, d} J(c, d) \log \frac{J(c, d)}{p(c) p(d)}}{-\sum_c p(c) \log p(c)}

It is 1 if every edge stays within a cluster, and 0 if edges are independent of the clusters.
"""

from __future__ import annotations

import numpy as np

from coterie.arrays import unit_rows
from coterie.contracts import Labels, Vectors
from coterie.errors import InputError
from coterie.knn.graph import KNNGraph, knn_graph

N_NEIGHBORS = 10  # whose labels are compared
_MIN_ENTROPY = 1e-9  # below, all edge weight is in one cluster


def neighbor_mutual_information(graph: KNNGraph, labels: Labels, n_clusters: int) -> float:
    """Return I / H of ``labels`` (N,) on ``graph``, between 0 and 1. Edges are weighted by max(similarity, 0).

    It is 0 if all edge weight is in one cluster, or if there is none.
    """
    joint = np.zeros((n_clusters, n_clusters))
    sources = np.repeat(labels, graph.indices.shape[1])
    targets = labels[graph.indices.ravel()]
    np.add.at(joint, (sources, targets), np.clip(graph.similarities, 0, None).ravel())
    if not joint.any():
        return 0.0
    joint = (joint + joint.T) / (2 * joint.sum())
    marginal = joint.sum(axis=1)
    positive = joint > 0
    information = (joint[positive] * np.log(joint[positive] / np.outer(marginal, marginal)[positive])).sum()
    marginal = marginal[marginal > 0]
    entropy = -(marginal * np.log(marginal)).sum()
    return float(information / entropy) if entropy > _MIN_ENTROPY else 0.0


def neighbor_agreement(h: Vectors, labels: Labels) -> float:
    """Return :func:`neighbor_mutual_information` of ``labels`` (N,) on the nearest neighbors by ``h`` (N, D)."""
    if len(h) < 2:
        raise InputError("A score needs at least two different items, because it compares neighbors.")
    graph = knn_graph(unit_rows(h), N_NEIGHBORS)
    return neighbor_mutual_information(graph, labels, int(labels.max()) + 1)
