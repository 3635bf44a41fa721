import numpy as np
import pytest

from coterie import arrays
from coterie.arrays import unit_rows
from coterie.knn.graph import knn_graph
from coterie.knn.smoothing import compress, smooth


def random_rows(n, d=6):
    return unit_rows(np.random.default_rng(0).normal(size=(n, d)))


def test_smooth_equals_its_equation():
    x = random_rows(12, d=70)  # more columns than are smoothed at once
    graph = knn_graph(x, 3)
    expected = x.astype(np.float64)
    for _ in range(2):
        before = expected.copy()
        for i in range(12):
            total = before[i].copy()
            total_weight = 1.0
            for j, similarity in zip(graph.indices[i], graph.similarities[i], strict=True):
                weight = max(float(similarity), 0.0) ** 3
                total += weight * before[j]
                total_weight += weight
            expected[i] = total / total_weight
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(smooth(x, graph, rounds=2, power=3), expected, atol=1e-5)


def test_zero_rounds_change_nothing():
    x = random_rows(10)
    np.testing.assert_allclose(smooth(x, knn_graph(x, 3), rounds=0), x, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2])
def test_smooth_of_fewer_rows_than_neighbors(n):
    assert np.isfinite(smooth(random_rows(n), knn_graph(random_rows(n), 15), rounds=2)).all()


@pytest.mark.parametrize("chunk_rows", [7, 65_536])
def test_compress_keeps_dot_products_in_fewer_columns(monkeypatch, chunk_rows):
    monkeypatch.setattr(arrays, "_CHUNK_ROWS", chunk_rows)
    rng = np.random.default_rng(0)
    x = unit_rows(rng.normal(size=(50, 3)) @ rng.normal(size=(3, 40)))
    compressed = compress(x, keep=0.9999)
    assert compressed.shape == (50, 4)
    np.testing.assert_allclose(compressed @ compressed.T, x @ x.T, atol=1e-3)


def test_compress_keeps_small_differences_between_nearly_equal_rows():
    x = unit_rows(np.ones(40) + 1e-3 * random_rows(30, 40))
    distances = np.linalg.norm(x[:, None] - x, axis=2)
    compressed = compress(x).astype(np.float64)
    np.testing.assert_allclose(np.linalg.norm(compressed[:, None] - compressed, axis=2), distances, rtol=0.2, atol=1e-5)
