from itertools import permutations

import pytest
import torch

from coterie.heads.matching import renumbered


def test_a_permutation_is_undone():
    old = torch.tensor([0, 0, 1, 1, 2, 2, 3])
    for order in permutations(range(4)):
        assert torch.equal(renumbered(torch.tensor(order)[old], old, torch.ones(7), 4), old)


@pytest.mark.parametrize("seed", range(5))
def test_no_other_numbers_agree_more(seed):
    generator = torch.Generator().manual_seed(seed)
    groups, old = (torch.randint(4, (30,), generator=generator) for _ in range(2))
    counts = torch.randint(1, 5, (30,), generator=generator)

    def agreeing(numbers):
        return int((counts * (torch.as_tensor(numbers)[groups] == old)).sum())

    best = max(agreeing(order) for order in permutations(range(4)))
    found = renumbered(groups, old, counts, 4)
    assert int((counts * (found == old)).sum()) == best
    assert len({(int(a), int(b)) for a, b in zip(groups, found, strict=True)}) == len(set(groups.tolist()))


def test_a_row_weighs_what_it_counts():
    groups, old = torch.tensor([0, 0, 1]), torch.tensor([0, 1, 0])
    assert renumbered(groups, old, torch.tensor([1, 9, 1]), 2).tolist() == [1, 1, 0]
    assert renumbered(groups, old, torch.tensor([9, 1, 1]), 2).tolist() == [0, 0, 1]
