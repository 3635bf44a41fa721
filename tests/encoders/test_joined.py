"""The encoder `joined`: the embeddings of several encoders side by side."""

import json

import numpy as np
import pytest

import coterie
from coterie.encoders.encoder import input_type_of, make_encoder
from coterie.encoders.joined import JoinedEncoder
from coterie.encoders.tfidf import TfidfEncoder
from coterie.encoders.transformer import TransformerEncoder
from coterie.errors import InputError, NotFittedError
from coterie.experiments.embedding_cache import CachedEncoder
from coterie.experiments.jobs import expand


def centered(h):
    h = h - h.mean(axis=0)
    return h / np.linalg.norm(h, axis=1, keepdims=True)


def test_each_part_is_centered_and_has_length_one(topics):
    texts = topics[0]
    joined, parts = make_encoder("tfidf+bow").fit(texts), [make_encoder(name).fit(texts) for name in ("tfidf", "bow")]
    expected = np.hstack([centered(part.embed(texts)) for part in parts]) / np.sqrt(2)
    np.testing.assert_allclose(joined.embed(texts), expected, atol=1e-6)
    np.testing.assert_array_equal(joined.embed(texts)[:7], joined.embed(texts[:7]))  # centered by the training texts


def test_the_cosine_is_the_weighted_mean_of_the_cosines(topics):
    texts = topics[0]
    parts = [centered(make_encoder(name).fit(texts).embed(texts)) for name in ("tfidf", "bow")]
    h = make_encoder("joined(encoders=tfidf+bow,weights=3+1)").fit(texts).embed(texts)
    np.testing.assert_allclose(h @ h.T, 0.75 * parts[0] @ parts[0].T + 0.25 * parts[1] @ parts[1].T, atol=1e-5)


def test_a_text_that_equals_the_mean_is_the_zero_vector():
    h = make_encoder("tfidf+bow").fit(["red fish", "red fish"]).embed(["red fish", "blue"])
    assert not h[0].any()
    assert np.isfinite(h).all()


@pytest.mark.parametrize(
    ("given", "encoders"),
    [
        ("tfidf + bow(stop_words=true)", "tfidf+bow(stop_words=True)"),
        ("joined:tfidf+bow", "tfidf+bow"),
        (["tfidf", "bow"], "tfidf+bow"),
        (["tfidf+bow", TfidfEncoder(max_features=9)], "tfidf+bow+tfidf(max_features=9)"),
        ("transformer:/c++/folder+bow", "transformer(model=/c++/folder)+bow"),
        ("bow+transformer(model=/a+tfidf,pooling=cls)", "bow+transformer(pooling=cls,model=/a+tfidf)"),
    ],
)
def test_encoders_are_joined_by_a_plus_or_in_a_list(given, encoders):
    encoder = make_encoder(given)
    assert isinstance(encoder, JoinedEncoder)
    assert encoder.params() == {"encoders": encoders, "weights": ""}
    assert [part.params() for part in make_encoder(encoder).parts] == [part.params() for part in encoder.parts]
    assert input_type_of(given) == "texts"


def test_a_plus_in_the_path_of_one_encoder_joins_nothing():
    assert make_encoder("transformer:/c++/folder").params()["model"] == "/c++/folder"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("tfidf+bwo", "no encoder called 'bwo'. Did you mean 'bow'"),
        ("tfidf+", "nothing stands before or after a"),
        ("tfidf+image", "'image' reads images; only encoders of texts can be joined"),
        ([], "No encoder is named"),
        ([TransformerEncoder(model="/a(1"), "bow"], "has unmatched brackets. Rename it"),
        ("joined(encoders=tfidf+bow,weights=1)", "`weights` must be 2 positive numbers separated by"),
        ("joined(encoders=tfidf+bow,weights=1+x)", "`weights` must be 2 positive numbers separated by"),
        ("joined(encoders=tfidf+bow,weights=1+0)", "`weights` must be 2 positive numbers separated by"),
    ],
)
def test_what_cannot_be_joined_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        make_encoder(given)


def test_before_fit_there_is_no_mean():
    with pytest.raises(NotFittedError, match="Call fit first"):
        make_encoder("tfidf+bow").embed(["red fish"])


def test_the_training_texts_are_encoded_once(topics, monkeypatch):
    calls, embed = [], TfidfEncoder.embed
    monkeypatch.setattr(TfidfEncoder, "embed", lambda self, items: calls.append(len(items)) or embed(self, items))
    coterie.KMeans(n_clusters=3, encoder="tfidf+bow").fit(topics[0])
    assert calls == [len(set(topics[0]))]


def test_a_model_that_trains_learns_a_layer_above_joined_encoders(topics, tmp_path):
    settings = {"encoder": ["tfidf", "bow"], "epochs": 1, "max_steps": 2, "batch_size": 20}
    model = coterie.SCCL(n_clusters=3, **settings).fit(topics[0])
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(topics[0]), model.labels_)
    config = json.loads((tmp_path / "model" / "config.json").read_text())["encoder"]
    assert config["params"] == {"encoders": "tfidf+bow", "weights": ""}


@pytest.mark.parametrize("form", ["{}", "joined:{}", "joined(encoders={})"])
def test_a_benchmark_gives_the_settings_of_a_recipe_to_every_part(form):
    encoders = "bundled(max_length=128)+e5(max_length=16)+tfidf"  # 128 is the default, and said nevertheless
    job = expand(["neighbors"], ["tweet"], 1, "cpu", encoder=form.format(encoders))[0]
    bundled, e5 = "bundled(precision=float32)", "e5(max_length=16,precision=float32)"
    assert job.encoder_params == {"encoders": f"{bundled}+{e5}+tfidf", "weights": ""}


def test_the_cache_of_a_benchmark_holds_the_parts(topics, tmp_path, monkeypatch):
    texts = topics[0]
    first = CachedEncoder(inner="tfidf+bow", folder=tmp_path).fit(texts)
    h = first.embed(texts)
    monkeypatch.setattr(TfidfEncoder, "embed", None)  # computing the embeddings again would fail
    again = CachedEncoder(inner="tfidf+bow", folder=tmp_path).fit(texts)
    np.testing.assert_array_equal(again.embed(texts), h)
    assert again.seconds(texts) == first.seconds(texts) is not None
