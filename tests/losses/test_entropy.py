import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.losses.entropy import balance_weight_for, kl_uniform, row_entropy, size_imbalance

SHAPES = [(1, 3), (6, 4), (5, 1), (40, 152)]


def slow_entropy(q):
    return -sum(q_j * math.log(q_j) for q_j in q if q_j > 0)


def slow_mean_row(q):
    return [sum(row[j] for row in q) / len(q) for j in range(len(q[0]))]


def random_log_q(n=6, n_clusters=4, *, seed=0, scale=2.0):
    generator = torch.Generator().manual_seed(seed)
    return (scale * torch.randn(n, n_clusters, generator=generator)).log_softmax(dim=1)


def one_hot_log_q(labels, n_clusters):
    """Return log q of rows that are as close to one-hot as float32 allows."""
    return (200 * torch.nn.functional.one_hot(torch.tensor(labels), n_clusters).float()).log_softmax(dim=1)


def uniform_log_q(n, n_clusters):
    return torch.zeros(n, n_clusters).log_softmax(dim=1)


# -- row_entropy


@pytest.mark.parametrize(("n", "n_clusters"), SHAPES)
def test_row_entropy_equals_slow_loop(n, n_clusters):
    log_q = random_log_q(n, n_clusters)
    loss = row_entropy(log_q)
    assert loss.shape == ()
    expected = sum(slow_entropy(row) for row in log_q.double().exp().tolist()) / n
    assert float(loss) == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_row_entropy_of_uniform_and_one_hot_rows():
    assert float(row_entropy(uniform_log_q(5, 7))) == pytest.approx(math.log(7))
    assert float(row_entropy(one_hot_log_q([0, 2, 1], 7))) == 0


def test_row_entropy_increases_when_confidence_decreases():
    logits = torch.tensor([[2.0, 0.0, 0.0]]).requires_grad_()
    row_entropy(logits.log_softmax(dim=1)).backward()
    assert logits.grad[0, 0] < 0


# -- size_imbalance


@pytest.mark.parametrize(("n", "n_clusters"), SHAPES)
def test_size_imbalance_equals_slow_loop(n, n_clusters):
    log_q = random_log_q(n, n_clusters)
    loss = size_imbalance(log_q)
    assert loss.shape == ()
    expected = math.log(n_clusters) - slow_entropy(slow_mean_row(log_q.double().exp().tolist()))
    assert float(loss) == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_size_imbalance_is_zero_for_clusters_of_equal_size_at_any_confidence():
    assert float(size_imbalance(one_hot_log_q([0, 1, 2, 0, 1, 2], 3))) == pytest.approx(0, abs=1e-6)
    assert float(size_imbalance(uniform_log_q(4, 3))) == pytest.approx(0, abs=1e-6)


def test_size_imbalance_is_largest_when_all_texts_are_in_one_cluster():
    assert float(size_imbalance(one_hot_log_q([1] * 6, 5))) == pytest.approx(math.log(5), rel=1e-5)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 8), n_clusters=st.integers(2, 9), scale=st.floats(0.1, 50))
def test_size_imbalance_is_between_its_bounds(seed, n, n_clusters, scale):
    log_q = random_log_q(n, n_clusters, seed=seed, scale=scale)
    loss = float(size_imbalance(log_q))
    assert -1e-5 <= loss <= math.log(n_clusters) + 1e-5
    distance = (log_q.double().exp().mean(dim=0) - 1 / n_clusters).abs().sum().item()
    assert loss >= distance**2 / 2 - 1e-5  # Pinsker's inequality


def test_a_step_against_the_gradient_of_size_imbalance_shrinks_the_large_cluster():
    logits = torch.tensor([[2.0, 0.0, 0.0]] * 4).requires_grad_()
    size_imbalance(logits.log_softmax(dim=1)).backward()
    assert (logits.grad[:, 0] > 0).all()
    assert (logits.grad[:, 1:] < 0).all()


# -- both

both_losses = pytest.mark.parametrize("loss", [row_entropy, size_imbalance])


@both_losses
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_order_of_texts_and_clusters_does_not_matter(loss, seed):
    log_q = random_log_q(seed=seed)
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randperm(6, generator=generator)
    columns = torch.randperm(4, generator=generator)
    torch.testing.assert_close(loss(log_q[rows][:, columns]), loss(log_q), rtol=1e-5, atol=1e-5)


