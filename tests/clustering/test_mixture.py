import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from coterie import arrays
from coterie.arrays import unit_rows
from coterie.clustering import mixture as mixture_module
from coterie.clustering.mixture import (
    Evidence,
    MixtureSettings,
    calibrate,
    fit_mixture,
    neighbor_weights,
    without_empty_clusters,
)
from coterie.knn.graph import knn_graph

SETTINGS = MixtureSettings(kappa=8, gamma=3, pseudo_words=5, tolerance=0)


def make_evidence(n=60, n_clusters=3, d=6, n_words=12, k=4, seed=0, *, words=True, neighbors=True, noise=0.8):
    """Items of ``n_clusters`` true clusters, some of which occur several times, and their clusters (N,)."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_clusters, size=n)
    h = unit_rows(np.eye(d)[labels % d] + noise * rng.normal(size=(n, d)))
    shares = rng.dirichlet(np.full(n_words, 0.3), size=n_clusters)
    x = (rng.random((n, n_words)) < 3 * shares[labels]).astype(np.float32)
    x[0] = 1  # every word occurs
    counts = rng.integers(1, 4, size=n).astype(float)
    w = neighbor_weights(knn_graph(h, k), counts)
    return Evidence(h, counts, csr_matrix(x) if words else None, w if neighbors else None), labels


def slow_round(evidence, q, s):
    """The parameters for q, J, and the next q, with one loop for each sum."""
    n, k_all = q.shape
    total = evidence.counts.sum()
    words = evidence.words.toarray()
    weights = evidence.neighbors.toarray()
    base = (evidence.counts[:, None] * words).sum(axis=0)
    base = base / base.sum()
    mu, log_prior, log_ratio = [], [], []
    for k in range(k_all):
        direction = sum(evidence.counts[i] * q[i, k] * evidence.h[i].astype(float) for i in range(n))
        mu.append(direction / np.linalg.norm(direction))
        log_prior.append(math.log(sum(evidence.counts[i] * q[i, k] for i in range(n)) / total))
        seen = sum(evidence.counts[i] * q[i, k] * words[i] for i in range(n)) + s.pseudo_words * base
        log_ratio.append(np.log(seen / seen.sum() / base))
    j = s.beta * s.pseudo_words / total * sum((base * log_ratio[k]).sum() for k in range(k_all))
    next_q = np.zeros_like(q)
    for i in range(n):
        logits = np.zeros(k_all)
        for k in range(k_all):
            own = s.kappa * evidence.h[i] @ mu[k] + s.beta * words[i] @ log_ratio[k] + s.prior * log_prior[k]
            near = sum(weights[i, m] * q[m, k] for m in range(n))
            logits[k] = own + s.gamma * near
            if q[i, k] > 0:
                j += evidence.counts[i] / total * q[i, k] * (own + s.gamma / 2 * near - math.log(q[i, k]))
        next_q[i] = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    return j, next_q


def test_one_round_equals_the_equations():
    evidence, labels = make_evidence()
    settings = MixtureSettings(kappa=8, gamma=3, pseudo_words=5, max_rounds=1)
    q = np.eye(3)[labels]
    _, q = slow_round(evidence, q, settings)
    mixture = fit_mixture(evidence, labels, 3, settings)
    np.testing.assert_allclose(mixture.q, q, atol=1e-5)
    assert mixture.score == pytest.approx(slow_round(evidence, q, settings)[0], abs=1e-5)


def test_neighbor_weights_equal_their_equation():
    evidence, _ = make_evidence(n=20)
    graph = knn_graph(evidence.h, 4)
    c = evidence.counts
    a = np.zeros((20, 20))
    for i in range(20):
        for j, similarity in zip(graph.indices[i], graph.similarities[i], strict=True):
            a[i, j] = a[j, i] = max(similarity, 0) ** 3
    d = a @ c
    expected = [[a[i, j] * c[j] / math.sqrt(d[i] * d[j]) for j in range(20)] for i in range(20)]
    np.testing.assert_allclose(neighbor_weights(graph, c).toarray(), expected, atol=1e-6)


@pytest.mark.parametrize(("words", "neighbors"), [(True, True), (True, False), (False, True), (False, False)])
def test_j_never_falls(monkeypatch, words, neighbors):
    scores = []
    one_round = mixture_module._round

    def record(evidence, mixture):
        scores.append(mixture.score)
        return one_round(evidence, mixture)

    monkeypatch.setattr(mixture_module, "_round", record)
    for seed in range(3):
        evidence, _ = make_evidence(n=200, seed=seed, words=words, neighbors=neighbors)
        start = np.random.default_rng(seed).integers(0, 3, size=200)
        scores.clear()
        fit_mixture(evidence, start, 3, SETTINGS)
        assert len(scores) > 3
        assert (np.diff(scores) >= 0).all()


def test_a_step_that_goes_too_far_is_damped():
    h = unit_rows(np.ones((40, 2)))
    bipartite = np.zeros((40, 40), dtype=np.float32)  # each side wants the label of the other: a full step swaps them
    bipartite[:20, 20:] = bipartite[20:, :20] = 1 / 20
    evidence = Evidence(h, np.ones(40), neighbors=csr_matrix(bipartite))
    start, settings = np.repeat([0, 1], [16, 24]), MixtureSettings(gamma=50, max_rounds=1)
    before = mixture_module._maximize(evidence, mixture_module._one_hot(start, 2), settings)
    full_step = mixture_module._maximize(evidence, mixture_module._assign(evidence, before, 0.0), settings)
    assert full_step.score < before.score
    assert fit_mixture(evidence, start, 2, settings).score >= before.score


def test_duplicates_count_as_repeated_rows():
    evidence, labels = make_evidence()
    copies = np.repeat(np.arange(60), evidence.counts.astype(int))
    c = evidence.counts[copies]
    repeated = Evidence(
        evidence.h[copies],
        np.ones(len(copies)),
        evidence.words[copies],
        csr_matrix(evidence.neighbors.toarray()[np.ix_(copies, copies)] / c),  # every copy has the same share
    )
    by_counts = fit_mixture(evidence, labels, 3, SETTINGS)
    by_rows = fit_mixture(repeated, labels[copies], 3, SETTINGS)
    np.testing.assert_allclose(by_rows.q, by_counts.q[copies], atol=1e-4)
    assert by_rows.score == pytest.approx(by_counts.score, abs=1e-5)


def test_many_rows_are_processed_in_chunks(monkeypatch):
    evidence, labels = make_evidence()
    whole = fit_mixture(evidence, labels, 3, SETTINGS)
    monkeypatch.setattr(arrays, "_CHUNK_ROWS", 7)
    in_chunks = fit_mixture(evidence, labels, 3, SETTINGS)
    np.testing.assert_allclose(in_chunks.q, whole.q, atol=1e-4)


def test_the_best_of_several_starts_has_the_highest_j():
    evidence, labels = make_evidence(n=300, noise=0.5)
    rng = np.random.default_rng(0)
    settings = MixtureSettings(gamma=5)
    good = fit_mixture(evidence, labels, 3, settings)
    for share in (0.5, 1.0):
        start = np.where(rng.random(300) < share, rng.integers(0, 3, size=300), labels)
        assert good.score >= fit_mixture(evidence, start, 3, settings).score - 1e-4


def test_several_hundred_clusters():
    evidence, labels = make_evidence(n=900, n_clusters=300, d=50, noise=0.1)
    mixture = fit_mixture(evidence, labels, 300)
    np.testing.assert_allclose(mixture.q.sum(axis=1), 1, atol=1e-5)
    assert np.isfinite(mixture.score)


def test_one_cluster():
    evidence, _ = make_evidence()
    mixture = calibrate(fit_mixture(evidence, np.zeros(60, dtype=np.int64), 1), evidence)
    np.testing.assert_array_equal(mixture.q, 1)


def test_probabilities_are_as_sure_as_neighbors_agree():
    evidence, labels = make_evidence(n=400, noise=1.0)
    fitted = fit_mixture(evidence, labels, 3)
    mixture = calibrate(fitted, evidence)
    edges = evidence.neighbors.tocoo()
    same = mixture.labels[edges.row] == mixture.labels[edges.col]
    assert mixture.temperature > 1
    assert mixture.q.max(axis=1).mean() == pytest.approx(edges.data[same].sum() / edges.data.sum(), abs=0.01)
    assert (mixture.labels == fitted.labels).mean() > 0.98


def test_an_empty_cluster_gets_its_most_probable_item():
    evidence, labels = make_evidence(n_clusters=2, noise=0.1)
    fitted = fit_mixture(evidence, labels, 4, SETTINGS)
    n_empty = 4 - len(np.unique(fitted.labels))
    assert n_empty > 0
    filled = without_empty_clusters(fitted)
    assert sorted(np.unique(filled.labels)) == [0, 1, 2, 3]
    assert (filled.labels != fitted.labels).sum() == n_empty
    np.testing.assert_allclose(filled.q.sum(axis=1), 1, atol=1e-5)


def test_clusters_are_reordered_everywhere():
    evidence, labels = make_evidence()
    mixture = fit_mixture(evidence, labels, 3, SETTINGS)
    moved = mixture.reordered(np.array([2, 0, 1]))
    np.testing.assert_array_equal(moved.labels, np.array([1, 2, 0])[mixture.labels])
    np.testing.assert_array_equal(moved.mu[0], mixture.mu[2])
    np.testing.assert_array_equal(moved.word_evidence[:, 1], mixture.word_evidence[:, 0])
    assert moved.log_prior[2] == mixture.log_prior[1]
