import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score

from coterie import arrays
from coterie.clustering import kmeans
from coterie.clustering.kmeans import (
    NearestCenter,
    cluster_means,
    kmeans_centers,
    kmeans_labels,
    nearest_center,
    squared_distances,
)
from coterie.errors import InputError


def unequal_clusters(n, k=6, d=24):
    """Unit rows (n, d) and their clusters (n,); cluster i is about i + 1 times as large as cluster 0."""
    rng = np.random.default_rng(0)
    sizes = np.arange(1, k + 1)
    labels = rng.choice(k, size=n, p=sizes / sizes.sum())
    x = rng.normal(size=(k, d))[labels] + 0.5 * rng.normal(size=(n, d))
    return arrays.unit_rows(x), labels


def test_centers_are_weighted_means_with_the_heaviest_cluster_first():
    h = torch.tensor([[0.0, 0.0], [0.0, 2.0], [10.0, 0.0]])
    centers = kmeans_centers(h, torch.tensor([1, 3, 9]), 2, n_init=5, seed=0)
    np.testing.assert_allclose(centers, [[10, 0], [0, 1.5]])


def test_init_decides_between_two_local_optima():
    h = torch.tensor([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]])
    counts = torch.ones(4)
    for init in ([[0.0, 0.5], [3.0, 0.5]], [[1.5, 0.0], [1.5, 1.0]]):
        centers = kmeans_centers(h, counts, 2, seed=0, init=torch.tensor(init))
        assert sorted(centers.tolist()) == init


def test_labels_are_those_of_the_nearest_centers():
    x, _ = unequal_clusters(300)
    counts = torch.ones(300, dtype=torch.long)
    centers = kmeans_centers(torch.from_numpy(x), counts.double(), 6, n_init=2, seed=0)
    labels = kmeans_labels(x, counts, 6, n_init=2, seed=0)
    np.testing.assert_array_equal(labels, nearest_center(torch.from_numpy(x), centers))


@pytest.mark.parametrize("init", [None, torch.eye(3, 120)])
def test_centers_of_word_counts_are_the_same_from_a_sparse_matrix(monkeypatch, init):
    rng = np.random.default_rng(0)
    topic = rng.integers(3, size=300)
    h = np.zeros((300, 120), dtype=np.float32)
    h[np.arange(300), topic] = 3  # one word names the topic
    h[np.arange(300), rng.integers(3, 120, size=300)] = 1
    counts = torch.from_numpy(rng.integers(1, 4, size=300))
    found = kmeans_centers(torch.from_numpy(h), counts, 3, n_init=3, seed=0, init=init)
    assert isinstance(kmeans._without_zeros(torch.from_numpy(h)), csr_array)
    monkeypatch.setattr(kmeans, "_SPARSE", 0)
    dense = kmeans_centers(torch.from_numpy(h), counts, 3, n_init=3, seed=0, init=init)
    torch.testing.assert_close(found, dense)
    expected = [np.average(h[topic == k], axis=0, weights=counts[topic == k]) for k in range(3)]
    np.testing.assert_allclose(found[found.argmax(dim=1).argsort()], expected, atol=1e-5)


def test_fewer_distinct_rows_than_clusters_are_refused():
    with pytest.raises(InputError, match="3 clusters were requested, but there are fewer distinct embeddings"):
        kmeans_centers(torch.eye(2).repeat(5, 1), torch.ones(10), 3, seed=0)


def test_many_rows_are_clustered_from_a_subsample(monkeypatch):
    monkeypatch.setattr(arrays, "EXACT_LIMIT", 300)
    x, expected = unequal_clusters(3000)
    labels = kmeans_labels(x, torch.ones(3000), 6, n_init=5, seed=0)
    assert adjusted_rand_score(expected, labels) > 0.95
    assert (np.diff(np.bincount(labels)) <= 0).all()  # largest first, by all rows


def test_all_rows_are_used_if_the_subsample_has_too_few_distinct_rows(monkeypatch):
    monkeypatch.setattr(arrays, "EXACT_LIMIT", 300)
    h = torch.zeros(2000, 3)
    h[-4:] = torch.eye(4, 3) + 1
    centers = kmeans_centers(h, torch.ones(2000), 4, seed=0)
    assert len(torch.unique(centers, dim=0)) == 4
    with pytest.raises(InputError, match="fewer distinct embeddings"):
        kmeans_centers(h, torch.ones(2000), 7, seed=0)


def test_squared_distances_equal_their_definition():
    generator = torch.Generator().manual_seed(0)
    h = torch.randn(7, 5, generator=generator)
    mu = torch.randn(3, 5, generator=generator)
    expected = (h[:, None].double() - mu.double()).square().sum(dim=2)
    np.testing.assert_allclose(squared_distances(h, mu), expected, atol=1e-12)
    assert (squared_distances(h, h).diagonal() >= 0).all()


@pytest.mark.parametrize("chunk_rows", [64, 65_536])
def test_chunks_of_rows_do_not_change_the_result(monkeypatch, chunk_rows):
    monkeypatch.setattr(arrays, "_CHUNK_ROWS", chunk_rows)
    x, labels = unequal_clusters(500)
    h = torch.from_numpy(x)
    counts = torch.arange(500) % 3 + 1
    means = cluster_means(h, counts, labels, 6)
    expected = [np.average(x[labels == k], axis=0, weights=counts[labels == k]) for k in range(6)]
    np.testing.assert_allclose(means, expected, atol=1e-6)
    distances = squared_distances(h, means)
    np.testing.assert_array_equal(nearest_center(h, means), distances.argmin(dim=1))
    assigner = NearestCenter(6, 24)
    assigner.place(means, h)
    nearest, second = distances.sort(dim=1).values[:, :2].T
    assert assigner.scale == (second - nearest).median() / 2


def test_soft_assignment_equals_its_equation():
    h = torch.tensor([[0.0], [1.0], [4.0], [6.0]])
    assigner = NearestCenter(2, 1)
    assigner.place(torch.tensor([[0.5], [5.0]]), h)
    # squared distances: 0.25 and 25, 0.25 and 16, 12.25 and 1, 30.25 and 1; gaps 24.75, 15.75, 11.25, 29.25
    s = 15.75 / 2  # torch's median of an even number of values is the lower middle one
    q = 1 / (1 + np.exp(-np.array([24.75, 15.75, -11.25, -29.25]) / s))
    np.testing.assert_allclose(assigner(h), np.stack([q, 1 - q], axis=1), rtol=1e-6)


def test_soft_assignment_to_one_center():
    assigner = NearestCenter(1, 2)
    assigner.place(torch.zeros(1, 2), torch.eye(2))
    np.testing.assert_array_equal(assigner(torch.eye(2)), np.ones((2, 1)))