@both_losses
def test_gradients_equal_finite_differences(loss):
    logits = torch.randn(4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: loss(x.log_softmax(dim=1)), [logits])


@both_losses
@pytest.mark.parametrize("size", [1e3, 1e10])
def test_loss_and_gradient_are_finite_for_extreme_logits(loss, size):
    logits = (size * torch.eye(4, 6)).requires_grad_()
    value = loss(logits.log_softmax(dim=1))
    value.backward()
    assert torch.isfinite(value)
    assert torch.isfinite(logits.grad).all()


# -- kl_uniform


@pytest.mark.parametrize(("n", "n_clusters"), SHAPES)
def test_kl_uniform_per_item_equals_slow_loop(n, n_clusters):
    log_q = random_log_q(n, n_clusters)
    rows = log_q.double().exp().tolist()
    loss = kl_uniform(log_q, per_item=True)
    assert loss.shape == ()
    expected = sum(q * math.log(q * n_clusters) for row in rows for q in row) / n
    assert float(loss) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("n", "n_clusters"), SHAPES)
def test_kl_uniform_of_the_mean_row_equals_slow_loop(n, n_clusters):
    log_q = random_log_q(n, n_clusters)
    mean_row = slow_mean_row(log_q.double().exp().tolist())
    expected = sum(q * math.log(q * n_clusters) for q in mean_row)
    assert float(kl_uniform(log_q, per_item=False)) == pytest.approx(expected, abs=1e-5)


def test_kl_uniform_per_item_depends_on_confidence_and_otherwise_on_cluster_sizes():
    one_hot = one_hot_log_q([0, 1, 2], 3)
    assert float(kl_uniform(uniform_log_q(5, 7), per_item=True)) == pytest.approx(0, abs=1e-6)
    assert float(kl_uniform(one_hot, per_item=True)) == pytest.approx(math.log(3), rel=1e-5)
    assert float(kl_uniform(one_hot, per_item=False)) == pytest.approx(0, abs=1e-6)
    assert float(kl_uniform(one_hot[:1], per_item=False)) == pytest.approx(math.log(3), rel=1e-5)


# -- balance_weight_for


@pytest.mark.parametrize("sizes", [[5, 5], [1000] * 20, [7], [2000, 2001, 1999, 2000]])
def test_balance_weight_of_balanced_clusters_is_ten(sizes):
    assert balance_weight_for(torch.tensor(sizes)) == 10


@pytest.mark.parametrize("sizes", [[9, 1], [430, 30, 20, 3, 0], [3, 3, 2]])
def test_balance_weight_equals_its_formula(sizes):
    imbalance = math.log(len(sizes)) - slow_entropy([size / sum(sizes) for size in sizes])
    weight = balance_weight_for(torch.tensor(sizes))
    assert weight == pytest.approx(min(10, 0.01 / imbalance**2))
    assert isinstance(weight, float)


def test_balance_weight_decreases_with_the_imbalance():
    weights = [balance_weight_for(torch.tensor([100 + more, 100 - more, 100])) for more in range(0, 101, 5)]
    assert weights[0] == 10
    assert all(before >= after for before, after in pairwise(weights))
    assert weights[-1] < 0.1


def test_balance_weight_depends_on_relative_sizes_only():
    sizes = torch.tensor([40, 25, 10])
    assert balance_weight_for(sizes) == pytest.approx(balance_weight_for(100 * sizes))
    assert balance_weight_for(sizes) == pytest.approx(balance_weight_for(sizes.flip(0)))
    assert balance_weight_for(sizes) == pytest.approx(balance_weight_for(sizes.double()))


def test_balance_weight_follows_the_order_of_the_paper():
    """AECL sets 10 for balanced data, 0.18 for SearchSnippets, 0.09 for GoogleNews and Tweet: sizes like theirs."""
    balanced = balance_weight_for(torch.full((20,), 1000))
    slightly = balance_weight_for(torch.tensor([2660, 2210, 1500, 1500, 1500, 1420, 1180, 370]))
    heavily = balance_weight_for(torch.tensor([round(430 * 0.968**k) + 3 for k in range(152)]))  # 430 to 3
    assert balanced == 10
    assert 0.18 <= slightly < 10
    assert 0.01 < heavily <= 0.18
