import numpy as np
import pytest

from coterie.arrays import unit_rows
from coterie.knn import neighborhood
from coterie.knn.graph import knn_graph
from coterie.knn.neighborhood import WORD_WEIGHT, neighbor_graph, word_features, words_agree
from coterie.words.tfidf_svd import fuse


@pytest.fixture
def vectors(topics):
    """Unit vectors (90, 12) around one center per topic."""
    rng = np.random.default_rng(0)
    _, labels = topics
    return unit_rows(rng.normal(size=(3, 12))[labels] + 0.5 * rng.normal(size=(90, 12)))


def test_word_features_of_texts_only(topics, vectors):
    texts, _ = topics
    assert word_features(texts, 3, seed=0).shape == (90, 20)  # limited by the 21 words of the texts
    assert word_features(vectors, 3, seed=0) is None


def test_words_agree_on_their_own_topics_but_not_on_random_labels(topics, vectors):
    texts, labels = topics
    words = word_features(texts, 3, seed=0)
    graph = knn_graph(vectors, 10)
    shuffled = np.random.default_rng(0).permutation(len(texts))
    assert words_agree(vectors, words, graph, labels, 3, min_ratio=0.45)
    assert not words_agree(vectors, words[shuffled], graph, labels, 3, min_ratio=0.45)


def test_neighbors_are_by_words_too_if_words_agree(topics, vectors):
    texts, labels = topics
    joint = fuse(vectors, word_features(texts, 3, seed=0), WORD_WEIGHT)
    found = neighbor_graph(3 * vectors, texts, labels, 3, k=5, seed=0)
    np.testing.assert_array_equal(found.indices, knn_graph(joint, 5).indices)


def test_neighbors_are_by_embeddings_alone_if_words_disagree(topics, vectors):
    texts, labels = topics
    shuffled = [texts[i] for i in np.random.default_rng(0).permutation(len(texts))]
    expected = knn_graph(vectors, 5).indices
    np.testing.assert_array_equal(neighbor_graph(vectors, shuffled, labels, 3, k=5, seed=0).indices, expected)
    np.testing.assert_array_equal(neighbor_graph(vectors, vectors, labels, 3, k=5, seed=0).indices, expected)


def test_agreement_is_computed_on_a_subsample_of_many_rows(monkeypatch, topics, vectors):
    sizes = []
    original = neighborhood.neighbor_mutual_information

    def recorded(graph, labels, n_clusters):
        sizes.append(len(graph.indices))
        return original(graph, labels, n_clusters)

    texts, labels = topics
    words = word_features(texts, 3, seed=0)
    graph = knn_graph(vectors, 10)
    monkeypatch.setattr(neighborhood, "_COMPARED_ROWS", 60)
    monkeypatch.setattr(neighborhood, "neighbor_mutual_information", recorded)
    assert words_agree(vectors, words, graph, labels, 3, min_ratio=0.45)
    assert sizes == [60, 60]
