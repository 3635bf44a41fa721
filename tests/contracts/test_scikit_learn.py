"""scikit-learn's own checks, on numeric input."""

import pickle

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import coterie
from coterie.clusterer import METHODS

EXPECTED_FAILURES: dict[str, str] = {}


@parametrize_with_checks(
    [cls(encoder="precomputed", n_clusters=3) for cls in METHODS.values()],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_names_of_the_columns_it_puts_out():
    h = np.random.default_rng(0).normal(size=(20, 3))
    frame = coterie.KMeans(n_clusters=2, encoder="precomputed").set_output(transform="pandas").fit_transform(h)
    assert list(frame.columns) == ["kmeans0", "kmeans1", "kmeans2"]


def test_at_the_end_of_a_pipeline(topics):
    pipeline = make_pipeline(coterie.KMeans(n_clusters=3, encoder="tfidf"))
    assert len(pipeline.fit_predict(topics[0])) == 90


def test_survives_pickle(topics):
    model = coterie.KMeans(n_clusters=3, encoder="tfidf").fit(topics[0])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(topics[0]), model.labels_)
