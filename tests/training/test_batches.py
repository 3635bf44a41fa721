"""The rows of each step, and the views in a batch."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.training.batches import batches, n_batches


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 60), size=st.integers(2, 20), seed=st.integers(0, 2**32 - 1), number=st.integers(0, 50))
def test_a_pass_has_every_row_once_in_batches_of_nearly_equal_size(n, size, seed, number):
    parts = batches(n, size, seed=seed, number=number)
    assert sorted(torch.cat(parts).tolist()) == list(range(n))
    assert len(parts) == n_batches(n, size) == -(-n // size)
    assert max(map(len, parts)) <= size
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_batches_are_the_same_for_the_same_seed_and_pass():
    first = torch.cat(batches(30, 7, seed=3, number=2))
    batches.cache_clear()
    assert torch.equal(torch.cat(batches(30, 7, seed=3, number=2)), first)


def test_every_pass_and_every_seed_has_its_own_order():
    orders = {
        tuple(torch.cat(batches(30, 7, seed=seed, number=number)).tolist()) for seed in (0, 1) for number in (0, 1)
    }
    assert len(orders) == 4


def test_drawing_batches_does_not_change_the_global_random_state():
    before = torch.get_rng_state()
    batches(30, 7, seed=0, number=0)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_steps_of_an_epoch_cover_every_row_once(train):
    rows = [batch.rows for batch in train().objective.batches]
    for epoch in range(3):
        of_epoch = rows[3 * epoch : 3 * epoch + 3]
        assert sorted(torch.cat(of_epoch).tolist()) == list(range(14))
        assert sorted(map(len, of_epoch)) == [4, 5, 5]


@pytest.mark.parametrize("epoch_steps", [1, 2, 3, 4, 7])
def test_passes_over_the_rows_continue_across_epochs(train, epoch_steps):
    trained = train(epochs=-(-12 // epoch_steps), epoch_steps=epoch_steps, max_steps=12)
    rows = [batch.rows for batch in trained.objective.batches]
    passes = [torch.cat(rows[first : first + 3]).tolist() for first in range(0, 12, 3)]
    assert all(sorted(one) == list(range(14)) for one in passes)
    assert len({tuple(one) for one in passes}) == 4


def test_a_batch_has_its_rows_of_the_original_and_of_every_view(train, data):
    view = -torch.from_numpy(data[0])
    for batch in train(views=lambda _: [view], max_steps=2).objective.batches:
        np.testing.assert_array_equal(batch.original, data[0][batch.rows])
        np.testing.assert_array_equal(batch.augmented[0], -data[0][batch.rows])


def test_a_view_that_is_the_original_is_the_same_object_in_the_batch(train):
    assert all(batch.augmented[0] is batch.original for batch in train(max_steps=2).objective.batches)


def test_every_epoch_has_its_own_views(train, data):
    prepared = torch.from_numpy(data[0])
    trained = train(views=lambda epoch: [prepared + epoch])
    for step, batch in enumerate(trained.objective.batches):
        torch.testing.assert_close(batch.augmented[0], batch.original + step // 3)


def test_views_may_be_of_neighbors(train, data):
    prepared = torch.from_numpy(data[0])
    neighbors = torch.stack([torch.arange(14).roll(-1), torch.arange(14).roll(-2)], dim=1)  # the next two rows
    seen = set()
    for batch in train(views=lambda _: [prepared], neighbors=neighbors, epochs=10).objective.batches:
        torch.testing.assert_close(batch.original, prepared[batch.rows], atol=0, rtol=0)
        for row, view in zip(batch.rows.tolist(), batch.augmented[0], strict=True):
            (neighbor,) = (prepared == view).all(dim=1).nonzero().flatten().tolist()
            assert neighbor in neighbors[row].tolist()
            seen.add((neighbor - row) % 14)
    assert seen == {1, 2}


def test_with_zero_neighbors_views_are_of_the_item_itself(train):
    none = torch.empty(14, 0, dtype=torch.long)
    assert all(batch.augmented[0] is batch.original for batch in train(neighbors=none, max_steps=2).objective.batches)
