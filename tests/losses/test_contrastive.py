import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.losses.contrastive import cluster_contrast, nt_xent


def by_the_equation(z_1, z_2, tau, *, positive_inside=True):
    """SimCLR Eq. 1 / SCCL Eq. 1-2, an anchor at a time; or with negatives only below, as in AECL Eq. 10."""
    views = [*z_1, *z_2]
    n = len(z_1)

    def similar(i, j):
        return views[i] @ views[j] / (views[i].norm() * views[j].norm())

    total = 0.0
    for i in range(2 * n):
        partner = i + n if i < n else i - n
        below = [j for j in range(2 * n) if j != i and (positive_inside or j != partner)]
        others = sum(torch.exp(similar(i, j) / tau) for j in below)
        total = total - torch.log(torch.exp(similar(i, partner) / tau) / others)
    return total / (2 * n)


def two_views(n=5, dim=4, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(n, dim, generator=generator, dtype=torch.float64).to(dtype) for _ in range(2))


@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("tau", [0.1, 0.5, 3.0])
def test_equals_its_equation(n, tau):
    z_1, z_2 = two_views(n)
    loss = nt_xent(z_1, z_2, tau=tau)
    assert loss.shape == ()
    torch.testing.assert_close(loss.double(), by_the_equation(z_1.double(), z_2.double(), tau), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 8, 100])
def test_all_rows_alike_cost_the_logarithm_of_the_others(n):
    z = torch.tensor([[0.3, -2.0, 1.0]]).repeat(n, 1)
    assert float(nt_xent(z, z, tau=0.5)) == pytest.approx(math.log(2 * n - 1), abs=1e-5)


def test_orthogonal_pairs_have_a_closed_form():
    z = torch.eye(4)  # the partner has cosine 1, the six others 0
    expected = -math.log(math.exp(1 / 0.5) / (math.exp(1 / 0.5) + 6))
    assert float(nt_xent(z, z, tau=0.5)) == pytest.approx(expected, abs=1e-6)


def test_found_partners_cost_nothing_when_it_is_cold_and_exchanged_ones_a_lot():
    z = torch.eye(4)
    assert float(nt_xent(z, z, tau=0.01)) == pytest.approx(0, abs=1e-6)
    assert float(nt_xent(z, z.roll(1, dims=0), tau=0.01)) == pytest.approx(100, abs=1e-3)


def test_when_it_is_hot_nothing_can_be_found():
    assert float(nt_xent(*two_views(6), tau=1e6)) == pytest.approx(math.log(11), abs=1e-4)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 6), scale=st.floats(0.01, 100))
