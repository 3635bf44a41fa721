import hashlib

import numpy as np
import pytest
import torch

import coterie
from coterie import arrays
from coterie.arrays import unit_rows
from coterie.closing import labels_of
from coterie.contracts import Corpus
from coterie.encoders.encoder import Encoder
from coterie.errors import InputError, UnreadableTextWarning
from coterie.evaluation.metrics import agreement
from coterie.knn import graph
from coterie.methods import neighbors as neighbors_module
from coterie.methods.neighbors import Neighbors


def make_clusters(sizes, d=40, noise=0.5):
    """Unit rows (N, d) around one random center per cluster, and the cluster of each row (N,)."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    noise = np.broadcast_to(noise, len(sizes))[labels, None]
    x = rng.normal(size=(len(sizes), d))[labels] + noise * rng.normal(size=(len(labels), d))
    return unit_rows(x), labels


@pytest.fixture
def small_limit(monkeypatch):
    """Everything for many rows is used above 300 rows, except NN-descent, which takes long to compile."""
    monkeypatch.setattr(arrays, "EXACT_LIMIT", 300)
    monkeypatch.setattr(arrays, "_CHUNK_ROWS", 64)
    monkeypatch.setattr(graph, "has_nn_descent", lambda: True)
    monkeypatch.setattr(graph, "nn_descent", lambda x, k, near: graph._exact_graph(x, k))


def test_clusters_of_unequal_size_are_found_and_sorted_by_size():
    h, labels = make_clusters([400, 60, 40, 30, 20, 15, 12, 10])
    model = Neighbors(n_clusters=8, encoder="precomputed").fit(h)
    assert agreement(labels, model.labels_)["acc"] > 0.97
    assert (np.diff(np.bincount(model.labels_)) <= 0).all()


def test_a_language_without_spaces():
    texts = ["天気がいい", "天気が悪い", "電車が遅れた", "電車が混んだ"]
    with pytest.warns(UnreadableTextWarning, match="4 of 4 distinct texts are not in Latin script"):
        model = Neighbors(n_clusters=2).fit(texts * 2)
    assert set(model.labels_) == {0, 1}
    with pytest.warns(UnreadableTextWarning):
        np.testing.assert_array_equal(model.predict(texts), model.labels_[:4])


def test_texts_with_equal_embeddings_are_refused():
    with pytest.raises(InputError, match="fewer distinct embeddings"):
        Neighbors(n_clusters=2).fit(["🙂", "🚗", "🙂 ", "🌧"])


def test_a_saved_model_assigns_new_texts_to_the_cluster_of_similar_ones(helpdesk, tmp_path):
    model = Neighbors(n_clusters=16).fit(helpdesk.texts)
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    crash, crash_again, invoice = loaded.predict(
        ["the app crashes all the time", "app crashed again when I opened it", "I need a copy of my invoice"]
    )
    assert crash == crash_again != invoice
    n_bytes = sum(path.stat().st_size for path in (tmp_path / "model").iterdir())
    assert n_bytes < 600 * len(helpdesk.texts)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_saved_model_of_fewer_items_than_neighbors(n, tmp_path):
    h = np.eye(8, dtype=np.float32)[:n]
    model = Neighbors(n_clusters=min(n, 2), encoder="precomputed").fit(h)
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(h), model.labels_)
    np.testing.assert_array_equal(loaded.predict_proba(h + 0.1), model.predict_proba(h + 0.1))


def test_equal_vectors_are_one_cluster_or_refused():
    check_equal_vectors(60)


def test_many_equal_vectors_are_one_cluster_or_refused(small_limit):
    check_equal_vectors(400)


def check_equal_vectors(n):
    h = np.ones((n, 4), dtype=np.float32)
    model = Neighbors(n_clusters=1, encoder="precomputed").fit(h)
    assert (model.labels_ == 0).all()
    np.testing.assert_allclose(model.confidence_, 1)
    with pytest.raises(InputError, match="fewer distinct embeddings"):
        Neighbors(n_clusters=2, encoder="precomputed").fit(h)


@pytest.mark.parametrize(("use_linkage", "algorithms"), [("never", {"kmeans"}), ("always", {"linkage"})])
def test_use_linkage_overrides_the_choice(use_linkage, algorithms, monkeypatch):
    h, _ = make_clusters([40, 40, 40], noise=0.9)
    used = []
    choose = neighbors_module.choose_mixture

    def record(evidence, features, starts, *args, **options):
        used.extend(starts)
        return choose(evidence, features, starts, *args, **options)

    monkeypatch.setattr(neighbors_module, "choose_mixture", record)
    Neighbors(n_clusters=3, encoder="precomputed", use_linkage=use_linkage).fit(h)
    assert {start.algorithm for start in used} == algorithms


@pytest.fixture
def fruit_and_music():
    """Texts of two clusters, which differ in all their words."""
    fruit = ["apple", "pear", "plum", "grape", "peach", "mango", "melon", "lemon"]
    music = ["piano", "drum", "flute", "harp", "horn", "cello", "banjo", "organ"]
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, size=200)
    texts = [" ".join([*rng.choice((fruit, music)[k], 3, replace=False), str(i)]) for i, k in enumerate(labels)]
    return texts, labels


class RandomEncoder(Encoder):
    """Embeddings that say nothing about the words of a text."""

    dim = 2

    def embed(self, items):
        return np.array([[np.cos(hash_of(text)), np.sin(hash_of(text))] for text in items], dtype=np.float32)


def hash_of(text):
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:2], "big") / 10_000


def test_words_decide_where_embeddings_do_not(fruit_and_music):
    texts, labels = fruit_and_music
    model = Neighbors(n_clusters=2, encoder=RandomEncoder(), embedding_weight=0, neighbor_weight=0).fit(texts)
    assert agreement(labels, model.labels_)["acc"] > 0.85
    new = model.predict(["apple mango 777", "plum lemon 888", "drum banjo 999"])
    assert new[0] == new[1] != new[2]


def test_new_texts_are_assigned_by_their_words_too(helpdesk, tmp_path):
    texts = [text.replace("ä", "a") for text in helpdesk.texts[:300]]
    model = Neighbors(n_clusters=5).fit(texts)
    objective = model.objective_
    new = ["refund my invoice", "the app crashes"]
    h = model.transform(new)
    by_all, by_embedding = objective.assign_all(h, new), objective.assign_all(h)
    assert not np.allclose(by_all, by_embedding)
    np.testing.assert_array_equal(model.predict_proba(new), by_all)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(coterie.load(tmp_path / "model").predict_proba(new), by_all)


def test_training_texts_keep_their_labels_and_probabilities_bit_for_bit(fruit_and_music):
    texts, _ = fruit_and_music
    model = Neighbors(n_clusters=2, encoder="tfidf").fit(texts + texts[:50])
    np.testing.assert_array_equal(model.predict(texts + texts[:50]), model.labels_)
    q = model.predict_proba(texts[::-1])[::-1]
    np.testing.assert_array_equal(q.max(axis=1), model.confidence_[:200])
    np.testing.assert_allclose(q.sum(axis=1), 1)


def test_the_words_of_a_long_text_weigh_less_in_predictions(helpdesk):
    model = Neighbors(n_clusters=5, neighbor_weight=0).fit(helpdesk.texts[:300])
    text = "please refund the invoice of my last payment, it was charged twice on my card"
    h, by_default = model.transform([text]), model.predict_proba([text])
    model.objective_.hp = Neighbors(n_clusters=5, neighbor_weight=0, max_words=0.5)
    assert not np.allclose(model.objective_.assign_all(h, [text]), by_default)


def test_without_words_or_neighbors(fruit_and_music):
    texts, _ = fruit_and_music
    for name in ("word_weight", "neighbor_weight"):
        model = Neighbors(n_clusters=2, encoder="tfidf", **{name: 0}).fit(texts)
        np.testing.assert_array_equal(model.predict(texts), model.labels_)
        assert bool(model.objective_.vocabulary.words) == (name == "neighbor_weight")


def test_every_cluster_has_a_text():
    h, _ = make_clusters([60, 20, 3, 2], noise=0.9)
    labels = Neighbors(n_clusters=20, encoder="precomputed").fit_predict(h)
    assert set(labels) == set(range(20))


def test_training_starts_from_the_labels_of_the_mixture(helpdesk):
    texts = helpdesk.texts[:300]
    model = Neighbors(n_clusters=5).fit(texts)
    trained = coterie.SCCL(n_clusters=5)
    trained.n_clusters_ = 5
    rows = model.encoder_.check(texts)
    h = torch.from_numpy(model.transform(rows.unique))
    corpus = Corpus(rows.unique, h, torch.from_numpy(rows.counts))
    labels = labels_of(trained._untrained("neighbors", corpus, 0).objective_, corpus)
    np.testing.assert_array_equal(rows.expand(labels, -1), model.labels_)


@pytest.mark.parametrize(
    ("sizes", "min_accuracy"), [([15, 30, 44, 57, 70, 85], 0.9), ([70, 140, 210, 290, 360, 430], 0.97)]
)
def test_many_vectors_are_clustered(small_limit, sizes, min_accuracy):
    h, labels = make_clusters(sizes, d=24)
    model = Neighbors(n_clusters=6, encoder="precomputed").fit(h)
    assert agreement(labels, model.labels_)["acc"] > min_accuracy
    np.testing.assert_array_equal(model.predict(h), model.labels_)


@pytest.mark.slow
@pytest.mark.xdist_group("nn_descent")
def test_many_vectors_are_clustered_repeatably_with_nn_descent(monkeypatch):
    monkeypatch.setattr(arrays, "EXACT_LIMIT", 300)
    h, labels = make_clusters([70, 140, 210, 290, 360, 430], d=24)
    first, second = (Neighbors(n_clusters=6, encoder="precomputed").fit(h) for _ in range(2))
    assert agreement(labels, first.labels_)["acc"] > 0.97
    np.testing.assert_array_equal(first.labels_, second.labels_)
    np.testing.assert_array_equal(first.confidence_, second.confidence_)


def test_many_texts_are_clustered_with_their_words(small_limit):
    words = (
        ["apple", "pear", "plum", "grape"],
        ["whale", "seal", "shark", "squid"],
        ["piano", "drum", "flute", "harp"],
    )
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, size=600)
    texts = [f"{' '.join(rng.choice(words[k], 2))} {i}" for i, k in enumerate(labels)]
    found = Neighbors(n_clusters=3, encoder="tfidf").fit_predict(texts)
    assert agreement(labels, found)["acc"] > 0.95


def test_very_many_texts_are_fitted_from_a_sample_and_all_keep_their_labels(small_limit, monkeypatch):
    monkeypatch.setattr(arrays, "EXACT_LIMIT", 100)
    words = ["apple pear plum grape".split(), "whale seal shark squid".split(), "piano drum flute harp".split()]
    rng = np.random.default_rng(0)
    labels = rng.choice(3, size=700, p=[0.5, 0.3, 0.2])
    texts = [f"{' '.join(rng.choice(words[k], 2))} {i}" for i, k in enumerate(labels)]
    chosen = []
    choose = neighbors_module.choose_mixture

    def record(evidence, *args, **options):
        chosen.append(len(evidence))
        return choose(evidence, *args, **options)

    monkeypatch.setattr(neighbors_module, "choose_mixture", record)
    model = Neighbors(n_clusters=3, encoder="tfidf").fit(texts)
    assert chosen == [400]  # four times the limit
    assert agreement(labels, model.labels_)["acc"] > 0.95
    assert (np.diff(np.bincount(model.labels_)) <= 0).all()
    assert len(model.objective_.classifier.knn) == 700
    np.testing.assert_array_equal(model.predict(texts), model.labels_)
    order = rng.permutation(700)
    permuted = Neighbors(n_clusters=3, encoder="tfidf").fit([texts[i] for i in order])
    np.testing.assert_array_equal(permuted.labels_, model.labels_[order])
    np.testing.assert_array_equal(permuted.confidence_, model.confidence_[order])
    Neighbors(n_clusters=5, encoder="tfidf").fit(texts)
    assert chosen[-1] == 700  # a sample would have too few texts of a cluster


@pytest.mark.data
def test_tweet_is_better_than_the_best_published_scores(benchmark_data):
    data = benchmark_data("tweet")
    score = agreement(data.true_labels, Neighbors(n_clusters=89).fit_predict(data.texts))
    assert score["acc"] > 0.896  # HAC-SD
    assert score["nmi"] > 0.892  # SCCL
