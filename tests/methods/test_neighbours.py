import numpy as np
import pytest
import torch

import coterie
from coterie.errors import InputError
from coterie.evaluation.metrics import agreement
from coterie.graph.smoothing import unit_rows
from coterie.heads.memory import Memory
from coterie.methods.neighbours import Neighbours


def test_a_vote_equals_its_equation():
    rng = np.random.default_rng(0)
    h, new = (unit_rows(rng.normal(size=(n, 5))) for n in (20, 4))
    labels = rng.integers(0, 3, size=20)
    memory = Memory(5)
    memory.remember(torch.from_numpy(h), torch.from_numpy(labels))
    q = memory.vote(torch.from_numpy(new), 3, k=6).numpy()
    for i in range(4):
        cosine = h @ new[i]
        votes = np.zeros(3)
        for j in np.argsort(-cosine)[:6]:
            votes[labels[j]] += max(cosine[j], 0) ** 3
        np.testing.assert_allclose(q[i], votes / votes.sum(), atol=5e-3)  # the memory is in half precision


def test_a_remembered_text_keeps_its_label_against_all_others():
    h = torch.ones(10, 4) + torch.arange(10)[:, None] * 1e-6
    labels = torch.tensor([1] + [0] * 9)
    memory = Memory(4)
    memory.remember(h, labels)
    assert memory.vote(h, 2, k=10).argmax(dim=1).tolist() == labels.tolist()


def test_far_from_everything_every_neighbour_votes_alike():
    memory = Memory(2)
    memory.remember(torch.tensor([[1.0, 0], [1, 0.1]]), torch.tensor([0, 1]))
    np.testing.assert_allclose(memory.vote(torch.tensor([[-1.0, 0]]), 2, k=2), [[0.5, 0.5]])


def test_a_text_has_no_vote_on_itself():
    h = torch.eye(4)[[0, 0, 0, 1]] + 0.1 * torch.arange(4)[:, None]
    memory = Memory(4)
    memory.remember(h, torch.tensor([0, 1, 1, 0]))
    q = memory.vote(h[:1], 2, k=2)  # both neighbours say 1; it keeps 0, but only just
    assert q.argmax() == 0
    assert q[0, 0] == pytest.approx(0.5, abs=1e-3)


def test_a_memory_of_one_text():
    memory = Memory(2)
    memory.remember(torch.tensor([[1.0, 0]]), torch.tensor([0]))
    np.testing.assert_allclose(memory.vote(torch.tensor([[1.0, 0], [0, 1.0]]), 1, k=15), [[1.0], [1.0]])


def test_uneven_clusters_are_linked_not_cut():
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
    assert size < 1000 * len(helpdesk.texts)  # less than a kilobyte a text


@pytest.mark.data
def test_far_above_kmeans_on_tweets(benchmark_data):
    data = benchmark_data("tweet")
    score = agreement(data.true_labels, Neighbours(n_clusters=89).fit_predict(data.texts))
    assert score["acc"] > 0.896  # the best published, HAC-SD
    assert score["nmi"] > 0.892  # the best published, SCCL
