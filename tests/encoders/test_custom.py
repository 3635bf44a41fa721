"""Encoders of the user's own: functions, and objects with `.encode`."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone

import coterie
from coterie.encoders.encoder import ENCODERS, input_type_of, make_encoder
from coterie.errors import ArtifactError, EncoderError, InputError

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def letter_counts(texts):
    return [[text.count(letter) for letter in LETTERS] for text in texts]


class Client:
    """As sentence-transformers: an object with `.encode` that is costly to copy."""

    def __init__(self):
        self.sizes = []

    def encode(self, texts):
        self.sizes.append(len(texts))
        return torch.tensor(letter_counts(texts), dtype=torch.float32, requires_grad=True)

    def __deepcopy__(self, memo):
        raise TypeError("cannot be copied")


@pytest.mark.parametrize("own", [letter_counts, Client()], ids=["function", "object"])
def test_a_model_clusters_and_assigns_with_the_encoder_of_the_user(own, topics, tmp_path):
    model = clone(coterie.KMeans(n_clusters=3, encoder=own)).fit(topics[0])
    assert input_type_of(own) == "texts"
    np.testing.assert_array_equal(model.transform(topics[0][:2]), letter_counts(topics[0][:2]))
    np.testing.assert_array_equal(model.predict(topics[0]), model.labels_)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(coterie.load(tmp_path / "model", encoder=own).predict(topics[0]), model.labels_)


def test_the_texts_are_encoded_once_and_in_batches(topics):
    client = Client()
    texts = [f"text {'ab'[i % 2]} {i}" for i in range(1500)]
    coterie.KMeans(n_clusters=2, encoder=client, n_init=1).fit(texts)
    assert client.sizes == [2, 1024, 476]  # two probes, and the texts
    coterie.KMeans(n_clusters=2, encoder=client, n_init=1).fit(texts, vectors=letter_counts(texts))
    assert client.sizes[3:] == [2, 8]  # two probes, and some texts to compare with their vectors


@pytest.mark.parametrize("method", [coterie.Refine, coterie.SCCL, coterie.DEC])
def test_a_method_that_trains_encodes_the_texts_once_too(method):
    client = Client()
    texts = [f"text {'ab'[i % 2]} {i}" for i in range(300)]
    method(n_clusters=2, encoder=client, epochs=2, epoch_steps=1, guard="off").fit(texts)
    assert client.sizes == [2, 300]


def test_a_method_that_trains_learns_a_layer_above_it(topics):
    model = coterie.SCCL(n_clusters=3, encoder=letter_counts, epochs=1, max_steps=2, batch_size=20).fit(topics[0])
    np.testing.assert_array_equal(model.predict(topics[0]), model.labels_)


def test_a_saved_model_says_what_it_needs(topics, tmp_path):
    coterie.KMeans(n_clusters=3, encoder=Client()).fit(topics[0]).save(tmp_path / "model")
    params = json.loads((tmp_path / "model" / "config.json").read_text())["encoder"]["params"]
    assert params == {"needs": "an object of the class test_custom.Client"}
    loaded = coterie.load(tmp_path / "model")
    assert len(loaded.describe()) == 3
    with pytest.raises(EncoderError, match=r"needs its encoder: an object of the class test_custom\.Client\. Give it"):
        loaded.predict(["goal"])
    with pytest.raises(
        EncoderError, match=r"the function .*<lambda> returns other vectors than the encoder of this model"
    ):
        coterie.load(tmp_path / "model", encoder=lambda texts: np.eye(26)[[len(text) % 26 for text in texts]])


def test_a_model_with_another_encoder_takes_none(topics, tmp_path):
    coterie.KMeans(n_clusters=3, encoder="tfidf").fit(topics[0]).save(tmp_path / "model")
    with pytest.raises(ArtifactError, match="has the encoder 'tfidf', which is loaded without `encoder`"):
        coterie.load(tmp_path / "model", encoder=letter_counts)


def test_it_can_be_joined_but_then_not_saved(topics, tmp_path):
    model = coterie.KMeans(n_clusters=3, encoder=["tfidf", letter_counts]).fit(topics[0])
    np.testing.assert_array_equal(model.predict(topics[0]), model.labels_)
    with pytest.raises(InputError, match="cannot be saved"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (lambda texts: letter_counts(texts)[:-1], r"shape \(1, 26\) for 2 texts, not one vector for each"),
        (lambda texts: 3, r"shape \(\) for 2 texts"),
        (lambda texts: [["x"] for _ in texts], "does not return one vector of numbers for each text"),
        (lambda texts: [[1, 2], [1]], "does not return one vector of numbers for each text"),
        (lambda texts: [[np.nan] for _ in texts], "returns NaN or infinity"),
    ],
)
def test_a_wrong_result_is_named(own, message):
    with pytest.raises(EncoderError, match=message):
        make_encoder(own).fit(["red", "blue"])


def test_what_is_not_an_encoder_is_refused():
    with pytest.raises(InputError, match=r"is the class Client, not an object of it. Call it first: Client\(\.\.\.\)"):
        make_encoder(Client)
    with pytest.raises(InputError, match="`encoder` must be a word or Encoder or list"):
        coterie.KMeans(n_clusters=2, encoder=3).fit(["red", "blue"])
    with pytest.raises(EncoderError, match="Give it in Python"):
        make_encoder("custom").fit(["red"])


# -- the vectors of the texts given to `fit`


@pytest.mark.filterwarnings("ignore::coterie.errors.BlankTextWarning")
def test_vectors_of_the_encoder_replace_encoding(topics):
    texts = [*topics[0], "", topics[0][0]]
    model = coterie.KMeans(n_clusters=3, encoder="tfidf").fit(texts)
    given = coterie.KMeans(n_clusters=3, encoder="tfidf").fit(texts, vectors=model.transform(texts))
    np.testing.assert_array_equal(given.labels_, model.labels_)
    np.testing.assert_array_equal(given.predict(texts), given.labels_)


def test_precomputed_vectors_are_described_by_the_texts(topics):
    h = np.array(letter_counts(topics[0]), dtype=np.float32)
    model = coterie.KMeans(n_clusters=3, encoder="precomputed").fit(topics[0], vectors=h)
    np.testing.assert_array_equal(model.predict(h), model.labels_)
    assert all(set(row.examples) <= set(topics[0]) and row.keywords for row in model.describe())


@pytest.mark.parametrize(
    ("encoder", "vectors", "message"),
    [
        ("tfidf", np.ones((90, 7)), "are not the embeddings of these texts by this encoder"),
        ("tfidf", np.ones((89, 7)), "There are 89 `vectors` for 90 texts"),
        ("precomputed", np.ones((89, 7)), "There are 89 `vectors` for 90 texts"),
        ("tfidf", np.full((90, 21), np.nan), "`vectors` must be finite numbers"),
        ("tfidf", [["x"]] * 90, "`vectors` must be an array of numbers"),
    ],
)
def test_wrong_vectors_are_refused(topics, encoder, vectors, message):
    with pytest.raises(InputError, match=message):
        coterie.KMeans(n_clusters=3, encoder=encoder).fit(topics[0], vectors=vectors)


def test_a_method_that_trains_does_not_take_vectors_of_its_encoder(topics):
    with pytest.raises(InputError, match="SCCL trains the encoder on the texts, so `vectors` of them cannot be used"):
        coterie.SCCL(n_clusters=3, encoder="tfidf").fit(topics[0], vectors=np.ones((90, 21)))


def test_the_encoder_of_the_documentation_works(topics, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "encoders.md").read_text(encoding="utf-8")
    code = next(
        block for block in re.findall(r"```python\n(.*?)```", page, flags=re.S) if "class LengthEncoder" in block
    )
    monkeypatch.setattr(ENCODERS, "_classes", dict(ENCODERS.items()))
    exec(code, {"__name__": "my_package"})
    model = coterie.KMeans(n_clusters=2, encoder="length(scale=0.1)").fit(topics[0])
    np.testing.assert_allclose(model.transform(["two words"]), [[0.9, 0.2]], atol=1e-6)
