import json

import numpy as np
import pytest

from coterie.describe.cluster_table import ClusterTable, cluster_table
from coterie.describe.tree import ClusterTree, TreeNode, cluster_tree

WORDS = ["refund <fee>", "invoice fee", "card fee", "goal match", "team match", "coach match"]
CENTERS = np.array([[9, 1], [9, 1.5], [9, 0.5], [1, 9], [1.5, 9], [0.5, 9]], dtype=np.float32)


@pytest.fixture(scope="module")
def texts():
    return [word for i, word in enumerate(WORDS) for _ in range(i + 2)]


@pytest.fixture(scope="module")
def labels():
    return np.repeat(np.arange(6), np.arange(6) + 2)


@pytest.fixture(scope="module")
def table(texts, labels):
    return cluster_table(texts, labels, np.ones(len(texts)), 6)


@pytest.fixture(scope="module")
def tree(texts, labels, table):
    return cluster_tree(CENTERS, table, texts, labels)


def test_similar_clusters_are_in_one_group(tree):
    assert [set(group.clusters) for group in tree.root.children] == [{3, 4, 5}, {0, 1, 2}]
    assert [[leaf.cluster for leaf in group.children] for group in tree.root.children] == [[5, 4, 3], [2, 1, 0]]


def test_sizes_add_up_and_names_are_unique(tree, table):
    for _, node in tree.root.walk():
        assert not node.children or node.size == sum(child.size for child in node.children)
    names = [node.name for _, node in tree.root.walk()]
    assert len(set(names)) == len(names)
    assert {node.cluster: node.name for _, node in tree.root.walk() if node.cluster is not None} == table.names


def test_a_group_has_the_keywords_of_all_its_texts(tree):
    match, fee = tree.root.children
    assert {"coach match", "team", "goal"} == set(match.keywords)
    assert "fee" in " ".join(fee.keywords)


def test_words_bring_clusters_together_where_centers_do_not_decide(texts, labels, table):
    centers = np.eye(6, dtype=np.float32)
    with_words = cluster_tree(centers, table, texts, labels)
    assert sorted(sorted(group.clusters) for group in with_words.root.children) == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("k", [0, 1, 2, 3, 40])
def test_every_cluster_is_in_the_tree_once(k):
    centers = np.random.default_rng(0).standard_normal((k, 4)).astype(np.float32)
    labels = np.arange(k)
    tree = cluster_tree(centers, cluster_table([], labels, np.ones(k), k, with_keywords=False))
    assert sorted(tree.root.clusters) == list(range(k))
    assert tree.root.size == k
    assert max(len(node.children) for _, node in tree.root.walk()) <= max(k // 2, 3)


def test_a_tree_survives_json_and_draws_itself(tree):
    assert ClusterTree.from_dict(json.loads(json.dumps(tree.as_dict()))) == tree
    lines = tree.draw().splitlines()
    assert lines[0] == "All (27)"
    assert lines[1].startswith("├─ ")
    assert lines[2] == "│  ├─ 5 Coach match (7)"
    assert lines[-1].startswith("   └─ 0 Refund")
    assert repr(tree) == tree.draw()


def test_html_is_escaped(tree):
    html = tree.renamed({0: "<script>"})._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert html.count("<details") == 3


def test_a_data_frame_has_a_row_for_each_node(tree):
    frame = tree.to_frame()
    assert frame["level"].tolist() == [0, 1, 2, 2, 2, 1, 2, 2, 2]
    assert frame["cluster"].dropna().tolist() == [5, 4, 3, 2, 1, 0]
    assert frame["parent"].tolist()[2] == frame["name"].tolist()[1]


def test_parts_are_below_their_cluster(tree):
    parts = [TreeNode("small", 1), TreeNode("large", 3)]
    divided = tree.with_parts({2: parts})
    leaf = next(node for _, node in divided.root.walk() if node.cluster == 2)
    assert [part.name for part in leaf.children] == ["large", "small"]
    assert sorted(divided.root.clusters) == [0, 1, 2, 3, 4, 5]


def test_empty_clusters_are_left_out():
    table = ClusterTable(cluster_table(["a"], np.array([1]), np.ones(1), 3))
    assert cluster_tree(np.eye(3, dtype=np.float32), table).root.clusters == [1]
