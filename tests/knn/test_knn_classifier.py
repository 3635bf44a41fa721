import numpy as np
import pytest
import torch

from coterie import arrays
from coterie.arrays import unit_rows
from coterie.knn import classifier as classifier_module
from coterie.knn.classifier import KNNClassifier
from coterie.knn.graph import knn_graph


def make_classifier(h, labels, k):
    """A classifier that has stored h (N, D), with the k nearest neighbors of each row."""
    h = torch.as_tensor(h, dtype=torch.float32)
    classifier = KNNClassifier(h.shape[1], k)
    neighbors = knn_graph(unit_rows(h.numpy()), k).indices
    classifier.store(h, torch.as_tensor(labels), torch.from_numpy(neighbors))
    return classifier


@pytest.mark.parametrize("offset", [0, 30])  # a large common part must not reduce the precision of the codes
def test_probabilities_equal_their_equation(offset):
    rng = np.random.default_rng(0)
    h = unit_rows(rng.normal(size=(20, 5)) + offset)
    new = unit_rows(rng.normal(size=(4, 5)) + offset)
    labels = rng.integers(0, 3, size=20)
    q = make_classifier(h, labels, 6).predict_proba(torch.from_numpy(new), 3).numpy()
    for i in range(4):
        cosine = h @ new[i]
        weights = np.zeros(3)
        for j in np.argsort(-cosine)[:6]:
            weights[labels[j]] += max(cosine[j], 0) ** 3
        np.testing.assert_allclose(q[i], weights / weights.sum(), atol=5e-3)  # embeddings are stored in 8 bits


def test_a_stored_row_keeps_its_label_against_all_neighbors():
    h = torch.ones(10, 4) + torch.arange(10)[:, None] * 1e-6
    labels = [1] + [0] * 9
    assert make_classifier(h, labels, 9).predict_proba(h, 2).argmax(dim=1).tolist() == labels


def test_a_stored_row_has_no_vote_on_itself():
    h = torch.eye(4)[[0, 0, 0, 1]] + 0.1 * torch.arange(4)[:, None]
    q = make_classifier(h, [0, 1, 1, 0], 2).predict_proba(h[:1], 2)  # both neighbors have label 1
    assert q.argmax() == 0
    assert q[0, 0] == pytest.approx(0.5, abs=1e-3)


def test_neighbors_without_similarity_have_equal_weights():
    classifier = make_classifier([[1.0, 0], [1, 0.1]], [0, 1], 2)
    np.testing.assert_allclose(classifier.predict_proba(torch.tensor([[-1.0, 0]]), 2), [[0.5, 0.5]])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_fewer_rows_than_neighbors(n):
    h = torch.eye(4)[:n]
    q = make_classifier(h, [0] * n, 15).predict_proba(torch.cat([h, torch.ones(1, 4)]), 1)
    np.testing.assert_allclose(q, np.ones((n + 1, 1)))


def test_probabilities_do_not_depend_on_the_rest_of_the_batch(monkeypatch):
    monkeypatch.setattr(classifier_module, "_STORED_BLOCK", 256)
    monkeypatch.setattr(classifier_module, "_CHUNK", 64)
    rng = np.random.default_rng(0)
    classifier = make_classifier(rng.normal(size=(700, 48)), rng.integers(0, 5, size=700), 15)
    new = torch.from_numpy(rng.normal(size=(130, 48)).astype(np.float32))
    q = classifier.predict_proba(new, 5)
    for i in (0, 1, 31, 32, 77, 129):
        assert torch.equal(classifier.predict_proba(new[i : i + 1], 5), q[i : i + 1])
    assert torch.equal(classifier.predict_proba(new.flip(0), 5).flip(0), q)
    assert torch.equal(classifier.predict_proba(new[40:90], 5), q[40:90])


def test_blocks_of_stored_rows_do_not_change_the_result(monkeypatch):
    rng = np.random.default_rng(1)
    h = rng.normal(size=(100, 8))
    labels = rng.integers(0, 4, size=100)
    new = torch.from_numpy(rng.normal(size=(9, 8)).astype(np.float32))
    expected = make_classifier(h, labels, 5).predict_proba(new, 4)
    monkeypatch.setattr(classifier_module, "_STORED_BLOCK", 7)
    assert torch.equal(make_classifier(h, labels, 5).predict_proba(new, 4), expected)


def test_state_dict_restores_the_classifier():
    rng = np.random.default_rng(0)
    classifier = make_classifier(rng.normal(size=(30, 8)), rng.integers(0, 4, size=30), 5)
    assert set(classifier.state_dict()) == {"mean", "codes", "scale", "labels", "neighbors", "keys"}
    copy = KNNClassifier(8, 5)
    for name, value in classifier.state_dict().items():
        setattr(copy, name, value)  # buffers grow with the number of rows
    new = torch.from_numpy(rng.normal(size=(9, 8)).astype(np.float32))
    assert torch.equal(copy.predict_proba(new, 4), classifier.predict_proba(new, 4))


@pytest.fixture(scope="module")
def many_rows():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 20, size=2200)
    x = unit_rows(rng.normal(size=(20, 24))[labels] + 0.3 * rng.normal(size=(2200, 24)))
    return x, labels


@pytest.fixture
def graph_search(monkeypatch):
    """Rows are searched along the neighbor graph if there are more than 800."""
    monkeypatch.setattr(arrays, "EXACT_LIMIT", 200)
    monkeypatch.setattr(classifier_module, "_ENTRY_POINTS", 500)


def test_graph_search_finds_most_nearest_neighbors(many_rows, graph_search, monkeypatch):
    x, labels = many_rows
    with monkeypatch.context() as exact_graph:
        exact_graph.setattr(arrays, "EXACT_LIMIT", 50_000)
        classifier = make_classifier(x[:2000], labels[:2000], 10)
    new = torch.from_numpy(x[2000:])
    found = classifier._search(new, 10)
    assert torch.equal(found[3], classifier._graph_search(new[3], 10))
    exact = classifier._exact_search(new, 10)
    recall = np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(found, exact, strict=True)])
    assert recall > 0.9
    assert classifier._search(new[:0], 10).shape == (0, 10)
    q = classifier.predict_proba(new, 20)
    assert torch.equal(classifier.predict_proba(new[7:8], 20), q[7:8])
    assert (q.argmax(dim=1).numpy() == labels[2000:]).mean() > 0.97
    stored = classifier.predict_proba(torch.from_numpy(x[:2000]), 20)
    np.testing.assert_array_equal(stored.argmax(dim=1), labels[:2000])
