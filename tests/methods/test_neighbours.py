import numpy as np
import pytest
import torch

import coterie
from coterie.errors import InputError
from coterie.evaluation.metrics import agreement
from coterie.graph import sample
from coterie.graph.nearest import nearest
from coterie.graph.smoothing import unit_rows
from coterie.heads import memory as memory_module
from coterie.heads.memory import Memory
from coterie.methods import neighbours as module
from coterie.methods.neighbours import Neighbours


def remembering(h, labels, k):
    """A memory of h (N, D) that knows the k nearest of each row."""
    h = torch.as_tensor(h, dtype=torch.float32)
    memory = Memory(h.shape[1], k)
    near = nearest(unit_rows(h.numpy()), k).rows
    memory.remember(h, torch.as_tensor(labels), torch.from_numpy(near))
    return memory


@pytest.mark.parametrize("common", [0, 30])  # a part that all vectors share must not take the bits of their differences
def test_a_vote_equals_its_equation(common):
    rng = np.random.default_rng(0)
    h, new = (unit_rows(rng.normal(size=(n, 5)) + common) for n in (20, 4))
    labels = rng.integers(0, 3, size=20)
    q = remembering(h, labels, 6).vote(torch.from_numpy(new), 3).numpy()
    for i in range(4):
        cosine = h @ new[i]
        votes = np.zeros(3)
        for j in np.argsort(-cosine)[:6]:
            votes[labels[j]] += max(cosine[j], 0) ** 3
        np.testing.assert_allclose(q[i], votes / votes.sum(), atol=5e-3)  # the memory is in eight bits


def test_a_remembered_text_keeps_its_label_against_all_others():
    h = torch.ones(10, 4) + torch.arange(10)[:, None] * 1e-6
    labels = [1] + [0] * 9
    assert remembering(h, labels, 9).vote(h, 2).argmax(dim=1).tolist() == labels


def test_far_from_everything_every_neighbour_votes_alike():
    memory = remembering([[1.0, 0], [1, 0.1]], [0, 1], 2)
    np.testing.assert_allclose(memory.vote(torch.tensor([[-1.0, 0]]), 2), [[0.5, 0.5]])


def test_a_text_has_no_vote_on_itself():
    h = torch.eye(4)[[0, 0, 0, 1]] + 0.1 * torch.arange(4)[:, None]
    q = remembering(h, [0, 1, 1, 0], 2).vote(h[:1], 2)  # both neighbours say 1; it keeps 0, but only just
    assert q.argmax() == 0
    assert q[0, 0] == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_memory_of_fewer_texts_than_neighbours(n):
    h = torch.eye(4)[:n]
    q = remembering(h, [0] * n, 15).vote(torch.cat([h, torch.ones(1, 4)]), 1)
    np.testing.assert_allclose(q, np.ones((n + 1, 1)))


