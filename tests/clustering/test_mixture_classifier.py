import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from coterie.arrays import unit_rows
from coterie.clustering.mixture import Evidence, MixtureSettings, calibrate, fit_mixture, neighbor_weights
from coterie.clustering.mixture_classifier import MixtureClassifier
from coterie.knn.graph import knn_graph

SETTINGS = MixtureSettings(kappa=8, gamma=3, pseudo_words=5)


def make_classifier(settings=SETTINGS, n_clusters=3, n=80):
    """A classifier of a fitted mixture, with the mixture, its evidence and its embeddings."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_clusters, size=n)
    h = (2 * unit_rows(np.eye(8)[labels % 8] + 0.3 * rng.normal(size=(n, 8)))).astype(np.float32)
    words = csr_matrix((rng.random((n, 10)) < 0.3).astype(np.float32))
    counts = rng.integers(1, 4, size=n).astype(float)
    graph = knn_graph(unit_rows(h), 5)
    evidence = Evidence(unit_rows(h), counts, words, neighbor_weights(graph, counts))
    mixture = calibrate(fit_mixture(evidence, labels, n_clusters, settings), evidence)
    classifier = MixtureClassifier(n_clusters, 8, 5)
    classifier.store(mixture, evidence.counts, torch.from_numpy(h), graph, power=3)
    return classifier, mixture, evidence, torch.from_numpy(h)


def test_training_items_keep_the_q_of_the_fit():
    classifier, mixture, evidence, h = make_classifier()
    q = classifier.predict_proba(h, evidence.words, SETTINGS, power=3)
    np.testing.assert_allclose(q, mixture.q, atol=1e-6)
    np.testing.assert_array_equal(q.argmax(dim=1), mixture.labels)
    without_words = classifier.predict_proba(h.flip(0), None, SETTINGS, power=3).flip(0)
    np.testing.assert_array_equal(without_words, q)


def test_of_many_clusters_the_most_probable_are_stored():
    classifier, mixture, _, h = make_classifier(n_clusters=40, n=120)
    q = classifier.predict_proba(h, None, SETTINGS, power=3).numpy()
    assert classifier.q.shape == (120, 3)
    np.testing.assert_allclose(q.sum(axis=1), 1)
    np.testing.assert_array_equal(q.argmax(axis=1), mixture.labels)
    np.testing.assert_allclose(q.max(axis=1), mixture.q.max(axis=1), atol=1e-6)


def test_a_new_item_is_assigned_by_embedding_words_and_neighbors():
    classifier, mixture, evidence, _ = make_classifier()
    rng = np.random.default_rng(1)
    new = unit_rows(rng.normal(size=(6, 8)))
    words = csr_matrix((rng.random((6, 10)) < 0.3).astype(np.float32))
    q = classifier.predict_proba(torch.from_numpy(new), words, SETTINGS, power=3).numpy()
    graph = knn_graph(evidence.h, 5)
    affinity = graph.weights(3).maximum(graph.weights(3).T).toarray()
    degree = affinity @ evidence.counts
    for i in range(6):
        cosine = evidence.h @ new[i]
        nearest = np.argsort(-cosine)[:5]
        a = cosine[nearest].clip(0) ** 3 * evidence.counts[nearest]
        near = (a / np.sqrt(a.sum() * degree[nearest])) @ mixture.q[nearest]
        logits = 8 * mixture.mu @ new[i] + 0.5 * mixture.log_prior + 3 * near
        logits += words[i].toarray()[0] @ mixture.word_evidence
        expected = np.exp(logits / mixture.temperature)
        np.testing.assert_allclose(q[i], expected / expected.sum(), atol=2e-2)  # embeddings are stored in 8 bits


@pytest.mark.parametrize("settings", [MixtureSettings(kappa=8, gamma=0), MixtureSettings(kappa=8, beta=0)])
def test_a_part_without_weight_does_not_count(settings):
    classifier, *_ = make_classifier(settings)
    new = torch.from_numpy(unit_rows(np.random.default_rng(1).normal(size=(6, 8))))
    words = csr_matrix(np.eye(6, 10, dtype=np.float32))
    with_words, without = (classifier.predict_proba(new, x, settings, power=3) for x in (words, None))
    assert torch.equal(with_words, without) == (settings.beta == 0)
    classifier.q.fill_(0.2)
    assert torch.equal(classifier.predict_proba(new, words, settings, power=3), with_words) == (settings.gamma == 0)


def test_new_items_do_not_influence_each_other():
    classifier, *_ = make_classifier()
    rng = np.random.default_rng(1)
    new = torch.from_numpy(unit_rows(rng.normal(size=(9, 8))))
    words = csr_matrix((rng.random((9, 10)) < 0.3).astype(np.float32))
    together = classifier.predict_proba(new, words, SETTINGS, power=3)
    for i in range(9):
        alone = classifier.predict_proba(new[i : i + 1], words[i : i + 1], SETTINGS, power=3)
        np.testing.assert_allclose(alone[0], together[i], rtol=1e-9)
