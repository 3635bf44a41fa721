"""The second cluster, the margin, and texts that are set aside."""

import numpy as np
import pytest

import coterie


@pytest.fixture(scope="module")
def model(topics):
    return coterie.KMeans(n_clusters=3, encoder="tfidf").fit(topics[0])


def test_second_cluster_and_margin_are_those_of_the_probabilities(model, topics):
    q = model.predict_proba(topics[0])
    order = np.argsort(-q, axis=1)
    found = model.assignment(topics[0])
    np.testing.assert_array_equal(found.labels, order[:, 0])
    np.testing.assert_array_equal(found.second, order[:, 1])
    np.testing.assert_allclose(found.margin, np.sort(q)[:, -1] - np.sort(q)[:, -2])
    np.testing.assert_array_equal(model.second_labels_, found.second)
    np.testing.assert_allclose(model.margin_, found.margin)


def test_one_cluster_has_no_second(topics):
    found = coterie.KMeans(n_clusters=1, encoder="tfidf").fit(topics[0]).assignment_
    assert (found.second == -1).all()
    assert (found.margin == 1).all()


@pytest.mark.filterwarnings("ignore::coterie.errors.BlankTextWarning")
def test_texts_below_the_least_confidence_are_set_aside(model, topics, tmp_path):
    threshold = float(np.median(model.confidence_))
    strict = coterie.KMeans(n_clusters=3, encoder="tfidf", min_confidence=threshold).fit([*topics[0], " "])
    aside = strict.confidence_[:-1] < threshold
    assert 0 < aside.sum() < len(aside)
    np.testing.assert_array_equal(strict.labels_[:-1], np.where(aside, -1, model.labels_))
    np.testing.assert_array_equal(strict.second_labels_[:-1][aside], model.labels_[aside])
    assert (strict.labels_[-1], strict.second_labels_[-1]) == (-1, -1)
    assert sum(row.size for row in strict.describe()) == (~aside).sum()
    strict.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(topics[0]), strict.labels_[:-1])
    np.testing.assert_array_equal(loaded.assignment_.second, strict.second_labels_)


def test_quality_is_in_the_table_and_survives_new_descriptions(model, topics):
    table = model.describe()
    assert all(0 < row.cohesion <= 1 and 0 < row.stability <= 1 and row.nearest != row.cluster for row in table)
    again = model.describe(topics[0], n_examples=1)
    assert [row.stability for row in again] == [row.stability for row in table]
    assert "stability" in table.to_frame().columns
