import sys

import numpy as np
import pytest

from coterie import arrays
from coterie.arrays import unit_rows
from coterie.errors import SlowWarning
from coterie.knn import graph as graph_module
from coterie.knn import nn_descent as nn_descent_module
from coterie.knn.graph import KNNGraph, knn_graph
from coterie.remembered import remembering


def random_rows(n, d=6):
    return unit_rows(np.random.default_rng(0).normal(size=(n, d)))


def sorted_neighbors(x, k):
    similarity = x @ x.T
    np.fill_diagonal(similarity, -np.inf)
    indices = np.argsort(-similarity, axis=1)[:, :k]
    return indices, np.take_along_axis(similarity, indices, axis=1)


@pytest.mark.parametrize("block", [3, 7, 1024])
def test_knn_graph_equals_a_full_sort(monkeypatch, block):
    monkeypatch.setattr(graph_module, "_BLOCK", block)
    x = random_rows(20)
    indices, similarities = sorted_neighbors(x, 4)
    graph = knn_graph(x, 4)
    np.testing.assert_array_equal(graph.indices, indices)
    np.testing.assert_allclose(graph.similarities, similarities, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_fewer_rows_than_neighbors(n):
    assert knn_graph(random_rows(n), 15).indices.shape == (n, n - 1)


def test_first_keeps_the_nearest():
    x = random_rows(20)
    first = knn_graph(x, 6).first(2)
    expected = knn_graph(x, 2)
    np.testing.assert_array_equal(first.indices, expected.indices)
    np.testing.assert_array_equal(first.similarities, expected.similarities)


def test_mutual_replaces_one_sided_neighbors_by_the_row_itself():
    graph = KNNGraph(np.array([[1], [0], [1]]), np.ones((3, 1), dtype=np.float32))
    np.testing.assert_array_equal(graph.mutual(), [[1], [0], [2]])


def test_weights_are_powers_of_the_similarity_and_never_negative():
    graph = KNNGraph(np.array([[1, 2], [0, 2], [1, 0]]), np.float32([[0.5, -0.5], [0.5, 0.2], [0.2, -0.5]]))
    expected = [[0, 0.125, 0], [0.125, 0, 0.008], [0, 0.008, 0]]
    np.testing.assert_allclose(graph.weights(3).toarray(), expected, atol=1e-7)


def test_nn_descent_is_used_above_the_limit_only(monkeypatch):
    calls = []

    def fake_nn_descent(x, k, near):
        calls.append(len(x))
        return sorted_neighbors(x, k)

    monkeypatch.setattr(arrays, "EXACT_LIMIT", 30)
    monkeypatch.setattr(graph_module, "has_nn_descent", lambda: True)
    monkeypatch.setattr(graph_module, "nn_descent", fake_nn_descent)
    knn_graph(random_rows(30), 5)
    assert calls == []
    assert knn_graph(random_rows(31), 5).indices.shape == (31, 5)
    assert calls == [31]


def test_without_pynndescent_all_pairs_are_compared_with_a_warning(monkeypatch):
    monkeypatch.setattr(arrays, "EXACT_LIMIT", 30)
    monkeypatch.setattr(nn_descent_module, "find_spec", lambda _: None)
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    x = random_rows(40)
    with pytest.warns(SlowWarning, match=r"all pairs of 40 items.* pip install 'coterie\[scale\]'"):
        graph = knn_graph(x, 5)
    np.testing.assert_array_equal(graph.indices, sorted_neighbors(x, 5)[0])


def test_a_fit_finds_the_neighbors_of_equal_rows_once(monkeypatch):
    calls = []
    find = graph_module._find
    monkeypatch.setattr(graph_module, "_find", lambda x, k, near: calls.append(k) or find(x, k, near))
    x = random_rows(40)
    expected = knn_graph(x, 5)
    with remembering():
        for k in (5, 15, 3):
            graph = knn_graph(x.copy(), k)
            np.testing.assert_array_equal(graph.indices[:, :3], expected.indices[:, :3])
            assert graph.indices.shape == graph.similarities.shape == (40, k)
        knn_graph(x[:20], 5)
        knn_graph(x, 20)
    assert calls == [5, 15, 15, 20]
    knn_graph(x, 5)
    assert calls[-1] == 5  # it is forgotten
