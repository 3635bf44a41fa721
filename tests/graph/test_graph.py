import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist
from sklearn.metrics import adjusted_rand_score

from coterie.graph import linkage as ours
from coterie.graph import nearest as nearest_module
from coterie.graph.information import known_by
from coterie.graph.linkage import average_linkage, cut
from coterie.graph.nearest import Links, nearest
from coterie.graph.smoothing import compress, smooth, unit_rows
from coterie.graph.words import fuse, word_vectors


def rows(n, d=6, seed=0):
    return unit_rows(np.random.default_rng(seed).normal(size=(n, d)))


@pytest.mark.parametrize("block", [3, 7, 1024])
def test_nearest_equals_a_full_sort_whatever_the_block(monkeypatch, block):
    monkeypatch.setattr(nearest_module, "_BLOCK", block)
    x = rows(20)
    similarity = x @ x.T
    np.fill_diagonal(similarity, -np.inf)
    expected = np.argsort(-similarity, axis=1)[:, :4]
    links = nearest(x, 4)
    np.testing.assert_array_equal(links.rows, expected)
    np.testing.assert_allclose(links.cosine, np.take_along_axis(similarity, expected, 1), atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_fewer_texts_than_neighbours(n):
    assert nearest(rows(n), 15).rows.shape == (n, n - 1)
    assert smooth(rows(n), nearest(rows(n), 15), rounds=2).shape == (n, 6)


def test_smoothing_equals_its_equation():
    x = rows(12)
    links = nearest(x, 3)
    expected = x.astype(np.float64)
    for _ in range(2):
        before = expected.copy()
        for i in range(12):
            total, weight = before[i].copy(), 1.0
            for j, cosine in zip(links.rows[i], links.cosine[i], strict=True):
                w = max(float(cosine), 0.0) ** 3
                total, weight = total + w * before[j], weight + w
            expected[i] = total / weight
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(smooth(x, links, rounds=2, power=3), expected, atol=1e-5)


def test_no_rounds_change_nothing():
    x = rows(10)
    np.testing.assert_allclose(smooth(x, nearest(x, 3), rounds=0), x, atol=1e-6)


def test_compress_keeps_the_angles():
    x = unit_rows(np.random.default_rng(0).normal(size=(50, 3)) @ np.random.default_rng(1).normal(size=(3, 40)))
    small = compress(x, keep=0.9999)
    assert small.shape == (50, 4)
    np.testing.assert_allclose(small @ small.T, x @ x.T, atol=1e-3)


def test_compress_keeps_small_differences_between_rows_that_are_nearly_one():
    x = unit_rows(np.ones(40) + 1e-3 * rows(30, 40))
    differences = np.linalg.norm(x[:, None] - x, axis=2)
    small = compress(x).astype(np.float64)
    np.testing.assert_allclose(np.linalg.norm(small[:, None] - small, axis=2), differences, rtol=0.2, atol=1e-5)


def fully_compared(x, counts, n_groups):
    """Average linkage of scipy on every text as often as it counts."""
    many = np.repeat(np.arange(len(x)), counts.astype(int))
    tree = linkage(pdist(x[many].astype(np.float64), lambda a, b: max(1 - a @ b, 0)), "average")
    labels = fcluster(tree, n_groups, "maxclust")
    return labels[np.unique(many, return_index=True)[1]], tree[:, 2]


@pytest.mark.parametrize("block", [4, 2048])
@pytest.mark.parametrize("n_groups", [2, 5, 11])
def test_average_linkage_equals_scipy(monkeypatch, block, n_groups):
    monkeypatch.setattr(ours, "_BLOCK", block)
    x, counts = rows(60), np.ones(60)
    merges = average_linkage(x, counts)
    expected, heights = fully_compared(x, counts, n_groups)
    np.testing.assert_allclose([merge.height for merge in merges], heights, atol=1e-5)
    assert adjusted_rand_score(expected, cut(merges, counts, n_groups, least=1)) == 1.0


def test_a_text_counts_as_often_as_it_occurs():
    x, counts = rows(30), np.random.default_rng(3).integers(1, 4, size=30).astype(float)
    expected, _ = fully_compared(x, counts, 6)
    # equal texts are at distance 0 in scipy's tree, so both cut into the same 6 groups
    assert adjusted_rand_score(expected, cut(average_linkage(x, counts), counts, 6, least=1)) == 1.0


def test_equal_rows_only():
    x = unit_rows(np.ones((9, 4)))
    merges = average_linkage(x, np.ones(9))
    assert len(merges) == 8
    assert all(merge.height == pytest.approx(0, abs=1e-6) for merge in merges)


def test_small_groups_are_left_out_of_a_cut():
    angle = np.concatenate([np.linspace(0, 0.1, 10), np.linspace(1.5, 1.6, 10), [3.0]])
    x = np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)
    labels = cut(average_linkage(x, np.ones(21)), np.ones(21), 2, least=3)
    assert set(labels[:10]) != set(labels[10:20])
    assert labels[20] in (-1, labels[10])


