import numpy as np
import pytest

from coterie import arrays
from coterie.arrays import unit_rows
from coterie.words import tfidf_svd as tfidf_svd_module
from coterie.words.tfidf_svd import fuse, tfidf_svd

FRUIT = ["red apple pie", "red apple cake"]
WHALES = ["blue whale song", "blue whale film"]


def test_texts_that_share_words_have_similar_features():
    x = tfidf_svd((FRUIT + WHALES) * 3, n_components=100, seed=0)
    assert x[0] @ x[1] > 0.5 > x[0] @ x[2]


@pytest.mark.parametrize(
    "texts", [["天気がいい", "天気が悪い", "電車が遅れた", "電車が混んだ"], ["aaab", "aaac", "xxxy", "xxxz"]]
)
def test_texts_without_shared_words_are_compared_by_characters(texts):
    x = tfidf_svd(texts, n_components=10, seed=0)
    assert x[0] @ x[1] > x[0] @ x[2]


def test_texts_that_share_nothing_have_no_features():
    assert tfidf_svd(["a", "b", "c"], n_components=10, seed=0) is None


def test_vocabulary_of_many_texts_comes_from_a_subsample(monkeypatch):
    monkeypatch.setattr(arrays, "EXACT_LIMIT", 30)
    monkeypatch.setattr(arrays, "_CHUNK_ROWS", 64)
    n_fitted = []
    vectorizer = tfidf_svd_module.TfidfVectorizer
    fit = vectorizer.fit

    def recorded(self, texts):
        n_fitted.append(len(texts))
        return fit(self, texts)

    monkeypatch.setattr(vectorizer, "fit", recorded)
    texts = [(FRUIT + WHALES)[i % 4] for i in range(200)] + ["nothing known"]
    x = tfidf_svd(texts, n_components=100, seed=0)
    assert n_fitted == [120]  # four times the limit
    assert len(x) == 201
    assert x[0] @ x[1] > 0.5 > x[0] @ x[2]
    np.testing.assert_array_equal(x[200], 0)


def test_fused_similarity_is_the_weighted_mean():
    rng = np.random.default_rng(0)
    a = unit_rows(rng.normal(size=(5, 6)))
    b = unit_rows(rng.normal(size=(5, 9)))
    fused = fuse(a, b, 0.3)
    np.testing.assert_allclose(fused @ fused.T, 0.7 * a @ a.T + 0.3 * b @ b.T, atol=1e-5)
