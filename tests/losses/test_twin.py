import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.losses.balance import imbalance
from coterie.losses.twin import kl_uniform, queue_contrast, set_representation

# -- the equations, as slow loops


def equation_4(q, f):
    """Return r_k, a cluster at a time."""
    sums = [sum(q[i][k] * f[i] for i in range(len(f))) for k in range(len(q[0]))]
    return torch.stack([s / s.norm() for s in sums])


def equation_5(r, r_hat, p, tau):
    """Clusters against a queue whose row l is of cluster l mod K."""
    n_clusters, total = len(r), 0.0
    for k in range(n_clusters):
        found = torch.exp(r_hat[k] @ r[k] / tau)
        others = sum((torch.exp(p[j] @ r[k] / tau) for j in range(len(p)) if j % n_clusters != k), torch.tensor(0.0))
        total = total - torch.log(found / (found + others))
    return total / n_clusters


def equation_7(e, e_hat, q, tau):
    """Items against all of a queue, averaged."""
    total = 0.0
    for i in range(len(e)):
        found = torch.exp(e_hat[i] @ e[i] / tau)
        total = total - torch.log(found / (found + sum(torch.exp(q_j @ e[i] / tau) for q_j in q)))
    return total / len(e)


def unit(n, dim=4, seed=0, dtype=torch.float32):
    rows = torch.randn(n, dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return F.normalize(rows, dim=1).to(dtype)


def of_clusters(n_clusters, size):
    """Return ``same`` (K, L) of a queue of clusters in order."""
    return torch.arange(n_clusters)[:, None] == torch.arange(size) % n_clusters


def nobody(n, size):
    return torch.zeros(n, size, dtype=torch.bool)


def made_up(n=6, n_clusters=4, seed=0):
    return (2 * torch.randn(n, n_clusters, generator=torch.Generator().manual_seed(seed))).log_softmax(dim=1)


# -- what a batch says of a cluster


@pytest.mark.parametrize(("n", "n_clusters"), [(6, 4), (1, 3), (20, 1)])
def test_a_set_representation_is_equation_4(n, n_clusters):
    log_q, f = made_up(n, n_clusters), 3 * unit(n, seed=1)
    r = set_representation(log_q, f)
    assert r.shape == (n_clusters, 4)
    torch.testing.assert_close(r.double(), equation_4(log_q.double().exp(), f.double()), rtol=1e-5, atol=1e-6)


def test_sure_rows_represent_their_own_cluster_only():
    f = unit(4)
    log_q = (100 * F.one_hot(torch.tensor([0, 1, 1, 2]), 3).float()).log_softmax(dim=1)
    expected = torch.stack([f[0], F.normalize(f[1] + f[2], dim=0), f[3]])
    torch.testing.assert_close(set_representation(log_q, f), expected)


def test_a_cluster_that_nobody_belongs_to_is_who_is_nearest_to_it_and_never_nothing():
    log_q = torch.tensor([[0.0, -200.0], [0.0, -300.0]])  # float32 has no exp(-200)
    r = set_representation(log_q, torch.eye(2))
    torch.testing.assert_close(r, torch.tensor([[0.5**0.5, 0.5**0.5], [1.0, 0.0]]))


def test_the_order_of_a_batch_does_not_matter():
    log_q, f, order = made_up(), unit(6), torch.tensor([3, 1, 5, 0, 2, 4])
    torch.testing.assert_close(set_representation(log_q[order], f[order]), set_representation(log_q, f))


# -- contrasts with a queue


@pytest.mark.parametrize("tau", [0.1, 0.5, 3.0])
@pytest.mark.parametrize("n_clusters", [1, 2, 5])
@pytest.mark.parametrize("steps", [0, 1, 4])
def test_clusters_are_contrasted_as_in_equation_5(n_clusters, steps, tau):
    r, r_hat, p = unit(n_clusters), unit(n_clusters, seed=1), unit(steps * n_clusters, seed=2)
    loss = queue_contrast(r, r_hat, p, of_clusters(n_clusters, len(p)), tau=tau)
    assert loss.shape == ()
    torch.testing.assert_close(loss, equation_5(r, r_hat, p, tau), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("tau", [0.1, 0.5, 3.0])
@pytest.mark.parametrize("size", [1, 9])
def test_items_are_contrasted_as_in_equation_7(size, tau):
    e, e_hat, q = unit(6), unit(6, seed=1), unit(size, seed=2)
    loss = queue_contrast(e, e_hat, q, nobody(6, size), tau=tau)
    torch.testing.assert_close(loss, equation_7(e, e_hat, q, tau), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("size", [1, 7, 300])
def test_all_rows_alike_cost_the_logarithm_of_the_candidates(size):
    z = torch.tensor([[1.0, 0.0]])
    loss = queue_contrast(z.repeat(5, 1), z.repeat(5, 1), z.repeat(size, 1), nobody(5, size), tau=0.5)
    assert float(loss) == pytest.approx(math.log(1 + size), abs=1e-5)


def test_orthogonal_clusters_have_a_closed_form():
    r = torch.eye(4)  # of 12 rows in the queue, the nine of other clusters have cosine 0
    loss = queue_contrast(r, r, r.repeat(3, 1), of_clusters(4, 12), tau=0.5)
    assert float(loss) == pytest.approx(-math.log(math.exp(2) / (math.exp(2) + 9)), abs=1e-6)


def test_what_stands_for_the_same_is_no_negative_whatever_it_is():
    z, queue = unit(3), unit(6, seed=2)
    same = of_clusters(3, 6)
    loss = queue_contrast(z, z, queue, same, tau=0.5)
    changed = queue.clone()
    changed[1] = z[1]  # row 1 is of cluster 1, and would be the hardest negative of it
    own = torch.stack([queue_contrast(z[1:2], z[1:2], rows, same[1:2], tau=0.5) for rows in (queue, changed)])
    assert own[0] == own[1]
    assert queue_contrast(z, z, changed, same, tau=0.5) != loss  # but it is one of the two others


def test_without_negatives_there_is_nothing_to_learn():
    z = unit(3).requires_grad_()
    for queue, same in ((unit(0), nobody(3, 0)), (unit(4), ~nobody(3, 4))):
        loss = queue_contrast(z, unit(3, seed=1), queue, same, tau=0.5)
        (grad,) = torch.autograd.grad(loss, z)
        assert float(loss.detach()) == 0
        assert not grad.any()


def test_found_positives_cost_nothing_when_it_is_cold_and_exchanged_ones_a_lot():
    z = torch.eye(4)
    assert float(queue_contrast(z, z, z, of_clusters(4, 4), tau=0.01)) == pytest.approx(0, abs=1e-6)
    assert float(queue_contrast(z, z.roll(1, dims=0), z, nobody(4, 4), tau=0.01)) == pytest.approx(100, abs=1e-3)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), size=st.integers(0, 8))
def test_rows_and_queue_may_be_reordered(seed, size):
    generator = torch.Generator().manual_seed(seed)
    z, positive, queue = unit(4, seed=seed), unit(4, seed=seed + 1), unit(size, seed=seed + 2)
    same = torch.rand(4, size, generator=generator) < 0.3
    rows, places = torch.randperm(4, generator=generator), torch.randperm(size, generator=generator)
    loss = queue_contrast(z, positive, queue, same, tau=0.5)
    other = queue_contrast(z[rows], positive[rows], queue[places], same[rows][:, places], tau=0.5)
    torch.testing.assert_close(other, loss, atol=1e-5, rtol=1e-5)


def test_gradients_equal_those_of_the_equation():
    fast, slow = unit(4).requires_grad_(), unit(4, dtype=torch.float64).requires_grad_()
    queue_contrast(fast, unit(4, seed=1), unit(8, seed=2), of_clusters(4, 8), tau=0.5).backward()
    equation_5(slow, unit(4, seed=1).double(), unit(8, seed=2).double(), 0.5).backward()
    assert float(slow.grad.norm()) > 1e-3
    torch.testing.assert_close(fast.grad.double(), slow.grad, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("tau", [1e-4, 1e3])
def test_loss_and_gradient_are_finite_at_the_extremes(tau):
    z = unit(4).requires_grad_()
    loss = queue_contrast(z, -unit(4), unit(8, seed=2), of_clusters(4, 8), tau=tau)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(z.grad).all()


# -- the prior


@pytest.mark.parametrize(("n", "n_clusters"), [(1, 3), (6, 4), (5, 1)])
def test_the_prior_is_the_divergence_from_uniform_of_each_row(n, n_clusters):
    log_q = made_up(n, n_clusters)
    rows = log_q.double().exp().tolist()
    expected = sum(q * math.log(q * n_clusters) for row in rows for q in row) / n
    loss = kl_uniform(log_q, per_item=True)
    assert loss.shape == ()
    assert float(loss) == pytest.approx(expected, abs=1e-5)


def test_undecided_rows_cost_nothing_and_sure_ones_the_logarithm_of_k():
    assert float(kl_uniform(torch.zeros(5, 7).log_softmax(dim=1), per_item=True)) == pytest.approx(0, abs=1e-6)
    sure = (200 * torch.eye(3)).log_softmax(dim=1)
    assert float(kl_uniform(sure, per_item=True)) == pytest.approx(math.log(3), rel=1e-5)


def test_of_the_mean_row_only_uneven_clusters_cost():
    sure = (200 * torch.eye(3)).log_softmax(dim=1)
    assert float(kl_uniform(sure, per_item=False)) == pytest.approx(0, abs=1e-6)
    assert float(kl_uniform(sure[:1], per_item=False)) == pytest.approx(math.log(3), rel=1e-5)
    assert kl_uniform(made_up(), per_item=False) == imbalance(made_up())
