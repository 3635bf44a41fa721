"""Probabilities are made realistic without labels: a temperature and noise, by what resampling says."""

import json

import numpy as np
import pytest
import torch

import coterie
from coterie import calibration
from coterie.artifact.config import checked_calibration
from coterie.calibration import fit_calibration, stays
from coterie.contracts import Corpus
from coterie.encoders.encoder import make_encoder
from coterie.probabilities import Calibration


@pytest.fixture(scope="module")
def blobs():
    """Vectors of three groups that overlap (600, 8), and the groups."""
    rng = np.random.default_rng(0)
    groups = np.arange(600) % 3
    centers = 3 * np.eye(8)[:3]
    return (centers[groups] + rng.normal(size=(600, 8))).astype(np.float32), groups


def softmax(logits):
    q = np.exp(logits - logits.max(axis=1, keepdims=True))
    return q / q.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("temperature", "noise"), [(0.3, 0.0), (4.0, 0.0), (1.0, 0.2)])
def test_the_calibration_that_made_the_clusters_is_found(temperature, noise):
    rng = np.random.default_rng(0)
    q = softmax(rng.normal(size=(3000, 4)) * 2)
    p = Calibration(temperature, noise).apply(q)
    drawn = [(p.cumsum(axis=1) > rng.random((len(p), 1))).argmax(axis=1) for _ in range(4)]
    assert np.abs(p - q).mean() > 0.02
    share = np.mean([clusters == q.argmax(axis=1) for clusters in drawn], axis=0)
    assert np.abs(p - fit_calibration(q, share).apply(q)).mean() < 0.01


def test_an_item_stays_where_its_cluster_is_found_again_under_any_number():
    labels = np.array([0, 0, 0, 1, 1, 1])
    share = stays(labels, [np.array([5, 5, 5, 2, 2, 2]), np.array([1, 1, 0, 0, 0, 3])])
    np.testing.assert_array_equal(share, [1, 1, 0.5, 1, 1, 0.5])


def test_the_order_of_clusters_does_not_change():
    q = softmax(np.random.default_rng(0).normal(size=(200, 5)))
    p = Calibration(0.2, 0.3).apply(q)
    np.testing.assert_array_equal(q.argsort(axis=1), p.argsort(axis=1))
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert Calibration().apply(q) is q


def test_a_model_that_doubts_too_much_becomes_realistic(blobs):
    vectors, groups = blobs
    model = coterie.SCCL(n_clusters=3, encoder="precomputed", epochs=1, max_steps=1, guard="off").fit(vectors)
    accuracy = sum(np.bincount(groups[model.labels_ == k]).max() for k in range(3)) / len(groups)
    confidence = model.confidence_.mean()
    model.objective_.calibration = Calibration()
    assert abs(confidence - accuracy) < 0.06
    assert abs(model.predict_proba(vectors).max(axis=1).mean() - accuracy) > 0.15


def test_it_is_saved_and_loaded(blobs, tmp_path):
    vectors, _ = blobs
    model = coterie.KMeans(n_clusters=3, encoder="precomputed").fit(vectors)
    assert model.objective_.calibration != Calibration()
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    assert loaded.objective_.calibration == model.objective_.calibration
    np.testing.assert_array_equal(loaded.predict_proba(vectors), model.predict_proba(vectors))
    np.testing.assert_allclose(loaded.predict_proba(vectors).max(axis=1), model.confidence_)
    assert json.loads((tmp_path / "model" / "config.json").read_text())["calibration"]["temperature"] > 0


def test_a_second_fit_begins_anew(blobs):
    vectors, _ = blobs
    model = coterie.KMeans(n_clusters=3, encoder="precomputed")
    first = model.fit(vectors).confidence_
    np.testing.assert_array_equal(model.fit(vectors).confidence_, first)


def test_few_items_are_left_as_they_are(blobs):
    model = coterie.KMeans(n_clusters=3, encoder="precomputed").fit(blobs[0][:150])
    assert model.objective_.calibration == Calibration()


@pytest.mark.parametrize("values", [{"temperature": 0.0}, {"noise": 1.0}, {"temperature": float("nan")}])
def test_a_calibration_that_makes_no_probabilities_is_refused(values):
    with pytest.raises(ValueError, match="calibration"):
        checked_calibration(values)


def test_items_that_cannot_be_clustered_again_are_left_as_they_are(blobs, monkeypatch):
    monkeypatch.setattr(calibration, "clusters_of_halves", lambda *_, **__: [])
    model = coterie.KMeans(n_clusters=3, encoder="precomputed").fit(blobs[0])
    assert model.objective_.calibration == Calibration()


def test_only_a_sample_of_the_items_is_assigned(blobs, monkeypatch):
    vectors, _ = blobs
    model = coterie.KMeans(n_clusters=3, encoder="precomputed").fit(vectors)
    objective, n_assigned = model.objective_, []
    monkeypatch.setattr(
        objective,
        "assign_all",
        lambda h, items, call=objective.assign_all: (n_assigned.append(len(h)), call(h, items))[1],
    )
    monkeypatch.setattr(calibration, "_SAMPLE", 400)
    corpus = Corpus(vectors, torch.from_numpy(vectors), torch.ones(600))
    calibration.calibrate(objective, corpus, vectors, seed=0)
    assert n_assigned == [400]
    assert objective.calibration != Calibration()


@pytest.fixture
def clustered_again(monkeypatch):
    """The embeddings that were clustered again, of every fit."""
    seen = []
    monkeypatch.setattr(calibration, "clusters_of_halves", lambda e, *_, **__: seen.append(e) or [])
    return seen


def test_clusters_of_an_auto_encoder_are_compared_with_those_of_the_embeddings_below_it(blobs, clustered_again):
    vectors, _ = blobs
    model = coterie.DEC(n_clusters=3, encoder="precomputed", epochs=2, width=16, guard="off").fit(vectors)
    assert model.transform(vectors).shape[1] == 4  # K + 1
    (e,) = clustered_again
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(np.sort(e, axis=0), np.sort(unit, axis=0), rtol=1e-5)


def test_clusters_of_coordinates_by_umap_are_compared_with_those_of_the_embeddings_below_them(clustered_again):
    pytest.importorskip("umap")
    texts = [f"{word} {number}" for word in ("card", "parcel", "login") for number in range(80)]
    coterie.KMeans(n_clusters=3, encoder="umap:tfidf").fit(texts)
    (e,) = clustered_again
    assert e.shape[1] == make_encoder("tfidf").fit(texts).dim


def test_clusters_of_images_are_compared_with_those_of_the_trained_embeddings(clustered_again):
    pytest.importorskip("kornia")
    images = np.random.default_rng(0).integers(0, 255, size=(240, 8, 8), dtype=np.uint8)
    model = coterie.MoCo(n_clusters=3, encoder="image", epochs=1, max_steps=1, guard="off").fit(images)
    (e,) = clustered_again
    np.testing.assert_allclose(np.sort(e, axis=0), np.sort(model.transform(images), axis=0), atol=1e-4)
