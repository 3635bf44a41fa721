import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.heads.queue import Queue, queue_size_for


def make_queue(size, dim=2):
    queue = Queue(dim)
    queue.reset(size)
    return queue


def numbered(first, n, dim=2):
    """Return n rows whose values are their position in the sequence of all pushed rows."""
    return torch.arange(first, first + n).float()[:, None].repeat(1, dim)


def test_the_empty_part_of_the_buffer_is_not_returned():
    queue = make_queue(5)
    assert len(queue) == 0
    assert queue.filled[0].shape == (0, 2)
    queue.push(numbered(1, 3), torch.tensor([7, 8, 9]))
    assert len(queue) == 3
    torch.testing.assert_close(queue.filled[0], numbered(1, 3))
    assert queue.filled[1].tolist() == [7, 8, 9]


def test_negatives_mark_rows_with_the_same_id():
    queue = make_queue(5)
    queue.push(numbered(1, 3), torch.tensor([7, 8, 7]))
    rows, same = queue.negatives(torch.tensor([8, 7, 9]))
    torch.testing.assert_close(rows, numbered(1, 3))
    assert same.tolist() == [[False, True, False], [True, False, True], [False, False, False]]


def test_pending_rows_are_pushed_once_by_flush():
    queue = make_queue(5)
    queue.push_later(numbered(1, 2), torch.tensor([8, 7]))
    assert len(queue) == 0
    queue.flush()
    queue.flush()
    torch.testing.assert_close(queue.filled[0], numbered(1, 2))
    assert queue.filled[1].tolist() == [8, 7]


@settings(max_examples=60, deadline=None)
@given(size=st.integers(0, 12), pushes=st.lists(st.integers(0, 9), max_size=9))
def test_after_any_pushes_it_holds_exactly_the_last_rows_with_their_ids(size, pushes):
    queue, n = make_queue(size), 0
    for n_new in pushes:
        queue.push(numbered(n, n_new), torch.arange(n, n + n_new) * 10)
        n += n_new
    rows, ids = queue.filled
    assert sorted(rows[:, 0].tolist()) == list(range(max(n - size, 0), n))
    assert ids.tolist() == (10 * rows[:, 0]).tolist()


@pytest.mark.parametrize("n_clusters", [1, 3, 5])
def test_row_l_is_cluster_l_mod_k_after_any_number_of_pushes(n_clusters):
    queue = make_queue(4 * n_clusters)
    for push in range(11):
        queue.push(numbered(push * n_clusters, n_clusters), torch.arange(n_clusters))
        rows, ids = queue.filled
        expected = torch.arange(len(rows)) % n_clusters
        assert torch.equal(ids, expected)
        assert torch.equal(rows[:, 0].long() % n_clusters, expected)


def test_a_push_moves_no_other_row():
    queue = make_queue(6)
    queue.push(numbered(0, 6), torch.zeros(6, dtype=torch.long))
    address, before = queue.rows.data_ptr(), queue.rows.clone()
    queue.push(numbered(100, 2), torch.ones(2, dtype=torch.long))
    assert queue.rows.data_ptr() == address
    assert (queue.rows != before).any(dim=1).tolist() == [True, True, False, False, False, False]


def test_pushed_rows_are_copied_without_gradient():
    queue, rows = make_queue(3), torch.ones(2, 2, requires_grad=True)
    queue.push(rows, torch.arange(2))
    assert not queue.rows.requires_grad
    with torch.no_grad():
        rows.mul_(5)
    assert queue.filled[0].tolist() == [[1, 1], [1, 1]]


def test_state_dict_round_trip():
    queue, other = make_queue(5), make_queue(5)
    queue.push(numbered(0, 7), torch.arange(7))
    other.load_state_dict(queue.state_dict())
    for one in (queue, other):
        one.push(numbered(7, 2), torch.arange(2))
    assert torch.equal(other.rows, queue.rows)
    assert torch.equal(other.ids, queue.ids)
    assert len(other) == len(queue) == 5


@pytest.mark.parametrize(
    ("n_items", "batch_size", "size"), [(40, 6, 18), (13, 6, 6), (5, 6, 5), (100_000, 200, 16_200)]
)
def test_the_default_size_is_whole_batches_of_at_most_half_of_the_items(n_items, batch_size, size):
    assert queue_size_for(n_items, batch_size) == size
