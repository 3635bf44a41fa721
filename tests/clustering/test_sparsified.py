import numpy as np
import pytest
from scipy.spatial.distance import squareform

from coterie.clustering import sparsified
from coterie.clustering.iterative_classification import classify_iteratively
from coterie.clustering.sparsified import FAR, sparsified_distances


def slow_distances(e, n_kept):
    """Return the distances (N, N) by loops that read like the definition."""
    n = len(e)
    s = np.array([[e[i] @ e[j] for j in range(n)] for i in range(n)])
    others = [[s[i, j] for j in range(n) if j != i] for i in range(n)]
    mean = [sum(row) / n for row in others]
    deviation = [np.sqrt(sum(x * x for x in row) / n - m * m) for row, m in zip(others, mean, strict=True)]
    score = {
        (i, j): max((s[i, j] - mean[i]) / deviation[i], (s[i, j] - mean[j]) / deviation[j])
        for i in range(n)
        for j in range(i + 1, n)
    }
    kept = sorted(score, key=score.get, reverse=True)[:n_kept]
    d = np.full((n, n), FAR)
    np.fill_diagonal(d, 0)
    for i, j in kept:
        d[i, j] = d[j, i] = 1 - s[i, j]
    return d


@pytest.mark.parametrize("n_kept", [1, 7, 40])
def test_kept_and_far_pairs_are_those_of_a_slow_loop(monkeypatch, n_kept):
    monkeypatch.setattr(sparsified, "_ROWS", 4)  # several blocks
    e = np.random.default_rng(0).normal(size=(11, 5)).astype(np.float32)
    e /= np.linalg.norm(e, axis=1, keepdims=True)
    d = squareform(sparsified_distances(e, n_kept))
    np.testing.assert_allclose(d, slow_distances(e.astype(float), n_kept), atol=1e-5)
    assert (d[np.triu_indices(11, 1)] < FAR).sum() == n_kept


def test_iterative_classification_repairs_wrong_labels(topics):
    texts, true = topics
    wrong = true.copy()
    wrong[[0, 3, 7]] = (wrong[[0, 3, 7]] + 1) % 3
    h = np.zeros((90, 2), dtype=np.float32)
    labels = classify_iteratively(texts, h, wrong, 3, 5, 0)
    assert (labels == true).sum() > (wrong == true).sum()
    np.testing.assert_array_equal(labels, classify_iteratively(texts, h, wrong, 3, 5, 0))


@pytest.mark.parametrize("items", [None, ["a", "?"] * 15], ids=["vectors", "texts without a word"])
def test_items_without_words_are_classified_by_their_vectors(items):
    h = np.repeat(np.eye(3, dtype=np.float32), 10, axis=0) + 0.01 * np.arange(30, dtype=np.float32)[:, None] / 30
    true = np.repeat([0, 1, 2], 10)
    wrong = true.copy()
    wrong[4] = 2
    np.testing.assert_array_equal(classify_iteratively(items or h, h, wrong, 3, 20, 0), true)
