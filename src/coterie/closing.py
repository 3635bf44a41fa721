"""What assigns in place of a trained objective: the clusters without training, or a mixture over trained embeddings.

Both are objectives of methods that train nothing, fitted to the embeddings of the network, so that new items are
assigned in the same way and a saved model contains them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from coterie.arrays import unit_rows
from coterie.clusterer import METHODS, Clusterer
from coterie.clustering.defaults import N_NEIGHBORS, words_of
from coterie.clustering.mixture import Evidence, neighbor_weights
from coterie.clustering.starts import JOINT_WORD_WEIGHT
from coterie.contracts import Corpus, Labels, Network, Objective
from coterie.errors import InputError, TrainingError
from coterie.knn.graph import knn_graph
from coterie.knn.neighborhood import word_features
from coterie.words.tfidf_svd import fuse

MIXTURE = "neighbors"
"""The method whose mixture closes a training."""


def untrained_model(method: str, corpus: Corpus, n_clusters: int, seed: int) -> Clusterer:
    """Return a model of ``method`` that is fitted to the embeddings of ``corpus``.

    Where the corpus has labels, the mixture starts from them and keeps their order.
    """
    model = _empty_model(method, n_clusters, corpus.h.shape[1])
    model.objective_.initialize(corpus, seed)
    return model


def labels_of(objective: Objective, corpus: Corpus) -> Labels:
    """Return the most probable cluster of each item of the corpus (N,)."""
    labels: Labels = objective.assign_all(corpus.h.numpy(), corpus.items).argmax(axis=1)
    return labels


def close_by_mixture(objective: Objective, corpus: Corpus, n_clusters: int) -> Clusterer:
    """Let a mixture assign, fitted by EM to the corpus as it is embedded now, from the labels of ``objective``."""
    objective.closing = None
    labels = torch.from_numpy(labels_of(objective, corpus))
    model = untrained_model(MIXTURE, replace(corpus, labels=labels), n_clusters, seed=0)
    objective.closing = model.objective_
    return model


def fit_final_assigner(objective: Objective, corpus: Corpus, seed: int) -> None:
    """Fit the assigner to the trained embeddings. Only without the guard can these be unusable."""
    advice = "Lower encoder_lr or head_lr, use fewer epochs, or switch the guard on."
    if not torch.isfinite(corpus.h).all():
        raise TrainingError(f"After training the embeddings contain NaN or infinity. {advice}")
    try:
        objective.fit_assigner(corpus, seed)
    except InputError as error:  # the texts were fine before training
        raise TrainingError(
            f"After training the embeddings are too similar to separate the clusters. {advice}"
        ) from error


def evidence_of(corpus: Corpus, n_clusters: int, seed: int) -> Evidence:
    """Return what the mixture explains: embeddings, and for texts words; neighbors are near by both."""
    e, counts = unit_rows(corpus.h.numpy()), corpus.counts.double().numpy()
    features = word_features(corpus.items, n_clusters, seed=seed)
    near_by = e if features is None else fuse(e, features, JOINT_WORD_WEIGHT)
    return Evidence(e, counts, words_of(corpus.items), neighbor_weights(knn_graph(near_by, N_NEIGHBORS), counts))


def closing_notes(model: Clusterer | None) -> dict[str, Any]:
    """Return what a saved model stores of the model that assigns, as plain values."""
    return {} if model is None else {"closing": {"method": model.name, "notes": model.saved_notes()}}


def restore_closing(saved: dict[str, Any], objective: Objective, n_clusters: int) -> Clusterer:
    """Add the objective that assigns; its tensors are loaded afterwards."""
    model = _empty_model(saved["method"], n_clusters, objective.network.dim)
    model.restore_notes(saved["notes"])
    objective.closing = model.objective_
    return model


def _empty_model(method: str, n_clusters: int, dim: int) -> Clusterer:
    model = METHODS[method](n_clusters=n_clusters)
    model.n_clusters_ = n_clusters
    model.objective_ = model.build_objective(Network(dim))
    return model