def test_votes_are_equal_to_the_last_bit_in_any_company(monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(memory_module, "_STORED", 256)  # several blocks of remembered texts
    monkeypatch.setattr(memory_module, "_PART", 64)
    memory = remembering(rng.normal(size=(700, 48)), rng.integers(0, 5, size=700), 15)
    new = torch.from_numpy(rng.normal(size=(130, 48)).astype(np.float32))
    together = memory.vote(new, 5)
    for i in (0, 1, 31, 32, 77, 129):
        assert torch.equal(memory.vote(new[i : i + 1], 5), together[i : i + 1])
    assert torch.equal(memory.vote(new.flip(0), 5).flip(0), together)
    assert torch.equal(memory.vote(new[40:90], 5), together[40:90])


def test_blocks_of_remembered_texts_find_the_nearest_of_all(monkeypatch):
    rng = np.random.default_rng(1)
    h, labels = rng.normal(size=(100, 8)), rng.integers(0, 4, size=100)
    new = torch.from_numpy(rng.normal(size=(9, 8)).astype(np.float32))
    whole = remembering(h, labels, 5).vote(new, 4)
    monkeypatch.setattr(memory_module, "_STORED", 7)
    assert torch.equal(remembering(h, labels, 5).vote(new, 4), whole)


def test_uneven_clusters_are_found():
    rng = np.random.default_rng(0)
    sizes = np.array([400, 60, 40, 30, 20, 15, 12, 10])
    topic = np.repeat(np.arange(8), sizes)
    h = unit_rows(rng.normal(size=(8, 40))[topic] + 0.5 * rng.normal(size=(sizes.sum(), 40)))
    model = Neighbours(n_clusters=8, encoder="precomputed").fit(h)
    assert agreement(topic, model.labels_)["acc"] > 0.97
    assert (np.diff(np.bincount(model.labels_)) <= 0).all()  # largest first


def test_a_language_without_spaces():
    texts = ["天気がいい", "天気が悪い", "電車が遅れた", "電車が混んだ"]
    model = Neighbours(n_clusters=2).fit(texts * 2)
    assert set(model.labels_) == {0, 1}
    np.testing.assert_array_equal(model.predict(texts), model.labels_[:4])


def test_texts_that_the_encoder_cannot_tell_apart_are_refused():
    with pytest.raises(InputError, match="tells fewer texts apart"):
        Neighbours(n_clusters=2).fit(["🙂", "🚗", "🙂 ", "🌧"])


def test_new_texts_join_the_group_of_their_like(helpdesk, tmp_path):
    model = Neighbours(n_clusters=16).fit(helpdesk.texts)
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    crash, invoice = loaded.predict(["the app crashes all the time", "I need a copy of my invoice"])
    assert crash == loaded.predict(["app crashed again when I opened it"])[0]
    assert crash != invoice
    size = sum(path.stat().st_size for path in (tmp_path / "model").iterdir())
    assert size < 600 * len(helpdesk.texts)  # bytes a text


@pytest.mark.parametrize("n", [1, 2, 5])
def test_fewer_texts_than_neighbours_are_grouped_and_found_again_in_a_saved_model(n, tmp_path):
    h = np.eye(8, dtype=np.float32)[:n]
    model = Neighbours(n_clusters=min(n, 2), encoder="precomputed").fit(h)
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(h), model.labels_)
    np.testing.assert_array_equal(loaded.predict_proba(h + 0.1), model.predict_proba(h + 0.1))


@pytest.mark.parametrize("border", [20, 50_000])
def test_nothing_but_equal_vectors_are_one_group_or_refused(monkeypatch, border):
    monkeypatch.setattr(sample, "ALL", border)
    h = np.ones((60, 4), dtype=np.float32)
    model = Neighbours(n_clusters=1, encoder="precomputed").fit(h)
    assert (model.labels_ == 0).all()
    np.testing.assert_allclose(model.confidence_, 1)
    with pytest.raises(InputError, match="tells fewer texts apart"):
        Neighbours(n_clusters=2, encoder="precomputed").fit(h)


def test_linkage_can_be_decided_by_hand():
    rng = np.random.default_rng(0)
    topic = np.repeat(np.arange(30), [600] + [10] * 29)
    noise = np.where(topic == 0, 1.5, 0.3)[:, None]  # one wide group, which k-means cuts into pieces
    h = unit_rows(rng.normal(size=(30, 40))[topic] + noise * rng.normal(size=(len(topic), 40)))
    never, always = (
        agreement(topic, Neighbours(n_clusters=30, encoder="precomputed", linkage=use).fit_predict(h))["acc"]
        for use in ("never", "always")
    )
    assert never < 0.8
    assert always > 0.95


def test_words_can_be_decided_by_hand(monkeypatch, topics):
    def unasked(*_, **__):
        raise AssertionError("was asked")

    texts, _ = topics
    monkeypatch.setattr(module, "words_agree", unasked)
    with pytest.raises(AssertionError, match="was asked"):
        Neighbours(n_clusters=3, encoder="tfidf").fit(texts)
    Neighbours(n_clusters=3, encoder="tfidf", words="always", linkage="never").fit(texts)
    monkeypatch.setattr(module, "words_of", unasked)
    Neighbours(n_clusters=3, encoder="tfidf", words="never").fit(texts)


@pytest.mark.data
def test_far_above_kmeans_on_tweets(benchmark_data):
    data = benchmark_data("tweet")
    score = agreement(data.true_labels, Neighbours(n_clusters=89).fit_predict(data.texts))
    assert score["acc"] > 0.896  # the best published, HAC-SD
    assert score["nmi"] > 0.892  # the best published, SCCL
