"""Encoders of word counts and word vectors: bow, tfidf, sif."""

import numpy as np
import pytest

from coterie.encoders.bow import BowEncoder
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


@pytest.mark.parametrize("cls", [BowEncoder, TfidfEncoder])
def test_texts_without_words_are_refused(cls):
    with pytest.raises(InputError, match="finds no word of two letters"):
        cls().fit(["a", "?", "🙂"])


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
