"""``score`` needs no labels and works in GridSearchCV; ``assign`` returns a frame when it is given one."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from short_training import short
from sklearn.model_selection import GridSearchCV

import coterie
from coterie.clusterer import METHODS
from coterie.errors import InputError, KeptColumnWarning


@pytest.fixture(scope="module")
def model(topics):
    return coterie.KMeans(n_clusters=3, encoder="tfidf").fit(topics[0])


@pytest.mark.parametrize("cls", METHODS.values(), ids=METHODS.keys())
def test_the_score_of_every_method_is_between_0_and_1(cls, topics):
    score = short(cls).fit(topics[0]).score(topics[0])
    assert isinstance(score, float)
    assert 0 <= score <= 1


def test_labels_do_not_change_the_score(model, topics):
    texts, labels = topics
    assert model.score(texts, labels) == model.score(texts)


def test_better_clusters_have_a_higher_score(model, topics):
    texts, _ = topics
    poor = coterie.KMeans(n_clusters=3, encoder="tfidf").fit(texts)
    poor.objective_.centers[:] = poor.objective_.centers[0]  # every text is equally near to every center
    assert model.score(texts) > 0.9
    assert poor.score(texts) < 0.5


def test_one_text_has_no_neighbors_and_no_score(model):
    with pytest.raises(InputError, match="at least two different items"):
        model.score(["goal match", "goal match"])


def test_grid_search_selects_by_the_score(topics):
    search = GridSearchCV(coterie.KMeans(n_clusters=3), {"encoder": ["tfidf", "bow"]}, cv=2)
    search.fit(topics[0])
    assert search.best_params_["encoder"] in ("tfidf", "bow")
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_assign_adds_columns_to_a_pandas_frame(model, topics):
    frame = pd.DataFrame({"text": topics[0][:4], "id": range(4)}, index=list("abcd"))
    done = model.assign(frame, column="text")
    labels, confidence = model.assign(topics[0][:4])
    assert list(done.columns) == ["text", "id", "cluster", "confidence", "second_cluster", "margin"]
    assert list(done.index) == list("abcd")
    np.testing.assert_array_equal(done["cluster"], labels)
    np.testing.assert_array_equal(done["confidence"], confidence)
    assert "cluster" not in frame.columns
    pd.testing.assert_frame_equal(model.assign(frame), done)  # the column is found


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_assign_keeps_columns_of_the_user(model, topics, kind):
    frame = kind({"text": topics[0][:2], "confidence": ["mine", "mine"]})
    with pytest.warns(KeptColumnWarning, match="'confidence' is kept. The new columns are called 'cluster_2'") as seen:
        done = model.assign(frame)
    assert seen[0].filename == __file__  # it points at the user's line
    assert list(done["confidence"]) == ["mine", "mine"]
    assert list(done.columns)[2:] == ["cluster_2", "confidence_2", "second_cluster_2", "margin_2"]
    np.testing.assert_array_equal(done["cluster_2"], model.predict(topics[0][:2]))


def test_assign_adds_columns_to_a_polars_frame(model, topics):
    done = model.assign(pl.DataFrame({"text": topics[0][:4]}))
    assert done.columns == ["text", "cluster", "confidence", "second_cluster", "margin"]
    np.testing.assert_array_equal(done["cluster"], model.predict(topics[0][:4]))
