"""What changes above 50,000 rows, with the border moved down to where a test can afford it."""

import sys
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from coterie.errors import InputError
from coterie.evaluation.metrics import agreement
from coterie.graph import descent, evidence, linkage, sample, words
from coterie.graph import nearest as nearest_module
from coterie.graph.descent import descend
from coterie.graph.groups import by_kmeans, by_linkage, means_of
from coterie.graph.linkage import average_linkage, cut
from coterie.graph.nearest import Links, SlowWarning, nearest
from coterie.graph.smoothing import compress, smooth, unit_rows
from coterie.graph.words import word_vectors
from coterie.heads.centers import NearestCenter, kmeans_centers, nearest_center, squared_distances
from coterie.heads.memory import Memory
from coterie.methods.neighbours import Neighbours
from coterie.progress import listening


@pytest.fixture
def small_border(monkeypatch):
    monkeypatch.setattr(sample, "ALL", 300)


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(sample, "_PART", 64)


def groups(n, k=6, noise=0.5, d=24, seed=0):
    """Groups of uneven size, the second twice the first and so on."""
    rng = np.random.default_rng(seed)
    share = np.arange(1, k + 1) / np.arange(1, k + 1).sum()
    topic = rng.choice(k, size=n, p=share)
    return unit_rows(rng.normal(size=(k, d))[topic] + noise * rng.normal(size=(n, d))), topic


def test_a_sample_is_all_rows_up_to_the_border_and_the_same_ones_above_it(small_border):
    np.testing.assert_array_equal(sample.stand_ins(300), np.arange(300))
    above = sample.stand_ins(301)
    assert len(np.unique(above)) == 300
    assert (np.diff(above) > 0).all()
    np.testing.assert_array_equal(sample.stand_ins(301), above)


def test_parts_cover_every_row_once(small_parts):
    seen = np.concatenate([np.arange(1000)[rows] for rows in sample.parts(1000)])
    np.testing.assert_array_equal(seen, np.arange(1000))


def test_nearly_all_nearest_are_found_and_never_the_row_itself():
    x, _ = groups(6000, k=20)
    exact = nearest(x, 10)
    rows, cosine = descend(x, 10)
    assert (rows != np.arange(6000)[:, None]).all()
    assert (np.diff(cosine, axis=1) <= 0).all()
    np.testing.assert_allclose(cosine, np.einsum("bd,bkd->bk", x, x[rows]), atol=1e-5)
    found = np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(rows, exact.rows, strict=True)])
    assert found > 0.9


def test_what_is_found_is_the_same_every_time_whatever_the_threads():
    numba = pytest.importorskip("numba")
    x, _ = groups(3000)
    before, answers = numba.get_num_threads(), []
    try:
        for threads in (1, before, before):
            numba.set_num_threads(threads)
            answers.append(descend(x, 5)[0])
    finally:
        numba.set_num_threads(before)
    np.testing.assert_array_equal(answers[1], answers[0])
    np.testing.assert_array_equal(answers[2], answers[0])


def test_where_too_few_are_found_links_weigh_nothing():
    x, _ = groups(4)
    rows = np.array([[0, 2, 1], [3, 1, -1], [-1, -1, -1], [0, 1, 2]])  # a row itself may be missing, or not the first
    cosine = np.array([[1.0, 0.9, 0.8], [0.7, 1.0, np.inf], [0, 0, 0], [0.6, 0.5, 0.4]], dtype=np.float32)
    rows, cosine = descent._others(rows, cosine, 2)
    np.testing.assert_array_equal(rows, [[2, 1], [3, 1], [2, 2], [0, 1]])
    np.testing.assert_array_equal(cosine, np.float32([[0.9, 0.8], [0.7, 0], [0, 0], [0.6, 0.5]]))
    assert np.isfinite(smooth(x, Links(rows, cosine), rounds=2)).all()


def test_rounds_are_told_to_a_listener_and_nothing_is_printed(capsys):
    told = []

    @contextmanager
    def listener(label, total):
        yield lambda done, note="": told.append((label, total, done))

    x, _ = groups(3000)
    with listening(listener):
        heard = descend(x, 5)
    assert sum(done for *_, done in told) >= 1
    assert {(label, total) for label, total, _ in told} == {("Finding neighbours", 12)}
    np.testing.assert_array_equal(descend(x, 5)[0], heard[0])
    assert capsys.readouterr() == ("", "")


