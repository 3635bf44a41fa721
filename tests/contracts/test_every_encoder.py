"""A new file in coterie/encoders is covered without editing this one."""

from dataclasses import fields

import numpy as np
import pytest

import coterie
from coterie.augmenters.augmenter import AUGMENTERS
from coterie.encoders.encoder import ENCODERS, make_encoder
from coterie.errors import InputError

# What an encoder needs to run here: without a hub, `transformer` reads the bundled model's folder.
SPECS = {name: name for name, cls in ENCODERS.items() if cls.reads == "texts"}
SPECS["transformer"] = f"transformer:{make_encoder('bundled').source()}"
each_encoder = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())

KINDS = {"texts", "images", "vectors"}

ODD = ["日本語のテキスト", "🙂🙂🙂", "a", "?!", "x" * 5000, "word " * 2000, "naïve café", "\U0010ffff"]


@pytest.fixture(scope="module")
def fitted(helpdesk):
    cache = {}
    return lambda spec: cache.setdefault(spec, make_encoder(spec).fit(helpdesk.texts[:200]))


@each_encoder
def test_vectors_are_finite_floats_in_the_order_of_the_texts(spec, fitted, helpdesk):
    texts = helpdesk.texts[:50]
    h = fitted(spec).embed(texts)
    assert h.dtype == np.float32
    assert h.shape[0] == 50
    assert np.isfinite(h).all()
    np.testing.assert_allclose(fitted(spec).embed(texts[::-1])[::-1], h, atol=1e-5)


@each_encoder
def test_a_vector_depends_on_its_own_text_alone(spec, fitted, helpdesk):
    encoder, texts = fitted(spec), helpdesk.texts[:40]
    together = encoder.embed(texts)
    alone = np.concatenate([encoder.embed([text]) for text in texts])
    np.testing.assert_allclose(alone, together, atol=2e-6)


@each_encoder
def test_odd_texts_get_finite_vectors(spec, fitted):
    h = fitted(spec).embed(ODD)
    assert h.shape[0] == len(ODD)
    assert np.isfinite(h).all()


@each_encoder
def test_what_it_learnt_can_be_restored(spec, fitted, helpdesk):
    encoder = fitted(spec)
    again = make_encoder(encoder)
    again.restore(encoder.state())
    np.testing.assert_array_equal(again.embed(helpdesk.texts[:20]), encoder.embed(helpdesk.texts[:20]))
    assert again.fingerprint() == encoder.fingerprint()


@each_encoder
def test_a_model_on_it_keeps_its_labels_after_save_and_load(spec, helpdesk, tmp_path):
    texts = helpdesk.texts[:200]
    model = coterie.KMeans(n_clusters=5, encoder=spec, n_init=1).fit(texts)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(coterie.load(tmp_path / "model").predict(texts), model.labels_)


@pytest.mark.parametrize("cls", ENCODERS.values(), ids=ENCODERS.keys())
def test_documented(cls):
    assert cls.__doc__
    assert all(f.metadata["help"] for f in fields(cls))
    assert cls.after_colon == "" or cls.after_colon in {f.name for f in fields(cls)}
    assert cls.reads in KINDS


@pytest.mark.parametrize("cls", [c for c in ENCODERS.values() if c.reads != "vectors"], ids=lambda cls: cls.name)
def test_a_default_augmenter_makes_views_of_what_it_reads(cls):
    name = cls.augmenter or "dropout"
    assert AUGMENTERS[name].takes == cls.reads


IMAGES = np.random.default_rng(0).integers(0, 256, (40, 8, 8, 1), dtype=np.uint8)


@pytest.mark.parametrize("name", [name for name, cls in ENCODERS.items() if cls.reads == "images"])
def test_an_encoder_of_images_keeps_the_same_promises(name, tmp_path):
    encoder = make_encoder(name)
    images = encoder.check(IMAGES).unique
    h = encoder.fit(images).embed(images)
    assert (h.dtype, len(h), np.isfinite(h).all()) == (np.float32, 40, True)
    np.testing.assert_array_equal(encoder.embed(images[::-1])[::-1], h)
    np.testing.assert_array_equal(np.concatenate([encoder.embed(images[i : i + 1]) for i in range(40)]), h)
    assert np.isfinite(encoder.embed(np.zeros_like(images[:2]))).all()  # nothing but black
    again = make_encoder(encoder)
    again.restore(encoder.state())
    np.testing.assert_array_equal(again.embed(images), h)
    model = coterie.KMeans(n_clusters=5, encoder=name, n_init=1).fit(IMAGES)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(coterie.load(tmp_path / "model").predict(IMAGES), model.labels_)


def test_nothing_follows_the_colon_of_an_encoder_without_a_main_setting():
    with pytest.raises(InputError, match="takes nothing after a colon"):
        make_encoder("tfidf:2000")


def test_texts_are_refused_where_vectors_are_wanted():
    with pytest.raises(ValueError, match="takes vectors, rows of numbers"):
        coterie.KMeans(n_clusters=2, encoder="precomputed").fit(["some", "texts"])


def test_vectors_are_refused_where_texts_are_wanted():
    with pytest.raises(InputError, match="encoder='precomputed'"):
        coterie.KMeans(n_clusters=2, encoder="tfidf").fit(np.zeros((5, 3)))
