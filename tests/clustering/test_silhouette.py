from math import dist

import numpy as np
import pytest

from coterie.clustering.silhouette import cosine_silhouette, silhouette


def slow_silhouette(x, labels, distance):
    scores = []
    for i, row in enumerate(x):
        by_cluster = {c: [distance(row, x[j]) for j in range(len(x)) if labels[j] == c and j != i] for c in set(labels)}
        own = by_cluster.pop(labels[i])
        a = sum(own) / max(len(own), 1)
        b = min(sum(d) / len(d) for d in by_cluster.values())
        scores.append((b - a) / max(a, b) if own else 0)  # 0 for the only row of a cluster
    return sum(scores) / len(scores)


def cosine_distance(a, b):
    return 1 - a @ b / (np.linalg.norm(a) * np.linalg.norm(b))


def random_clusters(n=60, n_clusters=4):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 3)), rng.permutation(np.arange(n) % n_clusters)


def test_silhouette_equals_slow_loop():
    x, labels = random_clusters()
    assert silhouette(x, labels) == pytest.approx(slow_silhouette(x, labels.tolist(), dist))
    cosine = silhouette(x, labels, metric="cosine")
    assert cosine == pytest.approx(slow_silhouette(x, labels.tolist(), cosine_distance))


def test_silhouette_of_a_sample_is_the_silhouette_of_the_drawn_rows():
    x, labels = random_clusters(200)
    rows = np.random.default_rng(3).choice(200, 50, replace=False)
    assert silhouette(x, labels, sample=50, seed=3) == silhouette(x[rows], labels[rows])
    assert silhouette(x, labels, sample=50, seed=3) != silhouette(x, labels, sample=50, seed=4)


def test_cosine_silhouette_equals_slow_loop():
    x, labels = random_clusters()
    assert cosine_silhouette(x, labels) == pytest.approx(slow_silhouette(x, labels.tolist(), cosine_distance))


def test_cosine_silhouette_uses_at_most_4000_rows():
    x, labels = random_clusters(4100)
    rows = np.random.default_rng(0).permutation(4100)[:4000]
    assert cosine_silhouette(x, labels) == silhouette(x[rows], labels[rows], metric="cosine")


@pytest.mark.parametrize("labels", [np.zeros(60, dtype=int), np.arange(60)], ids=["one cluster", "one row per cluster"])
def test_undefined_silhouettes(labels):
    x, _ = random_clusters()
    assert silhouette(x, labels) is None
    assert cosine_silhouette(x, labels) == -1
