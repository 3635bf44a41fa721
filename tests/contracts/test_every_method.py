"""What every method guarantees on texts. A new file in coterie/methods is covered without a change here."""

import inspect
import re
from dataclasses import fields

import numpy as np
import pytest
import torch
from short_training import short
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

import coterie
from coterie.clusterer import METHODS
from coterie.errors import BlankTextWarning, InputError, NotFittedError, NumberOfClustersWarning

each_method = pytest.mark.parametrize("cls", METHODS.values(), ids=METHODS.keys())


@pytest.fixture(scope="module")
def fitted(topics):
    """Return a fitted model of a method; it is fitted once."""
    models = {}

    def fit(cls):
        if cls not in models:
            models[cls] = short(cls).fit(topics[0])
        return models[cls]

    return fit


# -- fit and predict


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
def test_predict_returns_the_labels_of_the_training_texts(cls, fitted, topics):
    model = fitted(cls)
    np.testing.assert_array_equal(model.predict(topics[0]), model.labels_)


@each_method
def test_a_loaded_model_equals_the_saved_one(cls, fitted, topics, tmp_path):
    model = fitted(cls)
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(topics[0]), model.labels_)
    np.testing.assert_array_equal(loaded.predict_proba(topics[0]), model.predict_proba(topics[0]))
    np.testing.assert_array_equal(loaded.labels_, model.labels_)
    np.testing.assert_array_equal(loaded.cluster_centers_, model.cluster_centers_)
    np.testing.assert_array_equal(loaded.transform(topics[0][:5]), model.transform(topics[0][:5]))
    assert loaded.describe() == model.describe()


@each_method
def test_a_row_does_not_depend_on_the_other_texts_to_the_last_bit(cls, fitted, topics):
    model, words = fitted(cls), sorted({word for text in topics[0] for word in text.split()})
    new = [f"{first} {second}" for first in words[:15] for second in words[5:]]  # more than one tile
    texts = topics[0][:5] + new
    together = model.predict_proba(texts)
    alone = np.concatenate([model.predict_proba([text]) for text in texts[::6]])
    np.testing.assert_array_equal(alone, together[::6])
    np.testing.assert_array_equal(model.predict_proba(texts[50:])[::-1], together[:49:-1])


@each_method
def test_the_order_of_the_rows_changes_nothing(cls, topics):
    texts = [*topics[0], "", *topics[0][:20]]  # with blank texts and duplicates
    order = np.random.default_rng(1).permutation(len(texts))
    with pytest.warns(BlankTextWarning):
        model, permuted = short(cls).fit(texts), short(cls).fit([texts[i] for i in order])
    np.testing.assert_array_equal(permuted.labels_, model.labels_[order])
    np.testing.assert_array_equal(permuted.confidence_, model.confidence_[order])
    np.testing.assert_array_equal(permuted.cluster_centers_, model.cluster_centers_)
    assert permuted.clusters_ == model.clusters_
    assert permuted.tree_ == model.tree_


@pytest.mark.parametrize("cls", [cls for cls in METHODS.values() if not cls.finds_n_clusters], ids=lambda cls: cls.name)
@pytest.mark.parametrize("n_clusters", [2, 13])
def test_there_are_exactly_n_clusters(cls, topics, n_clusters):
    model = short(cls, n_clusters=n_clusters).fit(topics[0])
    assert len(model.cluster_centers_) == n_clusters
    assert model.predict_proba(topics[0]).shape == (90, n_clusters)
    assert len(set(model.labels_)) == n_clusters


@pytest.mark.parametrize("cls", [cls for cls in METHODS.values() if cls.finds_n_clusters], ids=lambda cls: cls.name)
def test_a_number_of_clusters_that_is_found_is_reported(cls, fitted, topics, tmp_path):
    with pytest.warns(NumberOfClustersWarning, match=rf"13 clusters were requested, but {cls.name} finds .*: 3\."):
        model = short(cls, n_clusters=13).fit(topics[0])
    assert (model.n_clusters_, fitted(cls).n_clusters_, len(model.cluster_centers_)) == (3, 3, 3)
    model.save(tmp_path / "model")
    assert coterie.load(tmp_path / "model").n_clusters_ == 3


