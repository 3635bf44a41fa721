from itertools import permutations

import numpy as np
import pytest
import torch

from coterie.clustering.matching import contingency, match, match_clusters, match_labels


def random_labels(n, n_first, n_second, seed):
    rng = np.random.default_rng(seed)
    return rng.integers(n_first, size=n), rng.integers(n_second, size=n)


# -- contingency


@pytest.mark.parametrize("seed", range(3))
def test_contingency_equals_slow_loop(seed):
    first, second = random_labels(30, 3, 4, seed)
    weights = np.random.default_rng(seed + 10).integers(1, 5, size=30).astype(np.float64)
    counted = np.zeros((5, 6))
    weighted = np.zeros((5, 6))
    for a, b, weight in zip(first, second, weights, strict=True):
        counted[a, b] += 1
        weighted[a, b] += weight
    np.testing.assert_array_equal(contingency(first, second, shape=(5, 6)), counted)
    np.testing.assert_array_equal(contingency(first, second, weights=weights, shape=(5, 6)), weighted)


def test_contingency_is_as_large_as_the_labels_require():
    assert contingency(np.array([0, 2]), np.array([1, 0])).tolist() == [[0, 1], [0, 0], [1, 0]]


# -- match


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_match_has_the_largest_sum(shape, seed):
    table = np.random.default_rng(seed).integers(20, size=shape)
    rows, columns = match(table)
    small, large = sorted(shape)
    wide = table if shape[0] == small else table.T
    best = max(sum(wide[i, j] for i, j in enumerate(chosen)) for chosen in permutations(range(large), small))
    assert table[rows, columns].sum() == best
    assert len(set(rows.tolist())) == len(set(columns.tolist())) == small


@pytest.mark.parametrize(
    ("classes", "clusters", "expected"),
    [
        ([0, 0, 0, 1, 1, 2], [1, 1, 0, 2, 2, 0], {1: 0, 2: 1, 0: 2}),
        ([0, 0, 0, 1, 1, 1], [0, 0, 2, 1, 1, 1], {0: 0, 1: 1}),  # cluster 2 has no class
        ([0, 0, 1, 2, 2, 2], [0, 0, 0, 1, 1, 1], {0: 0, 1: 2}),  # class 1 has no cluster
    ],
)
def test_match_clusters_is_one_to_one(classes, clusters, expected):
    assert match_clusters(np.array(classes), np.array(clusters)) == expected


# -- match_labels


def test_match_labels_undoes_a_permutation():
    reference = torch.tensor([0, 0, 1, 1, 2, 2, 3])
    for order in permutations(range(4)):
        labels = torch.tensor(order)[reference]
        assert torch.equal(match_labels(labels, reference, torch.ones(7), 4), reference)


@pytest.mark.parametrize("seed", range(5))
def test_match_labels_has_the_largest_agreement_of_all_permutations(seed):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(4, (30,), generator=generator)
    reference = torch.randint(4, (30,), generator=generator)
    counts = torch.randint(1, 5, (30,), generator=generator)

    def agreement(renumbered):
        return int((counts * (renumbered == reference)).sum())

    best = max(agreement(torch.tensor(order)[labels]) for order in permutations(range(4)))
    renumbered = match_labels(labels, reference, counts, 4)
    assert agreement(renumbered) == best
    assert len({(int(a), int(b)) for a, b in zip(labels, renumbered, strict=True)}) == len(set(labels.tolist()))


def test_match_labels_weights_rows_by_their_counts():
    labels = torch.tensor([0, 0, 1])
    reference = torch.tensor([0, 1, 0])
    assert match_labels(labels, reference, torch.tensor([1, 9, 1]), 2).tolist() == [1, 1, 0]
    assert match_labels(labels, reference, torch.tensor([9, 1, 1]), 2).tolist() == [0, 0, 1]
