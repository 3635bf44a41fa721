"""The mixture on random halves finds clusters that are there, and disagrees about those that are not."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from coterie.arrays import unit_rows
from coterie.clustering.halves import clusters_of_halves


@pytest.fixture
def blobs():
    """Unit vectors of four groups (400, 16), and the groups."""
    rng = np.random.default_rng(0)
    groups = np.arange(400) % 4
    return unit_rows(4 * np.eye(16)[groups] + rng.normal(size=(400, 16))), groups


def test_every_half_finds_groups_that_are_there(blobs):
    e, groups = blobs
    found = clusters_of_halves(e, e, 4, n_halvings=2, seed=0)
    assert len(found) == 4
    assert all(adjusted_rand_score(groups, clusters) > 0.95 for clusters in found)


def test_halves_disagree_about_groups_that_are_not_there():
    e = unit_rows(np.random.default_rng(0).normal(size=(400, 16)))
    first, second = clusters_of_halves(e, e, 4, n_halvings=1, seed=0)
    assert adjusted_rand_score(first, second) < 0.6


def test_words_help_where_embeddings_tell_little():
    rng = np.random.default_rng(1)
    groups = np.arange(300) % 6
    e = unit_rows(2 * np.eye(16)[groups] + rng.normal(size=(300, 16)))
    topics = ["goal match", "bank loan", "gene cell", "film actor", "rain snow", "coal steel"]
    texts = [f"{topics[k]} number{i}" for i, k in enumerate(groups.tolist())]
    with_words, without = (clusters_of_halves(e, items, 6, n_halvings=1, seed=0) for items in (texts, e))
    assert min(adjusted_rand_score(groups, clusters) for clusters in with_words) > 0.9
    assert max(adjusted_rand_score(groups, clusters) for clusters in without) < 0.8


def test_a_half_of_equal_embeddings_is_left_out():
    e = unit_rows(np.ones((40, 8)))
    assert clusters_of_halves(e, e, 4, n_halvings=1, seed=0) == []
