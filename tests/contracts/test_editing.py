"""Clusters that a user merges and renames: in memory, saved, and for new texts."""

import numpy as np
import pytest
from short_training import short

import coterie
from coterie.errors import InputError
from coterie.probabilities import Merges


@pytest.fixture
def model(topics):
    return coterie.KMeans(n_clusters=5, encoder="tfidf").fit(topics[0])


def test_a_merge_sums_probabilities_and_moves_no_item():
    q = np.array([[0.4, 0.3, 0.3], [0.1, 0.5, 0.4], [0.9, 0.1, 0.0]])
    merged = Merges().merge([2, 1], [5, 5, 5]).apply(q)
    assert merged.argmax(axis=1).tolist() == [0, 1, 0]  # 0.3 + 0.3 is more than 0.4, and yet the item stays
    np.testing.assert_allclose(merged.sum(axis=1), 1)
    np.testing.assert_allclose(merged[1:], [[0.1, 0.9, 0], [0.9, 0.1, 0]])
    np.testing.assert_allclose(merged[0], [0.5, 0.5, 0])


def test_the_center_of_a_merged_cluster_is_weighted_by_sizes():
    merges = Merges().merge([0, 2], [30, 7, 10])
    centers = merges.centers(np.array([[0.0, 4.0], [1.0, 1.0], [8.0, 0.0]]))
    np.testing.assert_allclose(centers, [[2, 3], [1, 1], [2, 3]])


@pytest.mark.parametrize("with_items", [False, True])
def test_a_merged_cluster_has_the_items_of_its_members_and_all_others_stay(model, topics, tmp_path, with_items):
    before, expected = model.labels_, np.where(model.labels_ == 3, 1, model.labels_)
    q = model.predict_proba(topics[0])
    assert (before == 3).any()
    assert model.merge([3, 1], topics[0] if with_items else None) is model
    assert model.labels_.tolist() == model.predict(topics[0]).tolist() == expected.tolist()
    rows = {row.cluster: row for row in model.describe()}
    assert sorted(rows) == [0, 1, 2, 4]
    assert rows[1].size == (expected == 1).sum()
    assert (rows[1].cohesion is None) is not with_items
    assert sum(row.share for row in rows.values()) == pytest.approx(1)
    merged = model.predict_proba(topics[0])
    assert (merged[:, 3] == 0).all()
    assert (merged[expected == 1, 1] >= q[expected == 1, 1] + q[expected == 1, 3] - 1e-9).all()
    assert 3 not in model.assignment_.second
    assert sorted(model.tree().root.clusters) == [0, 1, 2, 4]
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    assert loaded.predict(topics[0]).tolist() == expected.tolist()
    assert loaded.describe() == model.describe()
    np.testing.assert_array_equal(loaded.cluster_centers_, model.cluster_centers_)


def test_without_the_items_the_stored_confidence_is_a_lower_bound(model, topics):
    model.merge([0, 1]).merge([2, 4])
    exact = model.assignment(topics[0])
    assert (model.confidence_ <= exact.confidence + 1e-9).all()
    assert ((model.margin_ >= 0) & (model.margin_ <= 1)).all()


def test_all_clusters_can_become_one(topics):
    model = coterie.KMeans(n_clusters=2, encoder="tfidf").fit(topics[0]).merge([0, 1])
    found = model.assignment(topics[0])
    assert found.labels.tolist() == [0] * 90
    assert found.second.tolist() == [-1] * 90
    np.testing.assert_allclose(found.confidence, 1)
    assert len(model.describe()) == 1


def test_several_groups_are_merged_at_once_as_one_after_another(model, topics):
    other = coterie.KMeans(n_clusters=5, encoder="tfidf").fit(topics[0]).merge([0, 1]).merge([2, 4])
    assert model.merge([[0, 1], [2, 4]]).labels_.tolist() == other.labels_.tolist()


def test_a_trained_model_with_topics_can_be_merged(topics):
    model = short(coterie.DECCRL, n_clusters=4, random_state=0).fit(topics[0])
    model.merge([0, 2], topics[0])
    row = next(row for row in model.describe() if row.cluster == 0)
    assert len(row.topics) == len(model.topics()[0]) + len(model.topics()[2])
    assert model.labels_.tolist() == model.predict(topics[0]).tolist()


def test_a_name_of_the_users_stays(model, topics, tmp_path):
    model.rename({2: " Ball \n games "}).merge([2, 0])
    assert model.describe().names[0] == "Ball games"  # also where it is the smaller member
    assert model.describe(topics[0]).names[0] == "Ball games"
    assert "Ball games" in repr(model.tree())
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    assert loaded.merge([0, 1], topics[0]).describe().names[0] == "Ball games"
    assert "Ball games" not in model.fit(topics[0]).describe().names.values()  # another fit, other clusters


@pytest.mark.parametrize(
    ("clusters", "message"),
    [
        ([1], "at least two"),
        ([1, 1], "at least two"),
        ([], "at least two"),
        ([1, 5], "no cluster 5: they are numbered from 0 to 4"),
        ([-1, 2], "no cluster -1"),
        (["1", "2"], "by its number, not by '1'"),
        ([[0, 1], [1, 2]], "Cluster 1 is in two groups"),
    ],
)
def test_what_cannot_be_merged_is_refused(model, clusters, message):
    before = model.labels_
    with pytest.raises(InputError, match=message):
        model.merge(clusters)
    assert model.labels_ is before


def test_other_items_than_those_of_the_fit_are_refused(model, topics):
    with pytest.raises(InputError, match="fitted to 90 items, and here are 3"):
        model.merge([0, 1], topics[0][:3])


def test_names_are_checked(model):
    taken = model.describe().names[1]
    for names, message in [
        ({0: " "}, "not blank"),
        ({0: "x" * 81}, "more than 80"),
        ({0: taken.upper()}, "names are unique"),
        ({0: "same", 1: "Same"}, "names are unique"),
        ({9: "nine"}, "no cluster 9"),
    ]:
        with pytest.raises(InputError, match=message):
            model.rename(names)
    model.merge([0, 1])
    with pytest.raises(InputError, match="no cluster 1 any more: it was merged into 0"):
        model.rename({1: "one"})


def test_a_name_with_half_a_surrogate_pair_can_be_saved(topics, tmp_path):
    model = coterie.KMeans(n_clusters=3, encoder="tfidf").fit(topics[0]).rename({0: "Sports \ud800"})
    model.save(tmp_path / "model")
    assert coterie.load(tmp_path / "model").clusters_.names[0] == "Sports ?"


def test_a_merge_that_is_refused_changes_nothing(model, topics):
    rows = len(model.describe())
    with pytest.raises(InputError, match="was fitted to 90 items, and here are 10"):
        model.merge([3, 1], topics[0][:10])
    assert len(model.describe()) == rows
    assert model.predict(topics[0]).tolist() == model.labels_.tolist()


def test_names_that_change_places_do_so_in_the_tree_too(model):
    first, second = model.clusters_[0], model.clusters_[1]
    model.rename({first.cluster: second.name, second.cluster: first.name})
    in_tree = {node.cluster: node.name for _, node in model.tree().root.walk() if node.cluster is not None}
    assert in_tree == model.clusters_.names