def test_equal_rows_far_more_often_than_there_are_neighbours():
    x = unit_rows(np.repeat(np.eye(3, 16), [500, 500, 200], axis=0))
    rows, cosine = descend(x, 15)
    assert (rows != np.arange(1200)[:, None]).all()
    np.testing.assert_allclose(cosine, 1, atol=1e-5)


def test_just_above_the_border_neighbours_are_nearly_found(small_border, monkeypatch):
    asked = []
    monkeypatch.setattr(nearest_module, "descend", lambda x, k: asked.append(len(x)) or descend(x, k))
    nearest(groups(300)[0], 5)
    assert asked == []
    assert nearest(groups(301)[0], 5).rows.shape == (301, 5)
    assert asked == [301]


def test_without_the_package_everything_is_compared_and_it_is_said_how_to_install_it(small_border, monkeypatch):
    monkeypatch.setattr(descent, "find_spec", lambda _: None)
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    x, _ = groups(400)
    with pytest.warns(SlowWarning, match=r"All 400 texts .* pip install 'coterie\[scale\]'"):
        slowly = nearest(x, 5)
    similarity = x @ x.T
    np.fill_diagonal(similarity, -1)
    np.testing.assert_array_equal(slowly.rows, np.argsort(-similarity, axis=1)[:, :5])


def test_a_new_text_walks_along_the_links_of_very_many_to_nearly_the_nearest(small_border):
    x, topic = groups(4300, k=20, noise=0.3)
    known, new = torch.from_numpy(x[:4000]), torch.from_numpy(x[4000:])
    memory = Memory(24, 10)
    memory.remember(known, torch.from_numpy(topic[:4000]), torch.from_numpy(nearest(x[:4000], 10).rows))
    walked, exact = memory._search(new, 10), memory._compare(new, 10)
    assert torch.equal(walked[3], memory._walk(new[3], 10))
    found = np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(walked, exact, strict=True)])
    assert found > 0.9
    torch.testing.assert_close(memory.vote(new[7:8], 20), memory.vote(new, 20)[7:8], rtol=0, atol=0)
    np.testing.assert_array_equal(memory.vote(known, 20).argmax(dim=1), topic[:4000])
    assert (memory.vote(new, 20).argmax(dim=1).numpy() == topic[4000:]).mean() > 0.97
    assert memory._search(new[:0], 10).shape == (0, 10)


def test_parts_change_nothing(small_parts):
    x, topic = groups(500)
    h, counts = torch.from_numpy(x), torch.arange(500) % 3 + 1
    mu = torch.from_numpy(np.stack([x[topic == k].mean(axis=0) for k in range(6)]))
    np.testing.assert_array_equal(nearest_center(h, mu), squared_distances(h, mu).argmin(dim=1))
    weighted = np.stack([np.average(x[topic == k], axis=0, weights=counts[topic == k]) for k in range(6)])
    np.testing.assert_allclose(means_of(h, counts, topic, 6), weighted, atol=1e-6)
    center = NearestCenter(6, 24)
    center.place(mu, h)
    two = squared_distances(h, mu).sort(dim=1).values[:, :2]
    assert center.scale == (two[:, 1] - two[:, 0]).median() / 2
    np.testing.assert_allclose(np.linalg.norm(unit_rows(3 * x), axis=1), 1, atol=1e-6)
    small = compress(x, keep=1.0)
    np.testing.assert_allclose(small @ small.T, x @ x.T, atol=1e-4)


def test_kmeans_from_a_sample_ends_where_kmeans_on_everything_ends(small_border):
    x, topic = groups(3000)
    by_sample = by_kmeans(x, torch.ones(3000), 6, n_init=5, seed=0)
    assert adjusted_rand_score(topic, by_sample) > 0.95
    assert (np.diff(np.bincount(by_sample)) <= 0).all()  # largest first, counted over all rows


def test_kmeans_asks_all_rows_where_a_sample_has_too_few_different_ones(small_border):
    rows = torch.zeros(2000, 3)
    rows[-4:] = torch.eye(4, 3) + 1
    mu = kmeans_centers(rows, torch.ones(2000), 4, seed=0)
    assert len(torch.unique(mu, dim=0)) == 4
    with pytest.raises(InputError, match="tells fewer texts apart"):
        kmeans_centers(rows, torch.ones(2000), 7, seed=0)