@each_method
def test_true_labels_are_ignored(cls, fitted, topics):
    texts, true_labels = topics
    model = short(cls).fit(texts, true_labels)
    np.testing.assert_array_equal(model.labels_, fitted(cls).labels_)
    np.testing.assert_array_equal(model.cluster_centers_, fitted(cls).cluster_centers_)


# -- duplicates and blank texts


@each_method
def test_equal_texts_get_equal_labels(cls, topics):
    texts = topics[0] + topics[0][:30] * 3
    labels = short(cls).fit_predict(texts)
    assert len(labels) == len(texts)
    np.testing.assert_array_equal(labels[:30], labels[90:120])


@each_method
def test_blank_texts_stay_in_place_without_a_cluster(cls, topics):
    texts = ["", *topics[0], " \u200b "]
    with pytest.warns(BlankTextWarning, match="2 of 92 texts are blank"):
        model = short(cls).fit(texts)
    assert (model.labels_[[0, -1]] == -1).all()
    assert (model.labels_[1:-1] >= 0).all()
    with pytest.warns(BlankTextWarning):
        q = model.predict_proba(texts)
    assert np.isnan(q[[0, -1]]).all()
    with pytest.raises(InputError, match="row 1"):
        short(cls, on_empty="error").fit(texts)


@each_method
def test_vectors_may_be_reversed_or_read_only(cls):
    h = (np.random.default_rng(0).normal(size=(40, 4)) + 4 * np.eye(4)[np.arange(40) % 2]).astype(np.float32)
    read_only = h[::-1].copy()
    read_only.setflags(write=False)
    model = short(cls, n_clusters=2, encoder="precomputed").fit(h[::-1])
    again = short(cls, n_clusters=2, encoder="precomputed").fit(read_only)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(model.predict(h)[::-1], model.labels_)
    other_order = short(cls, n_clusters=2, encoder="precomputed").fit(h)
    np.testing.assert_array_equal(other_order.labels_[::-1], model.labels_)
    np.testing.assert_array_equal(other_order.cluster_centers_, model.cluster_centers_)


# -- the global random state, settings, errors


@each_method
def test_the_global_random_state_is_not_changed(cls, topics, tmp_path):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    short(cls).fit(topics[0]).save(tmp_path / "model")
    coterie.load(tmp_path / "model")
    assert torch.equal(torch.get_rng_state(), before)


@each_method
def test_clone_and_params(cls):
    model = cls(n_clusters=5, encoder="bow")
    assert clone(model).get_params() == model.get_params()
    assert set(model.get_params()) == {f.name for f in fields(cls)}


@each_method
def test_too_few_texts_are_counted_in_the_error(cls):
    with pytest.raises(InputError, match=r"4 clusters need at least 4 distinct texts, but there are 2 \(of 3 rows"):
        short(cls, n_clusters=4).fit(["one text", "one text", "another text"])


@each_method
def test_equal_embeddings_are_refused(cls):
    with pytest.raises(InputError, match="fewer clusters"):
        short(cls).fit(["same words", "words same", "Same Words", "WORDS same"])


@each_method
def test_a_bad_setting_is_named(cls, topics):
    with pytest.raises(
        InputError, match=f"{cls.__name__}: `n_clusters` must be a whole number or a word and >= 1, got 0"
    ):
        cls(n_clusters=0).fit(topics[0])


@each_method
def test_using_a_model_before_fit_is_an_error(cls, topics):
    for use in (lambda m: m.predict(topics[0]), lambda m: m.cluster_centers_, lambda m: m.save("nowhere")):
        with pytest.raises(NotFittedError, match=r"Call .fit."):
            use(cls())


@each_method
def test_method_and_settings_are_documented(cls):
    assert re.search(r"^Paper: (http\S+|none).* - Code: ", inspect.getmodule(cls).__doc__, flags=re.M)
    assert not cls.__doc__.startswith(f"{cls.__name__}(")  # the text that dataclass makes up
    assert all(f.metadata["help"] for f in fields(cls))
