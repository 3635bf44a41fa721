import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.losses.balance import imbalance, pull_to_even, row_entropy

# -- the equations, as slow loops


def entropy(q):
    return -sum(q_j * math.log(q_j) for q_j in q if q_j > 0)


def mean_of_rows(q):
    return [sum(row[j] for row in q) / len(q) for j in range(len(q[0]))]


def made_up(n=6, n_clusters=4, *, seed=0, spread=2.0):
    generator = torch.Generator().manual_seed(seed)
    return (spread * torch.randn(n, n_clusters, generator=generator)).log_softmax(dim=1)


def one_hot(labels, n_clusters):
    """Return log q of rows that are as sure as float32 allows."""
    return (200 * torch.nn.functional.one_hot(torch.tensor(labels), n_clusters).float()).log_softmax(dim=1)


@pytest.mark.parametrize(("n", "n_clusters"), [(1, 3), (6, 4), (5, 1), (40, 152)])
def test_row_entropy_is_equation_5(n, n_clusters):
    log_q = made_up(n, n_clusters)
    loss = row_entropy(log_q)
    assert loss.shape == ()
    expected = sum(entropy(row) for row in log_q.double().exp().tolist()) / n
    assert float(loss) == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_undecided_rows_have_the_logarithm_of_k_and_sure_ones_nothing():
    assert float(row_entropy(torch.zeros(5, 7).log_softmax(dim=1))) == pytest.approx(math.log(7))
    assert float(row_entropy(one_hot([0, 2, 1], 7))) == 0


@pytest.mark.parametrize(("n", "n_clusters"), [(1, 3), (6, 4), (5, 1), (40, 152)])
def test_imbalance_is_how_far_the_mean_row_is_from_the_largest_entropy(n, n_clusters):
    log_q = made_up(n, n_clusters)
    loss = imbalance(log_q)
    assert loss.shape == ()
    expected = math.log(n_clusters) - entropy(mean_of_rows(log_q.double().exp().tolist()))
    assert float(loss) == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_imbalance_is_zero_when_the_clusters_are_equally_large_however_sure_the_rows_are():
    assert float(imbalance(one_hot([0, 1, 2, 0, 1, 2], 3))) == pytest.approx(0, abs=1e-6)
    assert float(imbalance(torch.zeros(4, 3).log_softmax(dim=1))) == pytest.approx(0, abs=1e-6)


def test_imbalance_is_largest_when_all_texts_are_in_one_cluster():
    assert float(imbalance(one_hot([1] * 6, 5))) == pytest.approx(math.log(5), rel=1e-5)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 8), n_clusters=st.integers(2, 9), spread=st.floats(0.1, 50))
def test_imbalance_lies_between_zero_and_the_logarithm_of_k_and_is_zero_only_for_an_even_mean(
    seed, n, n_clusters, spread
):
    log_q = made_up(n, n_clusters, seed=seed, spread=spread)
    loss = float(imbalance(log_q))
    assert -1e-5 <= loss <= math.log(n_clusters) + 1e-5
    away = (log_q.double().exp().mean(dim=0) - 1 / n_clusters).abs().sum().item()
    assert loss >= away**2 / 2 - 1e-5  # Pinsker's inequality


@pytest.mark.parametrize("loss", [row_entropy, imbalance])
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_texts_and_clusters_may_be_reordered(loss, seed):
    log_q = made_up(seed=seed)
    generator = torch.Generator().manual_seed(seed)
    rows, columns = torch.randperm(6, generator=generator), torch.randperm(4, generator=generator)
    torch.testing.assert_close(loss(log_q[rows][:, columns]), loss(log_q), rtol=1e-5, atol=1e-5)


def test_going_against_the_imbalance_evens_the_clusters_and_does_not_decide_rows():
    logits = torch.tensor([[2.0, 0.0, 0.0]] * 4).requires_grad_()
    imbalance(logits.log_softmax(dim=1)).backward()
    assert (logits.grad[:, 0] > 0).all()  # a step against it lowers the large cluster
    assert (logits.grad[:, 1:] < 0).all()


def test_going_along_the_row_entropy_makes_rows_less_sure():
    logits = torch.tensor([[2.0, 0.0, 0.0]]).requires_grad_()
    row_entropy(logits.log_softmax(dim=1)).backward()
    assert logits.grad[0, 0] < 0


@pytest.mark.parametrize("loss", [row_entropy, imbalance])
def test_gradients_equal_finite_differences(loss):
    logits = torch.randn(4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: loss(x.log_softmax(dim=1)), [logits])


@pytest.mark.parametrize("loss", [row_entropy, imbalance])
@pytest.mark.parametrize("size", [1e3, 1e10])
def test_loss_and_gradient_are_finite_at_the_extremes(loss, size):
    logits = (size * torch.eye(4, 6)).requires_grad_()
    value = loss(logits.log_softmax(dim=1))
    value.backward()
    assert torch.isfinite(value)
    assert torch.isfinite(logits.grad).all()


# -- the weight of the pull


@pytest.mark.parametrize("sizes", [[5, 5], [1000] * 20, [7], [2000, 2001, 1999, 2000]])
def test_even_groups_are_pulled_by_ten(sizes):
    assert pull_to_even(torch.tensor(sizes)) == 10


@pytest.mark.parametrize("sizes", [[9, 1], [430, 30, 20, 3, 0], [3, 3, 2]])
def test_the_pull_is_its_formula(sizes):
    uneven = math.log(len(sizes)) - entropy([size / sum(sizes) for size in sizes])
    weight = pull_to_even(torch.tensor(sizes))
    assert weight == pytest.approx(min(10, 0.01 / uneven**2))
    assert isinstance(weight, float)


def test_the_more_uneven_the_weaker_is_the_pull():
    weights = [pull_to_even(torch.tensor([100 + more, 100 - more, 100])) for more in range(0, 101, 5)]
    assert weights[0] == 10
    assert all(before >= after for before, after in pairwise(weights))
    assert weights[-1] < 0.1


def test_shares_decide_not_sizes():
    sizes = torch.tensor([40, 25, 10])
    assert pull_to_even(sizes) == pytest.approx(pull_to_even(100 * sizes))
    assert pull_to_even(sizes) == pytest.approx(pull_to_even(sizes.flip(0)))
    assert pull_to_even(sizes) == pytest.approx(pull_to_even(sizes.double()))


def test_balanced_slightly_and_heavily_imbalanced_sets_have_the_order_of_the_paper():
    """10 for balanced sets, 0.18 for SearchSnippets, 0.09 for GoogleNews and Tweet: sizes like theirs."""
    balanced = pull_to_even(torch.full((20,), 1000))
    slightly = pull_to_even(torch.tensor([2660, 2210, 1500, 1500, 1500, 1420, 1180, 370]))
    heavily = pull_to_even(torch.tensor([round(430 * 0.968**k) + 3 for k in range(152)]))  # 430 to 3
    assert balanced == 10
    assert 0.18 <= slightly < 10
    assert 0.01 < heavily <= 0.18
