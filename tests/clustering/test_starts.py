"""The choice among initial clusterings of the mixture."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix, hstack

from coterie.arrays import unit_rows
from coterie.clustering import starts as module
from coterie.clustering.mixture import Evidence, Mixture, MixtureSettings, neighbor_weights
from coterie.clustering.starts import STARTS, Features, Start, choose_mixture
from coterie.knn.graph import knn_graph


def make_features(sizes, *, words=False, **settings):
    """Features and evidence of vectors around one random center per cluster, and the clusters (N,)."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    e = unit_rows(rng.normal(size=(len(sizes), 20))[labels] + 0.6 * rng.normal(size=(len(labels), 20)))
    graph = knn_graph(e, 5)
    tfidf = unit_rows(rng.random((len(e), 4))) if words else None
    values = {"smoothing_rounds": 3, "power": 3.0, "n_init": 2, "min_cluster_size": 0.05, "seed": 0} | settings
    features = Features(e, graph, torch.ones(len(e)), tfidf, len(sizes), 5, **values)
    counts = np.ones(len(e))
    return features, Evidence(e, counts, None, neighbor_weights(graph, counts)), labels


def test_only_starts_with_features_are_possible_and_each_once():
    with_words, without_words = make_features([20] * 3, words=True)[0], make_features([20] * 3)[0]
    assert with_words.possible(STARTS) == list(STARTS)
    assert {start.features for start in without_words.possible(STARTS)} == {"embeddings"}
    unsmoothed = make_features([20] * 3, smoothing_rounds=0)[0]
    assert unsmoothed.possible(STARTS) == [
        Start("kmeans", "embeddings", 0, 0),
        Start("linkage", "embeddings", 0, 0),
    ]


def test_of_many_rows_starts_are_compared_on_a_sample_and_the_best_are_fitted(monkeypatch):
    monkeypatch.setattr(module, "_SCREENING_SAMPLE", 50)
    features, evidence, labels = make_features([100, 100, 100])
    rare = hstack([csr_matrix(np.eye(3)[labels]), csr_matrix(np.eye(300))]).tocsr()  # most are not in the sample
    evidence = replace(evidence, words=rare)
    fitted_rows = []
    fit = module.fit_mixture

    def record(evidence, *args):
        fitted_rows.append(len(evidence))
        mixture = fit(evidence, *args)
        assert np.isfinite(mixture.score)
        return mixture

    monkeypatch.setattr(module, "fit_mixture", record)
    mixture = choose_mixture(evidence, features, STARTS, MixtureSettings(), evenness_penalty=0.7)
    assert fitted_rows == [50] * 2 + [300] * 3  # two by linkage are compared, the better is fitted beside k-means
    table = np.zeros((3, 3))
    np.add.at(table, (labels, mixture.labels), 1)
    assert table.max(axis=1).sum() > 290


@pytest.mark.parametrize(("k", "penalty", "chosen"), [(6, 0.0, 0), (6, 0.7, 1), (6, 0.01, 0), (3, 100.0, 0)])
def test_the_penalty_prefers_the_uneven_of_two_nearly_equal_fits_of_many_clusters(k, penalty, chosen, monkeypatch):
    features, evidence, _ = make_features([10] * k)
    sizes = np.array([0.9] + [0.1 / (k - 1)] * (k - 1))
    even = Mixture(np.eye(k), np.full(k, -np.log(k)), None, np.eye(k), 10.0, MixtureSettings())
    uneven = Mixture(np.eye(k), np.log(sizes), None, np.eye(k), 9.9, MixtureSettings())
    both = [even, uneven]
    left = iter(both)
    monkeypatch.setattr(module, "fit_mixture", lambda *args: next(left))
    assert even.size_entropy == pytest.approx(np.log(k))
    found = choose_mixture(evidence, features, STARTS[:2], MixtureSettings(), evenness_penalty=penalty)
    assert found is both[chosen]


def test_finalists_are_the_best_of_each_algorithm_on_a_sample():
    scores = dict(zip(STARTS, [5, 8, 6, 7, 1, 2, 4, 3], strict=True))
    fitted = []

    def fits(starts):
        fitted.extend(starts)
        return ((start, scores[start]) for start in starts)

    def finalists(**places):
        return module._finalists(list(STARTS), places, fits, criterion=float)

    assert finalists(kmeans=4, linkage=1) == [*STARTS[:4], STARTS[6]]
    assert fitted == list(STARTS[4:])  # with a place for each there is nothing to compare
    assert finalists(kmeans=2, linkage=1) == [STARTS[1], STARTS[3], STARTS[6]]


def test_without_a_cut_by_linkage_k_means_is_used():
    features, evidence, _ = make_features([2, 2, 2], min_cluster_size=0.99)
    linkage = [start for start in STARTS if start.algorithm == "linkage"]
    features = Features(**{**vars(features), "n_clusters": 5})
    mixture = choose_mixture(evidence, features, linkage, MixtureSettings(), evenness_penalty=0.7)
    assert mixture.q.shape == (6, 5)
