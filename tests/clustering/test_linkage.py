import numpy as np
import pytest
import torch
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist
from sklearn.metrics import adjusted_rand_score

from coterie import arrays
from coterie.arrays import unit_rows
from coterie.clustering import linkage as linkage_module
from coterie.clustering.edges import Edges
from coterie.clustering.linkage import average_linkage, cut, linkage_labels
from coterie.knn.graph import KNNGraph, knn_graph
from coterie.knn.smoothing import smooth


def random_rows(n, d=6):
    return unit_rows(np.random.default_rng(0).normal(size=(n, d)))


def unequal_clusters(n, k=8, d=24):
    """Unit rows (n, d) and their clusters (n,); cluster i is about i + 1 times as large as cluster 0."""
    rng = np.random.default_rng(0)
    sizes = np.arange(1, k + 1)
    labels = rng.choice(k, size=n, p=sizes / sizes.sum())
    return unit_rows(rng.normal(size=(k, d))[labels] + 0.5 * rng.normal(size=(n, d))), labels


def scipy_labels(x, counts, n_clusters):
    """Labels (N,) and heights by scipy, with each row repeated ``counts`` times."""
    repeated = np.repeat(np.arange(len(x)), counts.astype(int))
    tree = linkage(pdist(x[repeated].astype(np.float64), lambda a, b: max(1 - a @ b, 0)), "average")
    labels = fcluster(tree, n_clusters, "maxclust")
    return labels[np.unique(repeated, return_index=True)[1]], tree[:, 2]


@pytest.mark.parametrize("block", [4, 2048])
@pytest.mark.parametrize("n_clusters", [2, 5, 11])
def test_average_linkage_equals_scipy(monkeypatch, block, n_clusters):
    monkeypatch.setattr(linkage_module, "_BLOCK", block)
    x = random_rows(60)
    merges = average_linkage(x, np.ones(60))
    expected, heights = scipy_labels(x, np.ones(60), n_clusters)
    np.testing.assert_allclose([merge.height for merge in merges], heights, atol=1e-5)
    assert adjusted_rand_score(expected, cut(merges, np.ones(60), n_clusters, min_weight=1)) == 1.0


def test_weights_equal_repeated_rows():
    x = random_rows(30)
    counts = np.random.default_rng(3).integers(1, 4, size=30).astype(float)
    expected, _ = scipy_labels(x, counts, 6)
    assert adjusted_rand_score(expected, cut(average_linkage(x, counts), counts, 6, min_weight=1)) == 1.0


def test_equal_rows_merge_at_height_zero():
    merges = average_linkage(unit_rows(np.ones((9, 4))), np.ones(9))
    np.testing.assert_allclose([merge.height for merge in merges], np.zeros(8), atol=1e-6)


def test_rows_in_small_clusters_have_no_label():
    angle = np.concatenate([np.linspace(0, 0.1, 10), np.linspace(1.5, 1.6, 10), [4.0]])
    x = np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)
    labels = cut(average_linkage(x, np.ones(21)), np.ones(21), 2, min_weight=3)
    np.testing.assert_array_equal(labels, [0] * 10 + [1] * 10 + [-1])


def test_no_cut_with_enough_large_clusters_is_none():
    x = random_rows(6)
    assert cut(average_linkage(x, np.ones(6)), np.ones(6), 4, min_weight=3) is None
    assert linkage_labels(x, torch.ones(6), knn_graph(x, 2), 4, min_cluster_size=0.05, seed=0) is None


def test_linkage_along_edges_approximates_the_exact_linkage(monkeypatch):
    x, expected = unequal_clusters(800)
    x = smooth(x, knn_graph(x, 15), rounds=3)
    graph = knn_graph(x, 15)
    weights = np.ones(800)
    exact = average_linkage(x, weights)
    sizes = []
    update_nearest = linkage_module._update_nearest

    def recorded(mean, *args):
        sizes.append(len(mean))
        update_nearest(mean, *args)

    monkeypatch.setattr(arrays, "EXACT_LIMIT", 100)
    monkeypatch.setattr(linkage_module, "_update_nearest", recorded)
    approximate = average_linkage(x, weights, graph)
    assert max(sizes) <= 100  # all pairs are compared only when few clusters are left
    assert len(approximate) == len(exact) == 799
    labels = cut(approximate, weights, 8, min_weight=2)
    assert adjusted_rand_score(cut(exact, weights, 8, min_weight=2), labels) > 0.95
    assert adjusted_rand_score(expected, labels) > 0.95


def test_equal_rows_merge_in_few_rounds(monkeypatch):
    rounds = []
    nearest = Edges.nearest

    def recorded(self, n):
        rounds.append(n)
        return nearest(self, n)

    monkeypatch.setattr(arrays, "EXACT_LIMIT", 50)
    monkeypatch.setattr(Edges, "nearest", recorded)
    ring = (np.arange(1000)[:, None] + np.arange(1, 6)) % 1000
    graph = KNNGraph(ring, np.ones((1000, 5), dtype=np.float32))
    merges = average_linkage(unit_rows(np.ones((1000, 4))), np.ones(1000), graph)
    assert len(merges) == 999
    assert len(rounds) < 25


def test_components_of_the_graph_are_merged_by_comparing_all_pairs(monkeypatch):
    monkeypatch.setattr(arrays, "EXACT_LIMIT", 4)
    x = unit_rows(np.repeat(np.eye(6), 2, axis=0) + 0.1 * random_rows(12))
    pairs = KNNGraph(np.arange(12)[:, None] ^ 1, np.ones((12, 1), dtype=np.float32))  # six components
    merges = average_linkage(x, np.ones(12), pairs)
    assert len(merges) == 11
    merged = {frozenset((merge.left, merge.right)) for merge in merges[:6]}
    assert merged == {frozenset((i, i + 1)) for i in range(0, 12, 2)}


def test_linkage_initializes_k_means_for_clusters_of_unequal_size(monkeypatch):
    x, expected = unequal_clusters(1500)
    graph = knn_graph(x, 15)
    monkeypatch.setattr(arrays, "EXACT_LIMIT", 300)
    labels = linkage_labels(x, torch.ones(1500), graph, 8, min_cluster_size=0.05, seed=0)
    assert adjusted_rand_score(expected, labels) > 0.95
