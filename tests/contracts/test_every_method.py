"""A new file in coterie/methods is covered without editing this one."""

import inspect
import re
from dataclasses import fields

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

import coterie
from coterie.clusterer import METHODS, BlankTextWarning
from coterie.errors import InputError, NotFittedError

each_method = pytest.mark.parametrize("cls", METHODS.values(), ids=METHODS.keys())


@pytest.fixture(scope="module")
def fitted(topics):
    texts, _ = topics
    cache = {}

    def fit(cls):
        return cache.setdefault(cls, cls(n_clusters=3, encoder="tfidf").fit(texts))

    return fit


@each_method
def test_finds_three_obvious_topics(cls, fitted, topics):
    model = fitted(cls)
    assert adjusted_rand_score(topics[1], model.labels_) > 0.9
    assert set(model.labels_) == {0, 1, 2}
    assert model.cluster_centers_.shape[0] == 3


@each_method
def test_probabilities_sum_to_one_and_agree_with_predict(cls, fitted, topics):
    model = fitted(cls)
    q = model.predict_proba(topics[0])
    np.testing.assert_allclose(q.sum(axis=1), 1, atol=1e-9)
    assert (q >= 0).all()
    np.testing.assert_array_equal(q.argmax(axis=1), model.predict(topics[0]))
    np.testing.assert_allclose(q.max(axis=1), model.confidence_)


@each_method
def test_training_texts_keep_their_labels(cls, fitted, topics):
    model = fitted(cls)
    np.testing.assert_array_equal(model.predict(topics[0]), model.labels_)


@each_method
def test_training_texts_keep_their_labels_after_save_and_load(cls, fitted, topics, tmp_path):
    model = fitted(cls)
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(topics[0]), model.labels_)
    np.testing.assert_array_equal(loaded.predict_proba(topics[0]), model.predict_proba(topics[0]))
    np.testing.assert_array_equal(loaded.labels_, model.labels_)
    np.testing.assert_array_equal(loaded.cluster_centers_, model.cluster_centers_)
    np.testing.assert_array_equal(loaded.transform(topics[0][:5]), model.transform(topics[0][:5]))


@each_method
def test_same_seed_same_everything(cls, fitted, topics):
    again = cls(n_clusters=3, encoder="tfidf").fit(topics[0])
    np.testing.assert_array_equal(again.labels_, fitted(cls).labels_)
    np.testing.assert_array_equal(again.cluster_centers_, fitted(cls).cluster_centers_)


@each_method
def test_an_answer_does_not_depend_on_the_other_texts(cls, fitted, topics):
    model, texts = fitted(cls), topics[0]
    together = model.predict_proba(texts)
    alone = np.concatenate([model.predict_proba([text]) for text in texts[:10]])
    np.testing.assert_allclose(alone, together[:10], atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(texts[::-1])[::-1], together, atol=1e-12)


@each_method
def test_equal_texts_get_equal_labels_and_weigh_what_they_count(cls, topics):
    texts = topics[0] + topics[0][:30] * 3
    labels = cls(n_clusters=3, encoder="tfidf").fit_predict(texts)
    np.testing.assert_array_equal(labels[:30], labels[90:120])
    assert len(labels) == len(texts)


@each_method
def test_blank_texts_keep_their_place_without_a_cluster(cls, topics):
    texts = ["", *topics[0], " \u200b "]
    with pytest.warns(BlankTextWarning, match="2 of 92 texts are blank"):
        model = cls(n_clusters=3, encoder="tfidf").fit(texts)
    assert (model.labels_[[0, -1]] == -1).all()
    assert (model.labels_[1:-1] >= 0).all()
    with pytest.warns(BlankTextWarning):
        q = model.predict_proba(texts)
    assert np.isnan(q[[0, -1]]).all()
    with pytest.raises(InputError, match="row 1"):
        cls(n_clusters=3, encoder="tfidf", on_empty="error").fit(texts)


@each_method
@pytest.mark.parametrize("n_clusters", [2, 5, 13])
def test_the_number_of_clusters_is_honoured(cls, topics, n_clusters):
    model = cls(n_clusters=n_clusters, encoder="tfidf").fit(topics[0])
    assert len(model.cluster_centers_) == n_clusters
    assert model.predict_proba(topics[0]).shape == (90, n_clusters)
    assert len(set(model.labels_)) == n_clusters


@each_method
def test_true_labels_cannot_leak(cls, fitted, topics):
    texts, topic = topics
    with_labels = cls(n_clusters=3, encoder="tfidf").fit(texts, topic)
    np.testing.assert_array_equal(with_labels.labels_, fitted(cls).labels_)


@each_method
def test_vectors_may_be_reversed_or_read_only(cls):
    h = (np.random.default_rng(0).normal(size=(40, 4)) + 4 * np.eye(4)[np.arange(40) % 2]).astype(np.float32)
    locked = h[::-1].copy()
    locked.setflags(write=False)
    model = cls(n_clusters=2, encoder="precomputed").fit(h[::-1])
    np.testing.assert_array_equal(cls(n_clusters=2, encoder="precomputed").fit(locked).labels_, model.labels_)
    np.testing.assert_array_equal(model.predict(h)[::-1], model.labels_)


@each_method
def test_the_random_numbers_of_the_caller_stay_as_they_are(cls, topics, tmp_path):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    cls(n_clusters=3, encoder="tfidf").fit(topics[0]).save(tmp_path / "model")
    coterie.load(tmp_path / "model")
    assert torch.equal(torch.get_rng_state(), before)


@each_method
def test_clone_and_params(cls):
    model = cls(n_clusters=5, encoder="bow")
    assert clone(model).get_params() == model.get_params()
    assert set(model.get_params()) == {f.name for f in fields(cls)}


@each_method
def test_too_few_texts_is_said_in_numbers(cls):
    with pytest.raises(InputError, match=r"4 clusters need at least 4 distinct texts, but there are 2 \(of 3 rows"):
        cls(n_clusters=4, encoder="tfidf").fit(["one text", "one text", "another text"])


@each_method
def test_all_equal_vectors_are_refused_not_half_clustered(cls):
    with pytest.raises(InputError, match="fewer clusters"):
        cls(n_clusters=3, encoder="tfidf").fit(["same words", "words same", "Same Words", "WORDS same"])


@each_method
def test_a_bad_setting_is_named(cls, topics):
    with pytest.raises(InputError, match=f"{cls.__name__}: `n_clusters` must be a whole number and >= 1, got 0"):
        cls(n_clusters=0).fit(topics[0])


@each_method
def test_before_fit_it_says_so(cls, topics):
    for use in (lambda m: m.predict(topics[0]), lambda m: m.cluster_centers_, lambda m: m.save("nowhere")):
        with pytest.raises(NotFittedError, match=r"Call .fit."):
            use(cls())


@each_method
def test_documented(cls):
    header = inspect.getmodule(cls).__doc__
    assert re.search(r"^Paper: (http\S+|none) - Code: ", header, flags=re.M)
    assert cls.__doc__
    assert all(f.metadata["help"] for f in fields(cls))
