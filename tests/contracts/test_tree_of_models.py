import numpy as np
import pytest

import coterie
from coterie.errors import InputError


@pytest.fixture(scope="module")
def model(topics):
    return coterie.KMeans(n_clusters=2, encoder="tfidf").fit(topics[0])


def test_the_tree_is_saved_with_the_model(model, topics, tmp_path):
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    assert loaded.tree() == model.tree()
    (large, small) = model.tree().root.children
    assert large.size + small.size == 90
    with pytest.raises(InputError, match="A loaded model has no texts"):
        loaded.tree(split=0)
    assert loaded.tree(topics[0], split=0) == model.tree(split=0)


def test_a_cluster_of_two_topics_is_divided_into_both(model, topics):
    merged = max(model.describe(), key=lambda row: row.size)
    node = next(node for _, node in model.tree(split=merged.cluster).root.walk() if node.cluster == merged.cluster)
    assert len(node.children) == 2
    assert {part.size for part in node.children} == {30}
    assert len({part.name for part in node.children}) == 2
    assert len(model.tree(split=[merged.cluster], n_parts=3).root.children) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"split": 7}, "no cluster 7"),
        ({"split": 0, "n_parts": 1}, "at least 2"),
        ({"split": 0, "n_parts": 89}, "too few"),
    ],
)
def test_what_cannot_be_divided_is_refused(model, arguments, message):
    with pytest.raises(InputError, match=message):
        model.tree(**arguments)


def test_a_model_without_a_stored_tree_has_one(model):
    stored = model.tree()
    del model.tree_
    assert sorted(model.tree().root.clusters) == sorted(stored.root.clusters)
    model.tree_ = stored


def test_clusters_of_vectors_have_the_names_of_their_texts_in_the_tree(topics):
    vectors = coterie.make_encoder("tfidf").fit(topics[0]).embed(topics[0])
    model = coterie.KMeans(n_clusters=3, encoder="precomputed").fit(topics[0], vectors=vectors)
    in_tree = {node.cluster: node.name for _, node in model.tree().root.walk() if node.cluster is not None}
    assert in_tree == model.clusters_.names
    assert not any(name.startswith("Cluster") for name in in_tree.values())


def test_a_cluster_of_a_few_distinct_items_is_divided_into_as_many_at_most():
    vectors = np.repeat([[1, 0, 0], [0, 1, 0], [0, 0.8, 0.6], [0, 0.6, 0.8]], [20, 10, 10, 10], axis=0)
    model = coterie.KMeans(n_clusters=2, encoder="precomputed").fit(vectors)
    same, others = model.labels_[0], model.labels_[-1]
    nodes = {node.cluster: node for _, node in model.tree(split=others).root.walk() if node.cluster is not None}
    assert 2 <= len(nodes[others].children) <= 3
    with pytest.raises(InputError, match="has 1 distinct item here, too few"):
        model.tree(split=same)
