"""Other clusterings of the same items: the mixture of `neighbors`, begun on random halves.

What both halves lead to is in the items; where they differ, a cluster is a matter of chance.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from coterie.clustering.defaults import (
    EVENNESS_PENALTY,
    MIN_CLUSTER_SIZE,
    N_NEIGHBORS,
    SIMILARITY_POWER,
    SMOOTHING_ROUNDS,
    words_of,
)
from coterie.clustering.mixture import MixtureSettings, fit_mixture, labels_by_parameters
from coterie.clustering.starts import Features, Start, choose_mixture, evidence_of_sample
from coterie.contracts import Items, Labels, Vectors
from coterie.errors import InputError
from coterie.knn.graph import knn_graph
from coterie.knn.neighborhood import word_features

_STARTS = (  # half of those of `neighbors`: each algorithm, without and with words
    Start("kmeans", "embeddings", 1, 3),
    Start("kmeans", "joint", 1, 1),
    Start("linkage", "embeddings", 0, 0),
    Start("linkage", "joint", 1 / 3, 3),
)
_SETTINGS = MixtureSettings()


def clusters_of_halves(e: Vectors, items: Items, n_clusters: int, *, n_halvings: int, seed: int) -> list[Labels]:
    """Return clusters (N,) of the items with unit embeddings ``e`` (N, D), one clustering for each half.

    The mixture is fitted to one half of the items, from several starts. Its parameters assign the others, and from
    there it is fitted to all. A half that has fewer distinct embeddings than clusters is left out.
    """
    words = words_of(items)
    features = Features(
        e, knn_graph(e, N_NEIGHBORS), torch.ones(len(e)), word_features(items, n_clusters, seed=seed), n_clusters,
        N_NEIGHBORS, SMOOTHING_ROUNDS, SIMILARITY_POWER, 1, MIN_CLUSTER_SIZE, seed,
    )  # fmt: skip
    evidence = evidence_of_sample(features, np.ones(len(e)), words)
    found = []
    for halving in range(n_halvings):
        order = np.random.default_rng([seed, halving]).permutation(len(e))
        for half in np.array_split(order, 2):
            with suppress(InputError):
                labels = _labels_by_half(features, evidence.words, np.sort(half))
                found.append(fit_mixture(evidence, labels, n_clusters, _SETTINGS).labels)
    return found


def _labels_by_half(features: Features, words: csr_matrix | None, half: NDArray[np.int64]) -> Labels:
    """Return clusters (N,) of all items by the mixture of the items ``half`` (n,)."""
    of_half = features.rows(half)
    evidence = evidence_of_sample(of_half, np.ones(len(half)), None if words is None else words[half])
    mixture = choose_mixture(evidence, of_half, _STARTS, _SETTINGS, evenness_penalty=EVENNESS_PENALTY)
    known = None if words is None else words[:, words[half].getnnz(axis=0) > 0]
    labels = labels_by_parameters(mixture, features.e, known)
    labels[half] = mixture.labels
    return labels
