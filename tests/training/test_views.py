"""The augmented views of each epoch, prepared for the network."""

import numpy as np
import pytest
import torch

from coterie.augmenters.augmenter import Augmenter, make_augmenter
from coterie.data.texts import check_texts
from coterie.data.vectors import VectorRows
from coterie.encoders.networks.frozen import FrozenNetwork
from coterie.errors import InputError
from coterie.training.views import augmented_views, identical_views, user_views

TEXTS = ["blue", "green", "red"]


class Numbered(Augmenter):
    """Appends the seed and the number of the view."""

    def make_view(self, texts, view_index, *, seed):
        return (f"{text} {seed} {view_index}" for text in texts)


@pytest.fixture
def prepared_texts():
    """The texts that the network was asked to prepare, in order."""
    return []


@pytest.fixture
def network(prepared_texts):
    def embed(texts):
        prepared_texts.append(list(texts))
        return np.array([[len(text)] for text in texts], dtype=np.float32)

    return FrozenNetwork(1, embed)


def test_views_are_made_once_and_the_same_for_every_epoch(network, prepared_texts):
    views = augmented_views(Numbered(), network, check_texts(TEXTS), None, 2, seed=3, fresh=False)
    first = views(0)
    assert views(1) is first
    assert prepared_texts == [[f"{text} 3 {number}" for text in TEXTS] for number in (0, 1)]


def test_fresh_views_differ_in_every_epoch(network, prepared_texts):
    views = augmented_views(Numbered(), network, check_texts(TEXTS), None, 1, seed=3, fresh=True)
    views(0)
    views(1)
    views(1)
    first, second = prepared_texts
    assert first == [f"{text} 3 0" for text in TEXTS]
    assert not set(first) & set(second)


def test_an_augmenter_that_always_resamples_makes_fresh_views(network, prepared_texts):
    class Always(Numbered):
        always_resample = True

    views = augmented_views(Always(), network, check_texts(TEXTS), None, 1, seed=3, fresh=False)
    views(0)
    views(1)
    assert prepared_texts[0] != prepared_texts[1]


def test_unchanged_texts_are_not_prepared_again(network, prepared_texts):
    original = torch.zeros(3, 1)
    views = augmented_views(make_augmenter("dropout"), network, check_texts(TEXTS), original, 2, seed=0, fresh=False)
    assert all(view is original for view in views(0))
    assert prepared_texts == []


def test_user_views_are_prepared_for_the_distinct_texts(network, prepared_texts):
    rows = check_texts(["red", "green", "red"])
    views = user_views([["c", "b", "a"], ["d", "e", "f"]], network, rows, 2)
    assert len(views(0)) == 2
    assert prepared_texts == [["b", "a"], ["e", "f"]]  # of two rows, the one whose views come first
    assert views(5) is views(0)


def test_user_views_of_vectors_are_refused(network):
    with pytest.raises(InputError, match="Views are texts; vectors"):
        user_views([["a"], ["b"]], network, VectorRows(np.zeros((1, 2), dtype=np.float32)), 2)


def test_vectors_are_their_own_views():
    original = torch.zeros(3, 2)
    assert all(view is original for view in identical_views(original, 2)(4))
    assert len(identical_views(original, 2)(0)) == 2
