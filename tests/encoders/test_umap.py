"""UMAP above another encoder: places of training texts and new ones, and what is refused."""

import numpy as np
import pytest

import coterie
from coterie.encoders.encoder import EncoderState, make_encoder
from coterie.encoders.umap import lift
from coterie.errors import InputError, MissingExtraError


@pytest.fixture(scope="module")
def model(topics):
    """HDBSCAN on UMAP coordinates, as BERTopic does it; UMAP compiles once."""
    return coterie.HDBSCAN(encoder="umap(n_components=3):tfidf").fit(topics[0])


def test_hdbscan_on_umap_finds_the_number_of_topics(model, topics):
    assert (model.n_clusters_, model.n_outliers_) == (3, 0)
    assert [len(set(model.labels_[topics[1] == topic])) for topic in range(3)] == [1, 1, 1]
    assert model.transform(topics[0]).shape == (90, 4)


def test_new_texts_are_placed_among_their_neighbors(model, topics, tmp_path):
    new = ["goal match team", "stock bank profit", "gene cell virus"]
    assert not set(new) & set(topics[0])
    np.testing.assert_array_equal(model.predict(new), model.labels_[:3])
    places = model.encoder_.embed(topics[0])
    place = model.encoder_.embed(new[:1])[0]
    assert np.linalg.norm(place) == pytest.approx(1, abs=1e-6)
    assert (places @ place).argmax() % 3 == 0
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(new), model.transform(new))
    assert loaded.n_outliers_ == 0


def test_umap_gets_the_nearest_texts_by_cosine(topics, monkeypatch):
    given = {}

    def record(h, n_components, graph, *_):
        given.update(h=h, graph=graph)
        return h[:, :n_components]

    monkeypatch.setattr("coterie.encoders.umap.reduce_dimensions", record)
    make_encoder("umap(n_neighbors=4):bow").fit(topics[0])  # counts of words are not of unit length
    unit = given["h"] / np.linalg.norm(given["h"], axis=1, keepdims=True)
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -1)
    assert given["graph"].indices.shape == (len(unit), 3)  # and the text itself
    np.testing.assert_allclose(given["graph"].similarities, np.sort(cosine)[:, :-4:-1], atol=1e-6)


def test_nearer_coordinates_have_a_larger_cosine_after_the_lift():
    x = np.random.default_rng(0).normal(size=(30, 2)).astype(np.float32) * 5 + 100
    h = lift(x)
    np.testing.assert_allclose(np.linalg.norm(h, axis=1), 1, atol=1e-6)
    middle = np.argmin(np.linalg.norm(x - x.mean(axis=0), axis=1))
    nearest = np.linalg.norm(x - x[middle], axis=1).argsort()[:4]
    assert set((-h @ h[middle]).argsort()[:4]) == set(nearest)


def test_without_the_extra_it_is_named(topics, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "umap", None)
    with pytest.raises(MissingExtraError, match=r"coterie\[umap\]"):
        make_encoder("umap:tfidf").fit(topics[0])


def test_encoders_of_images_and_too_few_texts_are_refused():
    with pytest.raises(InputError, match="reads images; umap needs texts"):
        make_encoder("umap:image")
    with pytest.raises(InputError, match="too many encoders inside each other"):
        make_encoder("umap:" * 3_000 + "tfidf")
    with pytest.raises(InputError, match="at least 3 different texts, but there are 2"):
        make_encoder("umap:tfidf").fit(["one text", "another text"])


@pytest.mark.parametrize(
    ("tensors", "message"),
    [({"places": np.zeros((2, 4), np.float32)}, "places of"), ({"memory.check": np.zeros(3)}, "other tensors")],
)
def test_a_state_that_does_not_fit_is_refused(model, tensors, message):
    state = model.encoder_.state()
    with pytest.raises(InputError, match=message):
        make_encoder("umap(n_components=3):tfidf").restore(EncoderState(state.tensors | tensors, state.words))
