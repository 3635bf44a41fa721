"""scikit-learn's own checks, on vectors, with short trainings: of one method of each base class.

What depends on a method itself (rows that depend on each other, seeds, pickles) is checked for every method elsewhere.
"""

import pickle

import numpy as np
import pytest
from short_training import DEEP_METHODS, short
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import coterie
from coterie.clusterer import METHODS

ONE_STEP = {"epochs": 1, "max_steps": 1, "guard": "off"}  # the interface does not depend on how long is trained


def on_vectors(name):
    return short(METHODS[name], encoder="precomputed", **ONE_STEP if name in DEEP_METHODS else {})


def one_of_each_base_class():
    """Return the names of methods: the first of each base class, all that are alone in what they do."""
    first = {}
    for name, cls in METHODS.items():
        first.setdefault((cls.__bases__, cls.finds_n_clusters), name)
    return sorted({*first.values(), "kmeans", "neighbors", "sccl"})


def test_every_base_class_is_checked():
    checked = {METHODS[name].__bases__ for name in one_of_each_base_class()}
    assert checked == {cls.__bases__ for cls in METHODS.values()}
    assert len(checked) >= 5


@parametrize_with_checks([on_vectors(name) for name in one_of_each_base_class()])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::coterie.errors.NumberOfClustersWarning")
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_the_columns_of_transform_have_names():
    h = np.random.default_rng(0).normal(size=(20, 3))
    frame = coterie.KMeans(n_clusters=2, encoder="precomputed").set_output(transform="pandas").fit_transform(h)
    assert list(frame.columns) == ["kmeans0", "kmeans1", "kmeans2"]


def test_a_method_can_be_the_last_step_of_a_pipeline(topics):
    pipeline = make_pipeline(coterie.KMeans(n_clusters=3, encoder="tfidf"))
    assert len(pipeline.fit_predict(topics[0])) == 90


@pytest.mark.parametrize("cls", METHODS.values(), ids=METHODS.keys())
def test_a_fitted_model_can_be_pickled(cls, topics):
    model = short(cls).fit(topics[0])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(topics[0]), model.labels_)
