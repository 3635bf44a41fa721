import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.heads.queue import Queue


def queue(size, dim=2):
    made = Queue(dim)
    made.begin(size)
    return made


def numbered(first, n, dim=2):
    """Return rows that say when they were pushed."""
    return torch.arange(first, first + n).float()[:, None].repeat(1, dim)


def test_what_is_not_filled_yet_is_not_there():
    made = queue(5)
    assert len(made) == 0
    assert made.filled[0].shape == (0, 2)
    made.push(numbered(1, 3), torch.tensor([7, 8, 9]))
    assert len(made) == 3
    torch.testing.assert_close(made.filled[0], numbered(1, 3))
    assert made.filled[1].tolist() == [7, 8, 9]


def test_rows_of_the_same_owner_are_marked():
    made = queue(5)
    made.push(numbered(1, 3), torch.tensor([7, 8, 7]))
    rows, same = made.against(torch.tensor([8, 7, 9]), numbered(4, 3))
    torch.testing.assert_close(rows, numbered(1, 3))
    assert same.tolist() == [[False, True, False], [True, False, True], [False, False, False]]


def test_what_is_new_waits_until_it_is_taken_in_once():
    made = queue(5)
    made.against(torch.tensor([8, 7]), numbered(1, 2))
    assert len(made) == 0
    made.take_in()
    made.take_in()
    torch.testing.assert_close(made.filled[0], numbered(1, 2))
    assert made.filled[1].tolist() == [8, 7]


@settings(max_examples=60, deadline=None)
@given(size=st.integers(0, 12), pushes=st.lists(st.integers(0, 9), max_size=9))
def test_after_any_pushes_it_has_exactly_the_last_rows_each_with_its_owner(size, pushes):
    made, n = queue(size), 0
    for new in pushes:
        made.push(numbered(n, new), torch.arange(n, n + new) * 10)
        n += new
    rows, owner = made.filled
    assert sorted(rows[:, 0].tolist()) == list(range(max(n - size, 0), n))
    assert owner.tolist() == (10 * rows[:, 0]).tolist()


@pytest.mark.parametrize("n_clusters", [1, 3, 5])
def test_row_l_is_of_cluster_l_mod_k_after_any_number_of_pushes(n_clusters):
    made = queue(4 * n_clusters)
    for push in range(11):
        made.push(numbered(push * n_clusters, n_clusters), torch.arange(n_clusters))
        rows, owner = made.filled
        expected = torch.arange(len(rows)) % n_clusters
        assert torch.equal(owner, expected)
        assert torch.equal(rows[:, 0].long() % n_clusters, expected)


def test_a_push_moves_no_other_row():
    made = queue(6)
    made.push(numbered(0, 6), torch.zeros(6, dtype=torch.long))
    place, before = made.rows.data_ptr(), made.rows.clone()
    made.push(numbered(100, 2), torch.ones(2, dtype=torch.long))
    assert made.rows.data_ptr() == place
    assert (made.rows != before).any(dim=1).tolist() == [True, True, False, False, False, False]


def test_what_is_pushed_is_neither_differentiated_nor_shared():
    made, rows = queue(3), torch.ones(2, 2, requires_grad=True)
    made.push(rows, torch.arange(2))
    assert not made.rows.requires_grad
    with torch.no_grad():
        rows.mul_(5)
    assert made.filled[0].tolist() == [[1, 1], [1, 1]]


def test_its_state_is_all_there_is():
    made, other = queue(5), queue(5)
    made.push(numbered(0, 7), torch.arange(7))
    other.load_state_dict(made.state_dict())
    for one in (made, other):
        one.push(numbered(7, 2), torch.arange(2))
    assert torch.equal(other.rows, made.rows)
    assert torch.equal(other.owner, made.owner)
    assert len(other) == len(made) == 5
