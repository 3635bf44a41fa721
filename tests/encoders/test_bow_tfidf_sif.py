"""Encoders of word counts and word vectors: bow, tfidf, sif."""

import numpy as np
import pytest

from coterie.encoders.bow import BowEncoder
from coterie.encoders.cnn import CNNEncoder
from coterie.encoders.encoder import EncoderState
from coterie.encoders.sif import SifEncoder
from coterie.encoders.tfidf import TfidfEncoder
from coterie.errors import InputError, MissingExtraError, NotFittedError

TEXTS = ["red red blue", "blue green", "green green green red"]


def test_bow_counts_words():
    h = BowEncoder().fit(TEXTS).embed(TEXTS)
    np.testing.assert_array_equal(h, [[1, 0, 2], [1, 1, 0], [0, 3, 1]])  # blue, green, red


def test_tfidf_is_count_times_idf_scaled_to_length_one():
    h = TfidfEncoder().fit(TEXTS).embed(TEXTS)
    idf = np.log((1 + 3) / (1 + np.array([2, 2, 2]))) + 1  # every word is in two of three texts
    expected = np.array([[1, 0, 2], [1, 1, 0], [0, 3, 1]]) * idf
    np.testing.assert_allclose(h, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("encoder", [BowEncoder(max_features=2), TfidfEncoder(max_features=2)])
def test_only_the_most_frequent_words_are_kept(encoder):
    assert encoder.fit(TEXTS).state().words["vocabulary"] == ["green", "red"]


@pytest.mark.parametrize("encoder", [BowEncoder(), TfidfEncoder(), SifEncoder(vectors="ppmi")])
def test_texts_without_words_are_refused(encoder):
    with pytest.raises(InputError, match="finds no word of two letters"):
        encoder.fit(["a", "?", "7"])


@pytest.mark.parametrize("cls", [BowEncoder, TfidfEncoder, SifEncoder])
def test_embedding_before_fit_is_an_error(cls):
    with pytest.raises(NotFittedError):
        cls().embed(["red"])


@pytest.fixture
def vectors(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("red 1 0 0\nblue 0 1 0\ngreen 0 0 1\n", encoding="utf-8")
    return path


def test_sif_equals_its_equation(vectors):
    a = 0.1
    p = {"red": 3 / 9, "blue": 2 / 9, "green": 4 / 9}
    unit = {"red": [1, 0, 0], "blue": [0, 1, 0], "green": [0, 0, 1]}
    rows = []
    for text in TEXTS:
        words = text.split()
        rows.append(sum(a / (a + p[w]) * np.array(unit[w], float) for w in words) / len(words))
    mean = np.array(rows)
    direction = np.linalg.svd(mean, full_matrices=False)[2][0]
    expected = mean - np.outer(mean @ direction, direction)
    h = SifEncoder(vectors=str(vectors), smoothing=a).fit(TEXTS).embed(TEXTS)
    np.testing.assert_allclose(h, expected, atol=1e-6)


def test_sif_gives_unknown_words_the_zero_vector(vectors):
    encoder = SifEncoder(vectors=str(vectors)).fit(TEXTS)
    np.testing.assert_array_equal(encoder.embed(["violet"]), np.zeros((1, 3)))


def test_a_word2vec_header_is_skipped(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("2 2\nred 1 0\nblue 0 1\n", encoding="utf-8")
    assert SifEncoder(vectors=str(path)).fit(["red blue"]).embed(["red"]).shape == (1, 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [("red 1 0\nblue 1\n", "line 2: 1 numbers, expected 2"), ("red x y\n", "line 1: not a word"), ("", "no word")],
)
def test_bad_vector_files_are_named_with_the_line(tmp_path, content, message):
    path = tmp_path / "vectors.txt"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        SifEncoder(vectors=str(path)).fit(["red"])


def test_missing_word_vectors_are_named(monkeypatch):
    with pytest.raises(InputError, match="no file of word vectors at nowhere"):
        SifEncoder(vectors="nowhere").fit(["red"])
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"coterie\[glove\]"):
        SifEncoder().fit(["red"])


COMPANY = ["dogs bark loudly", "cats purr loudly", "dogs bark often", "cats purr often"]


def test_vectors_trained_on_the_texts_are_the_directions_of_their_ppmi():
    encoder = SifEncoder(vectors="ppmi").fit(COMPANY)
    known = encoder._loaded()
    words = list(known.row)
    pairs = np.array([[sum({a, b} <= set(t.split()) for t in COMPANY) * (a != b) for b in words] for a in words])
    total = pairs.sum(axis=0)
    with np.errstate(divide="ignore"):
        ppmi = np.maximum(np.log(pairs * pairs.sum() / np.outer(total, total)), 0)
    values, directions = np.linalg.eigh(ppmi)
    kept = np.argsort(-abs(values))[: len(words) - 1]
    expected = directions[:, kept] * np.sqrt(abs(values[kept]))
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(known.vectors @ known.vectors.T, expected @ expected.T, atol=1e-5)


def test_vectors_trained_on_the_texts_need_no_package_and_leave_out_words_that_occur_once(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    texts = [*COMPANY, "hapax"]
    encoder = SifEncoder(vectors="ppmi", vector_size=3).fit(texts)
    h = encoder.embed(texts)
    assert h.shape == (5, encoder.dim) == (5, 3)
    np.testing.assert_array_equal(h[4], 0)
    assert h[:4].any(axis=1).all()
    assert encoder.outside_sources() == []


@pytest.mark.parametrize("cls", [SifEncoder, CNNEncoder])
def test_vectors_trained_on_the_texts_are_saved(cls):
    encoder = cls(vectors="ppmi").fit(COMPANY)
    copy = cls(vectors="ppmi")
    copy.restore(encoder.state())
    np.testing.assert_array_equal(copy.embed(COMPANY), encoder.embed(COMPANY))
    assert copy.fingerprint() == encoder.fingerprint() == ""


@pytest.mark.parametrize("texts", [["one"], ["one", "two"], ["same same same"], ["one", "?"], ["今日は", "🙂"]])
def test_texts_that_share_no_context_have_finite_embeddings(texts):
    assert np.isfinite(SifEncoder(vectors="ppmi").fit(texts).embed(texts)).all()


@pytest.mark.parametrize("vectors", [np.zeros((9, 2), np.float32), np.zeros(3, np.float32)])
def test_saved_vectors_that_do_not_belong_to_the_words_are_refused(vectors):
    state = SifEncoder(vectors="ppmi").fit(COMPANY).state()
    with pytest.raises(InputError, match="There are 6 words, but their vectors have the shape"):
        SifEncoder(vectors="ppmi").restore(EncoderState(state.tensors | {"vectors": vectors}, state.words))


def test_vectors_trained_on_the_texts_know_scripts_without_spaces():
    weather, food = ["今日は天気が良い", "明日は天気が悪い"] * 3, ["寿司を食べる", "毎日寿司を食べる"] * 3
    h = SifEncoder(vectors="ppmi").fit([*weather, *food]).embed(["天気", "天気が", "寿司"])
    assert np.linalg.norm(h[0] - h[1]) < np.linalg.norm(h[0] - h[2])


def test_vectors_trained_on_the_texts_need_texts_first():
    with pytest.raises(NotFittedError, match="has no word vectors yet"):
        _ = SifEncoder(vectors="ppmi").dim
