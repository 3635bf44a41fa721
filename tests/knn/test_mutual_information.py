import numpy as np
import pytest

from coterie.arrays import unit_rows
from coterie.knn.graph import KNNGraph, knn_graph
from coterie.knn.mutual_information import neighbor_mutual_information


def test_mutual_information_equals_its_definition():
    rng = np.random.default_rng(0)
    graph = KNNGraph(rng.integers(0, 15, size=(15, 4)), rng.uniform(-0.5, 1, size=(15, 4)).astype(np.float32))
    labels = rng.integers(0, 3, size=15)
    joint = np.zeros((3, 3))
    for i in range(15):
        for j, similarity in zip(graph.indices[i], graph.similarities[i], strict=True):
            joint[labels[i], labels[j]] += max(similarity, 0) / 2
            joint[labels[j], labels[i]] += max(similarity, 0) / 2
    joint /= joint.sum()
    p = joint.sum(axis=1)
    information = sum(
        joint[c, d] * np.log(joint[c, d] / (p[c] * p[d])) for c in range(3) for d in range(3) if joint[c, d] > 0
    )
    entropy = -(p * np.log(p)).sum()
    assert neighbor_mutual_information(graph, labels, 3) == pytest.approx(information / entropy, rel=1e-5)


def test_it_is_one_for_pure_neighborhoods_and_near_zero_for_random_labels():
    rng = np.random.default_rng(0)
    x = unit_rows(np.repeat(np.eye(4), 50, axis=0) + 0.01 * rng.normal(size=(200, 4)))
    graph = knn_graph(x, 5)
    labels = np.repeat(np.arange(4), 50)
    assert neighbor_mutual_information(graph, labels, 4) == pytest.approx(1.0)
    assert neighbor_mutual_information(graph, rng.permutation(labels), 4) < 0.1


def test_it_is_zero_for_one_cluster_and_for_edges_without_weight():
    graph = KNNGraph(np.array([[1], [0]]), np.ones((2, 1), dtype=np.float32))
    assert neighbor_mutual_information(graph, np.zeros(2, dtype=np.int64), 4) == 0.0
    no_weight = KNNGraph(graph.indices, -graph.similarities)
    assert neighbor_mutual_information(no_weight, np.array([0, 1]), 2) == 0.0
