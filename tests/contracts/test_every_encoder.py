"""What every encoder guarantees. A new file in coterie/encoders is covered without a change here."""

import pickle
from dataclasses import fields

import numpy as np
import pytest

import coterie
from coterie.augmenters.augmenter import AUGMENTERS
from coterie.encoders.encoder import ENCODERS, make_encoder
from coterie.errors import InputError

NAMES = {kind: [name for name, cls in ENCODERS.items() if cls.input_type == kind] for kind in ("texts", "images")}
each_encoder = pytest.mark.parametrize("name", NAMES["texts"])
each_image_encoder = pytest.mark.parametrize("name", NAMES["images"])

UNUSUAL = ["日本語のテキスト", "🙂🙂🙂", "a", "?!", "x" * 5000, "word " * 2000, "naïve café", "\U0010ffff"]
IMAGES = np.random.default_rng(0).integers(0, 256, (40, 8, 8, 1), dtype=np.uint8)


def letter_counts(texts):
    """An encoder of the user's own."""
    return [[text.count(letter) for letter in "abcdefgh"] for text in texts]


def principal_directions(h, n_components, *_):
    """In place of UMAP, which compiles for ten seconds; tests/encoders/test_umap.py runs UMAP itself."""
    centered = h - h.mean(axis=0)
    return (centered @ np.linalg.svd(centered, full_matrices=False)[2][:n_components].T).astype(np.float32)


@pytest.fixture(scope="module", autouse=True)
def _quick_umap():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("coterie.encoders.umap.reduce_dimensions", principal_directions)
        yield


@pytest.fixture(scope="module")
def fitted(topics, tiny_bert):
    """Return an encoder fitted to the texts of ``topics``; it is fitted once. `transformer` reads a tiny BERT."""
    specs = {
        "transformer": f"transformer:{tiny_bert}",
        "joined": f"transformer:{tiny_bert}+tfidf",
        "umap": "umap:tfidf",
        "cnn": "cnn:ppmi",  # vectors trained on the texts; `sif` reads GloVe's
        "custom": letter_counts,
    }
    encoders = {}

    def fit(name):
        if name not in encoders:
            encoders[name] = make_encoder(specs.get(name, name)).fit(topics[0])
        return encoders[name]

    return fit


# -- encoders of texts


@each_encoder
def test_embeddings_are_finite_floats_in_the_order_of_the_texts(name, fitted, topics):
    encoder, texts = fitted(name), topics[0]
    h = encoder.embed(texts)
    assert (h.dtype, h.shape) == (np.float32, (90, encoder.dim))
    assert np.isfinite(h).all()
    np.testing.assert_allclose(encoder.embed(texts[::-1])[::-1], h, atol=1e-5)


@each_encoder
def test_a_row_depends_on_its_own_text_only(name, fitted, topics):
    encoder, texts = fitted(name), topics[0][:30]
    alone = np.concatenate([encoder.embed([text]) for text in texts])
    np.testing.assert_allclose(alone, encoder.embed(texts), atol=2e-6)


@each_encoder
def test_unusual_texts_have_finite_embeddings(name, fitted):
    h = fitted(name).embed(UNUSUAL)
    assert h.shape[0] == len(UNUSUAL)
    assert np.isfinite(h).all()


@each_encoder
def test_state_and_settings_define_the_encoder(name, fitted, topics):
    encoder = fitted(name)
    again = make_encoder(encoder)
    again.restore(encoder.state())
    np.testing.assert_array_equal(again.embed(topics[0][:20]), encoder.embed(topics[0][:20]))
    assert again.dim == encoder.dim
    assert again.fingerprint() == encoder.fingerprint()


@each_encoder
def test_an_encoder_can_be_pickled(name, fitted, topics):
    encoder = fitted(name)
    again = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(again.embed(topics[0][:5]), encoder.embed(topics[0][:5]))


