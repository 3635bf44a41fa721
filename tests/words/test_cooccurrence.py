import sys

import numpy as np
import pytest

from coterie.errors import InputError, MissingExtraError
from coterie.words.cooccurrence import _cooccurrences, word_vectors
from coterie.words.vocabulary import Vocabulary


@pytest.mark.parametrize("source", ["ppmi", "skipgram", "glove"])
def test_words_of_one_topic_are_more_similar(topics, source):
    if source == "skipgram":
        pytest.importorskip("gensim")
    texts = topics[0] * 30  # skip-gram needs many texts
    vocabulary = Vocabulary.from_texts(texts)
    vectors = word_vectors(vocabulary, texts, source, dim=12, seed=0)
    assert vectors.shape == (21, 12)
    bank, market, team = (vectors[vocabulary.index[word], :-1] for word in ("bank", "market", "team"))
    assert bank @ market > bank @ team
    np.testing.assert_allclose(np.linalg.norm(vectors[:, :-1], axis=1), 1, atol=1e-5)
    assert vectors[:, -1].mean() == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("source", ["ppmi", "skipgram"])
def test_the_seed_decides_the_vectors(topics, source):
    if source == "skipgram":
        pytest.importorskip("gensim")
    texts, _ = topics
    vocabulary = Vocabulary.from_texts(texts)
    vectors = word_vectors(vocabulary, texts, source, dim=12, seed=0)
    np.testing.assert_array_equal(vectors, word_vectors(vocabulary, texts, source, dim=12, seed=0))


def test_the_last_number_is_the_standardized_log_frequency():
    vocabulary = Vocabulary(["rare", "usual"])
    vectors = word_vectors(vocabulary, ["usual rare", "usual", "usual words"], "ppmi", dim=4, seed=0)
    np.testing.assert_allclose(vectors[:, -1], [-1, 1], atol=1e-6)


def test_cooccurrences_are_counted_within_the_window_of_a_text():
    vocabulary = Vocabulary(["aa", "bb", "cc"])
    sentences = [["aa", "bb", "aa", "cc"], ["bb", "aa", "aa", "aa", "aa", "cc"]]
    # the last cc is five words after bb, which is outside the window
    np.testing.assert_array_equal(_cooccurrences(vocabulary, sentences).toarray(), [[14, 6, 6], [6, 0, 1], [6, 1, 0]])


def test_words_that_never_occur_together_have_no_direction():
    vectors = word_vectors(Vocabulary(["aa", "bb"]), ["aa", "bb"], "ppmi", dim=3, seed=0)
    np.testing.assert_array_equal(vectors, np.zeros((2, 3)))


def test_vectors_of_a_file_or_folder_are_reduced_or_padded(tmp_path):
    file = tmp_path / "vectors.txt"
    file.write_text("red 1 0 0\nblue 0 3 4\n", encoding="utf-8")
    vocabulary = Vocabulary(["blue", "green", "red"])
    texts = ["red blue", "green"]
    for source in (tmp_path, file):
        padded = word_vectors(vocabulary, texts, str(source), dim=6, seed=0)
        np.testing.assert_allclose(padded[:, :-1], [[0, 0.6, 0.8, 0, 0], [0] * 5, [1, 0, 0, 0, 0]], atol=1e-6)
    reduced = word_vectors(vocabulary, texts, str(tmp_path), dim=3, seed=0)
    np.testing.assert_allclose(np.linalg.norm(reduced[:, :-1], axis=1), [1, 0, 1], atol=1e-6)


def test_a_folder_must_contain_exactly_one_file(tmp_path):
    with pytest.raises(InputError, match="must contain exactly one file of vectors"):
        word_vectors(Vocabulary(["red"]), ["red"], str(tmp_path), dim=4, seed=0)


def test_a_file_of_another_language_is_refused(tmp_path):
    file = tmp_path / "other.txt"
    file.write_text("schwarz 1 0\ngelb 0 1\n", encoding="utf-8")
    with pytest.raises(InputError, match="contains 0 of the 2 words of these texts"):
        word_vectors(Vocabulary(["blue", "red"]), ["red blue"], str(file), dim=4, seed=0)


def test_without_gensim_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'coterie\[word2vec\]'"):
        word_vectors(Vocabulary(["blue", "red"]), ["red blue"], "skipgram", dim=4, seed=0)