def test_linkage_along_links_finds_the_tree_of_comparing_all(monkeypatch):
    x, topic = groups(800, k=8)
    x = smooth(x, nearest(x, 15), rounds=3)
    links, ones = nearest(x, 15), np.ones(800)
    exact = average_linkage(x, ones)
    monkeypatch.setattr(sample, "ALL", 100)
    asked = []
    monkeypatch.setattr(linkage, "_find_nearest", lambda *a, f=linkage._find_nearest: asked.append(len(a[0])) or f(*a))
    along = average_linkage(x, ones, links)
    assert max(asked) <= 100  # never more are compared with all
    assert len(along) == len(exact) == 799
    assert adjusted_rand_score(cut(exact, ones, 8, least=2), cut(along, ones, 8, least=2)) > 0.95
    assert adjusted_rand_score(topic, cut(along, ones, 8, least=2)) > 0.95


def test_rows_that_are_all_equal_merge_in_a_few_rounds(monkeypatch):
    monkeypatch.setattr(sample, "ALL", 50)
    x = unit_rows(np.ones((1000, 4)))
    rounds = []
    monkeypatch.setattr(linkage, "_nearest_linked", lambda *a, f=linkage._nearest_linked: rounds.append(1) or f(*a))
    ring = (np.arange(1000)[:, None] + np.arange(1, 6)) % 1000
    merges = average_linkage(x, np.ones(1000), Links(ring, np.ones((1000, 5), dtype=np.float32)))
    assert len(merges) == 999
    assert len(rounds) < 25


def test_parts_of_the_graph_that_are_not_linked_are_compared_with_all(monkeypatch):
    monkeypatch.setattr(sample, "ALL", 4)
    x = unit_rows(np.repeat(np.eye(6, 6), 2, axis=0) + 0.1 * groups(12, d=6)[0])
    links = Links(np.arange(12)[:, None] ^ 1, np.ones((12, 1), dtype=np.float32))  # in pairs: six groups are left
    merges = average_linkage(x, np.ones(12), links)
    assert len(merges) == 11
    assert {frozenset((merge.left, merge.right)) for merge in merges[:6]} == {
        frozenset((i, i + 1)) for i in range(0, 12, 2)
    }


def test_linkage_starts_uneven_clusters_of_very_many_rows_well(small_border):
    x, topic = groups(3000, k=8)
    linked = by_linkage(x, torch.ones(3000), nearest(x, 15), 8, least_size=0.05, seed=0)
    assert agreement(topic, linked)["acc"] > 0.95


def test_words_of_very_many_texts_are_learnt_from_a_sample(small_border, small_parts, monkeypatch):
    kinds = (("red apple pie", "red apple cake"), ("blue whale song", "blue whale film"))
    texts = [kinds[i % 2][i // 2 % 2] for i in range(2000)] + ["nothing known"]
    read = []
    counter = words.TfidfVectorizer
    monkeypatch.setattr(counter, "fit", lambda self, seen, f=counter.fit: read.append(len(seen)) or f(self, seen))
    x = word_vectors(texts, width=100, seed=0)
    assert read == [1200]  # four times as many as are compared
    assert x.shape[0] == 2001
    assert x[0] @ x[2] > 0.5 > x[0] @ x[1]
    assert word_vectors([str(i) for i in range(1300)], width=10, seed=0) is not None  # by characters


@pytest.mark.parametrize(("n", "least"), [(301, 0.9), (2500, 0.97)])
def test_very_many_vectors_are_grouped_and_found_again(small_border, small_parts, n, least):
    x, topic = groups(n)
    model = Neighbours(n_clusters=6, encoder="precomputed").fit(x)
    assert agreement(topic, model.labels_)["acc"] > least
    np.testing.assert_array_equal(model.predict(x), model.labels_)
    again = Neighbours(n_clusters=6, encoder="precomputed").fit(x)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.confidence_, model.confidence_)


def test_very_many_texts_are_grouped_with_their_words(small_border, monkeypatch):
    asked = []
    monkeypatch.setattr(evidence, "known_by", lambda links, *_: asked.append(len(links.rows)) or 1.0)
    kinds = ("apple pear plum grape", "whale seal shark squid", "piano drum flute harp")
    rng = np.random.default_rng(0)
    topic = rng.integers(0, 3, size=600)
    texts = [f"{' '.join(rng.choice(kinds[t].split(), 2))} {i}" for i, t in enumerate(topic)]
    labels = Neighbours(n_clusters=3, encoder="tfidf").fit_predict(texts)
    assert adjusted_rand_score(topic, labels) > 0.9
    assert asked == [300, 300]  # judged on the sample, by words and by vectors