@each_encoder
def test_before_training_its_networks_embed_as_the_encoder(name, fitted, topics):
    encoder, texts = fitted(name), topics[0][:10]
    frozen, trainable = encoder.frozen_network(), encoder.network(trainable_layers=1)
    assert not [weight for weight in frozen.parameters() if weight.requires_grad]
    assert [weight for weight in trainable.parameters() if weight.requires_grad]
    for network in (frozen, *([] if trainable.from_scratch else [trainable])):
        assert network.dim == encoder.dim
        np.testing.assert_allclose(network.embed(texts), encoder.embed(texts), atol=1e-6)


@each_encoder
def test_a_model_keeps_its_labels_after_save_and_load(name, fitted, topics, tmp_path):
    model = coterie.KMeans(n_clusters=3, encoder=make_encoder(fitted(name)), n_init=1).fit(topics[0])
    model.save(tmp_path / "model")
    own = {"encoder": letter_counts} if name == "custom" else {"allow": True}
    np.testing.assert_array_equal(coterie.load(tmp_path / "model", **own).predict(topics[0]), model.labels_)


# -- encoders of images


@each_image_encoder
def test_a_row_depends_on_its_own_image_only(name):
    encoder = make_encoder(name)
    images = encoder.check(IMAGES).unique
    h = encoder.fit(images).embed(images)
    assert (h.dtype, h.shape) == (np.float32, (40, encoder.dim))
    assert np.isfinite(h).all()
    np.testing.assert_array_equal(encoder.embed(images[::-1])[::-1], h)
    np.testing.assert_array_equal(np.concatenate([encoder.embed(images[i : i + 1]) for i in range(40)]), h)


@each_image_encoder
def test_a_black_image_has_a_finite_embedding(name):
    encoder = make_encoder(name)
    images = encoder.check(IMAGES).unique
    assert np.isfinite(encoder.fit(images).embed(np.zeros_like(images[:2]))).all()


@each_image_encoder
def test_state_and_settings_define_the_encoder_of_images(name):
    encoder = make_encoder(name)
    images = encoder.check(IMAGES).unique
    encoder.fit(images)
    again = make_encoder(encoder)
    again.restore(encoder.state())
    np.testing.assert_array_equal(again.embed(images), encoder.embed(images))
    assert again.dim == encoder.dim


@each_image_encoder
def test_a_model_of_images_keeps_its_labels_after_save_and_load(name, tmp_path):
    model = coterie.KMeans(n_clusters=5, encoder=name, n_init=1).fit(IMAGES)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(coterie.load(tmp_path / "model").predict(IMAGES), model.labels_)


# -- declarations and wrong input


@pytest.mark.parametrize("cls", ENCODERS.values(), ids=ENCODERS.keys())
def test_encoder_and_settings_are_documented(cls):
    assert not cls.__doc__.startswith(f"{cls.__name__}(")  # the text that dataclass makes up
    assert all(f.metadata["help"] for f in fields(cls))
    assert cls.main_setting == "" or cls.main_setting in {f.name for f in fields(cls)}
    assert cls.input_type in {"texts", "images", "vectors"}


@pytest.mark.parametrize("cls", [c for c in ENCODERS.values() if c.input_type != "vectors"], ids=lambda cls: cls.name)
def test_the_default_augmenter_makes_views_of_what_the_encoder_reads(cls):
    name = cls.default_augmenter or "dropout"
    assert AUGMENTERS[name].input_type == cls.input_type


def test_a_value_after_the_colon_of_an_encoder_without_a_main_setting_is_refused():
    with pytest.raises(InputError, match="takes nothing after a colon"):
        make_encoder("tfidf:2000")


def test_texts_are_refused_as_vectors():
    with pytest.raises(InputError, match="takes vectors, rows of numbers"):
        coterie.KMeans(n_clusters=2, encoder="precomputed").fit(["some", "texts"])


def test_vectors_are_refused_as_texts():
    with pytest.raises(InputError, match="encoder='precomputed'"):
        coterie.KMeans(n_clusters=2, encoder="tfidf").fit(np.zeros((5, 3)))
