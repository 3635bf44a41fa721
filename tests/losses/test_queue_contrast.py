import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.losses.contrastive import queue_contrast

# -- the equations of TCC as slow loops


def slow_cluster_loss(r, r_hat, p, tau):
    """Eq. 5: clusters against a queue whose row l is of cluster l mod K."""
    n_clusters = len(r)
    total = 0.0
    for k in range(n_clusters):
        positive = torch.exp(r_hat[k] @ r[k] / tau)
        negatives = [torch.exp(p[j] @ r[k] / tau) for j in range(len(p)) if j % n_clusters != k]
        total = total - torch.log(positive / (positive + sum(negatives, torch.tensor(0.0))))
    return total / n_clusters


def slow_instance_loss(e, e_hat, q, tau):
    """Eq. 7: items against all rows of a queue."""
    total = 0.0
    for i in range(len(e)):
        positive = torch.exp(e_hat[i] @ e[i] / tau)
        total = total - torch.log(positive / (positive + sum(torch.exp(q_j @ e[i] / tau) for q_j in q)))
    return total / len(e)


def random_unit_rows(n, dim=4, seed=0, dtype=torch.float32):
    rows = torch.randn(n, dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return F.normalize(rows, dim=1).to(dtype)


def same_cluster(n_clusters, size):
    """Return the mask (K, L) of a queue that holds the clusters in order."""
    return torch.arange(n_clusters)[:, None] == torch.arange(size) % n_clusters


def no_row_is_same(n, size):
    return torch.zeros(n, size, dtype=torch.bool)


@pytest.mark.parametrize("tau", [0.1, 0.5, 3.0])
@pytest.mark.parametrize("n_clusters", [1, 2, 5])
@pytest.mark.parametrize("steps", [0, 1, 4])
def test_clusters_equal_the_slow_loop_of_equation_5(n_clusters, steps, tau):
    r = random_unit_rows(n_clusters)
    r_hat = random_unit_rows(n_clusters, seed=1)
    queue = random_unit_rows(steps * n_clusters, seed=2)
    loss = queue_contrast(r, r_hat, queue, same_cluster(n_clusters, len(queue)), tau=tau)
    assert loss.shape == ()
    torch.testing.assert_close(loss, slow_cluster_loss(r, r_hat, queue, tau), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("tau", [0.1, 0.5, 3.0])
@pytest.mark.parametrize("size", [1, 9])
def test_items_equal_the_slow_loop_of_equation_7(size, tau):
    e = random_unit_rows(6)
    e_hat = random_unit_rows(6, seed=1)
    queue = random_unit_rows(size, seed=2)
    loss = queue_contrast(e, e_hat, queue, no_row_is_same(6, size), tau=tau)
    torch.testing.assert_close(loss, slow_instance_loss(e, e_hat, queue, tau), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("size", [1, 7, 300])
def test_identical_rows_give_the_logarithm_of_the_number_of_candidates(size):
    z = torch.tensor([[1.0, 0.0]])
    loss = queue_contrast(z.repeat(5, 1), z.repeat(5, 1), z.repeat(size, 1), no_row_is_same(5, size), tau=0.5)
    assert float(loss) == pytest.approx(math.log(1 + size), abs=1e-5)


def test_orthogonal_clusters():
    r = torch.eye(4)  # of 12 queue rows, the nine of other clusters have cosine 0
    loss = queue_contrast(r, r, r.repeat(3, 1), same_cluster(4, 12), tau=0.5)
    assert float(loss) == pytest.approx(-math.log(math.exp(2) / (math.exp(2) + 9)), abs=1e-6)


def test_masked_rows_are_not_negatives():
    z = random_unit_rows(3)
    queue = random_unit_rows(6, seed=2)
    same = same_cluster(3, 6)
    changed = queue.clone()
    changed[1] = z[1]  # row 1 is of cluster 1 and would be its hardest negative

    def loss_of_cluster_1(rows):
        return queue_contrast(z[1:2], z[1:2], rows, same[1:2], tau=0.5)

    assert loss_of_cluster_1(queue) == loss_of_cluster_1(changed)
    loss = queue_contrast(z, z, queue, same, tau=0.5)
    assert queue_contrast(z, z, changed, same, tau=0.5) != loss  # it is a negative of the other two clusters


def test_without_negatives_loss_and_gradient_are_zero():
    z = random_unit_rows(3).requires_grad_()
    empty_queue = (random_unit_rows(0), no_row_is_same(3, 0))
    masked_queue = (random_unit_rows(4), ~no_row_is_same(3, 4))
    for queue, same in (empty_queue, masked_queue):
        loss = queue_contrast(z, random_unit_rows(3, seed=1), queue, same, tau=0.5)
        (grad,) = torch.autograd.grad(loss, z)
        assert float(loss.detach()) == 0
        assert not grad.any()


def test_at_low_temperature_matching_positives_give_zero_and_exchanged_ones_a_large_loss():
    z = torch.eye(4)
    assert float(queue_contrast(z, z, z, same_cluster(4, 4), tau=0.01)) == pytest.approx(0, abs=1e-6)
    exchanged = queue_contrast(z, z.roll(1, dims=0), z, no_row_is_same(4, 4), tau=0.01)
    assert float(exchanged) == pytest.approx(100, abs=1e-3)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), size=st.integers(0, 8))
def test_the_order_of_rows_and_queue_does_not_matter(seed, size):
    generator = torch.Generator().manual_seed(seed)
    z = random_unit_rows(4, seed=seed)
    positive = random_unit_rows(4, seed=seed + 1)
    queue = random_unit_rows(size, seed=seed + 2)
    same = torch.rand(4, size, generator=generator) < 0.3
    rows = torch.randperm(4, generator=generator)
    columns = torch.randperm(size, generator=generator)
    loss = queue_contrast(z, positive, queue, same, tau=0.5)
    reordered = queue_contrast(z[rows], positive[rows], queue[columns], same[rows][:, columns], tau=0.5)
    torch.testing.assert_close(reordered, loss, atol=1e-5, rtol=1e-5)


def test_gradients_equal_those_of_the_slow_loop():
    fast = random_unit_rows(4).requires_grad_()
    slow = random_unit_rows(4, dtype=torch.float64).requires_grad_()
    positive = random_unit_rows(4, seed=1)
    queue = random_unit_rows(8, seed=2)
    queue_contrast(fast, positive, queue, same_cluster(4, 8), tau=0.5).backward()
    slow_cluster_loss(slow, positive.double(), queue.double(), 0.5).backward()
    assert float(slow.grad.norm()) > 1e-3
    torch.testing.assert_close(fast.grad.double(), slow.grad, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("tau", [1e-4, 1e3])
def test_loss_and_gradient_are_finite_for_extreme_temperatures(tau):
    z = random_unit_rows(4).requires_grad_()
    loss = queue_contrast(z, -random_unit_rows(4), random_unit_rows(8, seed=2), same_cluster(4, 8), tau=tau)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(z.grad).all()
