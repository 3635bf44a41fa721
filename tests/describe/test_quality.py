import numpy as np
import pytest

from coterie.describe.quality import Quality, cluster_quality


def blobs(*centers, n=40, noise=0.05, seed=0):
    """``n`` vectors around each center, and the index of their center."""
    rng = np.random.default_rng(seed)
    h = np.repeat(np.array(centers, dtype=float), n, axis=0)
    h += noise * rng.standard_normal(h.shape)
    return h.astype(np.float32), np.repeat(np.arange(len(centers)), n)


def quality(h, labels, k=None, counts=None):
    counts = np.ones(len(h), dtype=np.int64) if counts is None else counts
    return cluster_quality(h, counts, labels, k or labels.max() + 1)


def test_tight_and_separate_clusters_are_cohesive_and_stable():
    h, labels = blobs([1, 0, 0], [0, 1, 0], [0, 0, 1])
    for cluster in quality(h, labels):
        assert cluster.cohesion > 0.98
        assert cluster.stability == 1


def test_a_cluster_that_is_mixed_with_another_is_unstable():
    h, labels = blobs([1, 0, 0], [0, 1, 0])
    h, labels = np.concatenate([h, h[:40]]) + 1e-3, np.concatenate([labels, np.full(40, 2)])
    h[80:] += 0.01 * np.random.default_rng(1).standard_normal((40, 3)).astype(np.float32)
    one, other, twin = quality(h, labels)
    assert other.stability == 1
    assert max(one.stability, twin.stability) < 0.8


def test_the_nearest_cluster_has_the_most_similar_mean():
    h, labels = blobs([1, 0, 0], [0.8, 0.6, 0], [0, 0.5, 1])
    assert [cluster.nearest for cluster in quality(h, labels)] == [1, 0, 1]


def test_cohesion_is_the_mean_cosine_with_duplicates_counted():
    h, labels, counts = np.eye(2, dtype=np.float32), np.zeros(2, dtype=np.int64), np.array([3, 1])
    mean = np.array([3, 1]) / np.sqrt(10)
    assert quality(h, labels, counts=counts)[0].cohesion == pytest.approx((3 * mean[0] + mean[1]) / 4)


def test_empty_clusters_and_items_without_a_cluster_do_not_count():
    h, labels = blobs([1, 0, 0], [0, 1, 0])
    labels[labels == 1] = 3
    odd = np.concatenate([labels, [-1, -1]])
    found = quality(np.concatenate([h, -h[:2]]), odd, 4)
    assert found[1] is None
    assert found[2] is None
    assert found == quality(h, labels, 4)
    assert (found[0].nearest, found[3].nearest) == (3, 0)


def test_a_single_item_has_no_neighbors_to_confirm_it():
    assert quality(np.array([[3, 0]], dtype=np.float32), np.zeros(1, dtype=np.int64)) == [Quality(1.0, None, 0.0)]


def test_quality_is_deterministic():
    h, labels = blobs([1, 0, 0], [0.9, 0.3, 0], noise=0.3)
    assert quality(h, labels) == quality(h, labels)


def test_without_any_clustered_item_no_cluster_has_a_quality():
    h, labels = blobs([1, 0, 0], [0, 1, 0])
    assert quality(h, np.full_like(labels, -1), k=2) == [None, None]