def test_views_may_be_exchanged_texts_reordered_and_rows_made_longer(seed, n, scale):
    z_1, z_2 = two_views(n, seed=seed)
    loss = nt_xent(z_1, z_2, tau=0.5)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(nt_xent(z_2, z_1, tau=0.5), loss, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(nt_xent(z_1[order], z_2[order], tau=0.5), loss, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(nt_xent(scale * z_1, z_2, tau=0.5), loss, atol=1e-5, rtol=1e-5)


def test_it_matters_which_row_is_whose_partner():
    z_1, z_2 = two_views(5)
    assert abs(float(nt_xent(z_1, z_2, tau=0.5) - nt_xent(z_1, z_2.roll(1, dims=0), tau=0.5))) > 0.01


@pytest.mark.parametrize("tau", [0.1, 0.5])
def test_gradients_equal_those_of_the_equation_in_both_views(tau):
    fast = [z.requires_grad_() for z in two_views(4)]
    slow = [z.requires_grad_() for z in two_views(4, dtype=torch.float64)]
    nt_xent(*fast, tau=tau).backward()
    by_the_equation(*slow, tau).backward()
    for one, other in zip(fast, slow, strict=True):
        assert float(other.grad.norm()) > 1e-3
        torch.testing.assert_close(one.grad.double(), other.grad, rtol=1e-3, atol=1e-5)


def test_gradients_equal_finite_differences():
    views = [z.requires_grad_() for z in two_views(3, dim=2, dtype=torch.float64)]
    assert torch.autograd.gradcheck(lambda *z: nt_xent(*z, tau=0.5), views, eps=1e-2, atol=2e-3, rtol=2e-2)


@pytest.mark.parametrize("factor", [0.0, 1e-30, 1e18])
@pytest.mark.parametrize("tau", [1e-6, 1e-3, 1e3])
def test_loss_and_gradient_are_finite_at_the_extremes(factor, tau):
    z_1, z_2 = ((factor * z).requires_grad_() for z in two_views(5))
    loss = nt_xent(z_1, z_2, tau=tau)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(z_1.grad).all()
    assert torch.isfinite(z_2.grad).all()


def test_half_precision_is_computed_in_single():
    z_1, z_2 = two_views(6)
    loss = nt_xent(z_1.bfloat16(), z_2.bfloat16(), tau=0.5)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, nt_xent(z_1.bfloat16().float(), z_2.bfloat16().float(), tau=0.5))


# -- without the positive below


@pytest.mark.parametrize("n", [2, 3, 7])
@pytest.mark.parametrize("tau", [0.1, 0.5, 3.0])
def test_without_the_positive_below_it_equals_its_equation(n, tau):
    z_1, z_2 = two_views(n)
    loss = nt_xent(z_1, z_2, tau=tau, positive_inside=False)
    assert loss.shape == ()
    expected = by_the_equation(z_1.double(), z_2.double(), tau, positive_inside=False)
    torch.testing.assert_close(loss.double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n", [2, 8, 100])
def test_without_the_positive_below_rows_that_are_alike_cost_the_logarithm_of_the_negatives(n):
    z = torch.tensor([[0.3, -2.0, 1.0]]).repeat(n, 1)
    assert float(nt_xent(z, z, tau=0.5, positive_inside=False)) == pytest.approx(math.log(2 * n - 2), abs=1e-5)


def test_without_the_positive_below_there_is_no_lower_bound():
    z = torch.eye(4)  # the partner has cosine 1, the six others 0
    for tau in (0.5, 0.01):
        loss = nt_xent(z, z, tau=tau, positive_inside=False)
        assert float(loss) == pytest.approx(math.log(6) - 1 / tau, abs=1e-3)


def test_gradients_without_the_positive_below_equal_those_of_the_equation():
    fast = [z.requires_grad_() for z in two_views(4)]
    slow = [z.requires_grad_() for z in two_views(4, dtype=torch.float64)]
    nt_xent(*fast, tau=0.5, positive_inside=False).backward()
    by_the_equation(*slow, 0.5, positive_inside=False).backward()
    for one, other in zip(fast, slow, strict=True):
        assert float(other.grad.norm()) > 1e-3
        torch.testing.assert_close(one.grad.double(), other.grad, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("factor", [0.0, 1e-30, 1e18])
@pytest.mark.parametrize("tau", [1e-6, 1e-3, 1e3])
def test_without_the_positive_below_loss_and_gradient_are_finite_at_the_extremes(factor, tau):
    z_1, z_2 = ((factor * z).requires_grad_() for z in two_views(5))
    loss = nt_xent(z_1, z_2, tau=tau, positive_inside=False)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(z_1.grad).all()
    assert torch.isfinite(z_2.grad).all()


# -- clusters


def two_assignments(n=6, n_clusters=4):
    generator = torch.Generator().manual_seed(0)
    return [(2 * torch.randn(n, n_clusters, generator=generator)).softmax(dim=1) for _ in range(2)]


@pytest.mark.parametrize("positive_inside", [True, False])
@pytest.mark.parametrize("n_clusters", [2, 4])
def test_clusters_are_contrasted_by_their_columns(positive_inside, n_clusters):
    q_1, q_2 = two_assignments(n_clusters=n_clusters)
    loss = cluster_contrast(q_1, q_2, tau=0.7, positive_inside=positive_inside)
    columns = [[q[:, k] for k in range(n_clusters)] for q in (q_1.double(), q_2.double())]
    expected = by_the_equation(*columns, 0.7, positive_inside=positive_inside)
    torch.testing.assert_close(loss.double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n_clusters", [2, 20])
def test_equal_columns_cost_the_logarithm_of_the_other_columns(n_clusters):
    q = torch.full((10, n_clusters), 1 / n_clusters)
    as_coded = cluster_contrast(q, q, tau=0.5, positive_inside=True)
    as_printed = cluster_contrast(q, q, tau=0.5, positive_inside=False)
    assert float(as_coded) == pytest.approx(math.log(2 * n_clusters - 1), abs=1e-5)
    assert float(as_printed) == pytest.approx(math.log(2 * n_clusters - 2), abs=1e-5)


@pytest.mark.parametrize("positive_inside", [True, False])
def test_clusters_that_both_views_tell_apart_cost_least(positive_inside):
    sure = torch.eye(3).repeat(4, 1)
    options = {"tau": 0.5, "positive_inside": positive_inside}
    best = cluster_contrast(sure, sure, **options)
    assert best < cluster_contrast(*two_assignments(12, 3), **options)
    assert best < cluster_contrast(sure, sure.roll(1, dims=1), **options)


@pytest.mark.parametrize("positive_inside", [True, False])
def test_one_cluster_costs_nothing_and_teaches_nothing(positive_inside):
    logits = [torch.randn(5, 1).requires_grad_() for _ in range(2)]
    loss = cluster_contrast(*(x.softmax(dim=1) for x in logits), tau=0.5, positive_inside=positive_inside)
    loss.backward()
    assert float(loss.detach()) == 0
    assert not logits[0].grad.any()
    assert logits[1].grad is None or not logits[1].grad.any()
