"""HAC-SD, agglomerative and spectral clustering: what their base class promises."""

import numpy as np
import pytest
import torch

import coterie
from coterie.encoders.tfidf import TfidfEncoder
from coterie.errors import InputError


@pytest.mark.parametrize("cls", [coterie.HACSD, coterie.Agglomerative])
def test_too_many_texts_are_refused_before_they_are_encoded(cls, topics, monkeypatch):
    monkeypatch.setattr(TfidfEncoder, "fit", None)  # encoding would fail
    message = r"compares all pairs of \d+ distinct texts, which needs 0\.0 GB.*--method neighbors.*raise max_memory_gb"
    with pytest.raises(InputError, match=message):
        cls(n_clusters=3, encoder="tfidf", max_memory_gb=1e-6).fit(topics[0])


def test_20000_texts_need_less_than_the_limit():
    assert coterie.HACSD().bytes_needed(20_000) / 1e9 == pytest.approx(3.2, abs=0.01)


def test_a_new_text_goes_with_its_nearest_training_texts(topics):
    model = coterie.HACSD(n_clusters=3, encoder="tfidf").fit(topics[0])
    new = ["goal match team", "stock bank profit", "gene cell virus"]
    assert not set(new) & set(topics[0])
    np.testing.assert_array_equal(model.predict(new), model.labels_[:3])


def test_neighbors_are_near_by_cosine_whatever_the_length_of_the_vectors():
    h = np.array([[1, 0], [1, 0.1], [0, 9], [0.9, 9]], dtype=np.float32)  # the last two are long
    model = coterie.Agglomerative(n_clusters=2, encoder="precomputed", n_neighbors=1).fit(h)
    kept = model.objective_.classifier
    rows, is_stored = kept.find(torch.from_numpy(h))
    assert is_stored.all()
    assert kept.neighbors[rows, 0].tolist() == rows[[1, 0, 3, 2]].tolist()


def test_different_texts_with_one_embedding_share_a_cluster(topics):
    texts = [*topics[0], "goal match", "match goal", "goal match team", "team goal match"]
    model = coterie.Agglomerative(n_clusters=13, encoder="bow").fit(texts)
    assert model.labels_[-4] == model.labels_[-3]
    assert model.labels_[-2] == model.labels_[-1]
    assert len(set(model.labels_)) == 13


def test_iterations_change_the_clusters_of_linkage_only_a_little(topics):
    plain = coterie.HACSD(n_clusters=3, encoder="tfidf").fit(topics[0])
    refined = coterie.HACSD(n_clusters=3, encoder="tfidf", iterations=2).fit(topics[0])
    assert len(set(refined.labels_)) == 3
    assert (plain.labels_ == refined.labels_).mean() > 0.9


def test_more_minimum_samples_than_items_are_refused():
    with pytest.raises(InputError, match="min_samples is 500, but there are 90 distinct items"):
        coterie.HDBSCAN(encoder="precomputed", min_samples=500).fit(np.random.default_rng(0).normal(size=(90, 4)))