def test_no_level_with_that_many_large_groups_is_none():
    assert cut(average_linkage(rows(6), np.ones(6)), np.ones(6), 4, least=3) is None


def test_what_links_know_equals_its_definition():
    rng = np.random.default_rng(0)
    links = Links(rng.integers(0, 15, size=(15, 4)), rng.uniform(-0.5, 1, size=(15, 4)).astype(np.float32))
    labels = rng.integers(0, 3, size=15)
    joint = np.zeros((3, 3))
    for i in range(15):
        for j, cosine in zip(links.rows[i], links.cosine[i], strict=True):
            joint[labels[i], labels[j]] += max(cosine, 0) / 2
            joint[labels[j], labels[i]] += max(cosine, 0) / 2
    joint /= joint.sum()
    p = joint.sum(axis=1)
    information = sum(
        joint[c, d] * np.log(joint[c, d] / (p[c] * p[d])) for c in range(3) for d in range(3) if joint[c, d] > 0
    )
    assert known_by(links, labels, 3) == pytest.approx(information / -(p * np.log(p)).sum(), rel=1e-5)


def test_neighbours_in_one_cluster_know_everything_and_random_ones_nothing():
    x = np.repeat(np.eye(4, dtype=np.float32), 50, axis=0) + 0.01 * rows(200, 4)
    links, topic = nearest(unit_rows(x), 5), np.repeat(np.arange(4), 50)
    assert known_by(links, topic, 4) == pytest.approx(1.0)
    assert known_by(links, np.random.default_rng(0).permutation(topic), 4) < 0.1
    assert known_by(links, np.zeros(200, dtype=np.int64), 4) == 0.0


def test_fused_similarity_is_the_weighted_mean():
    a, b = rows(5), rows(5, 9, seed=1)
    np.testing.assert_allclose(fuse(a, b, 0.3) @ fuse(a, b, 0.3).T, 0.7 * a @ a.T + 0.3 * b @ b.T, atol=1e-5)


def test_words_of_texts_that_share_them():
    texts = ["red apple pie", "red apple cake", "blue whale song", "blue whale film"] * 3
    x = word_vectors(texts, width=100, seed=0)
    assert x[0] @ x[1] > 0.5 > x[0] @ x[2]


@pytest.mark.parametrize(
    "texts", [["天気がいい", "天気が悪い", "電車が遅れた", "電車が混んだ"], ["aaab", "aaac", "xxxy", "xxxz"]]
)
def test_texts_without_spaces_are_read_by_their_characters(texts):
    x = word_vectors(texts, width=10, seed=0)
    assert x[0] @ x[1] > x[0] @ x[2]


def test_nothing_shared_is_none():
    assert word_vectors(["a", "b", "c"], width=10, seed=0) is None
