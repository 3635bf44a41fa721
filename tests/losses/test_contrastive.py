import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.losses.contrastive import cluster_contrast, nt_xent, nt_xent_between_clusters


def slow_nt_xent(z_1, z_2, tau, *, positive_in_denominator=True):
    """SimCLR Eq. 1 / SCCL Eq. 1-2, one anchor at a time; or without the positive in the denominator, AECL Eq. 10."""
    views = [*z_1, *z_2]
    n = len(z_1)

    def cosine(i, j):
        return views[i] @ views[j] / (views[i].norm() * views[j].norm())

    total = 0.0
    for i in range(2 * n):
        other_view = i + n if i < n else i - n
        summed = [j for j in range(2 * n) if j != i and (positive_in_denominator or j != other_view)]
        denominator = sum(torch.exp(cosine(i, j) / tau) for j in summed)
        total = total - torch.log(torch.exp(cosine(i, other_view) / tau) / denominator)
    return total / (2 * n)


def two_views(n=5, dim=4, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(n, dim, generator=generator, dtype=torch.float64).to(dtype) for _ in range(2)]


in_denominator = pytest.mark.parametrize("positive_in_denominator", [True, False])


# -- both forms of NT-Xent


@in_denominator
@pytest.mark.parametrize("n", [2, 3, 7])
@pytest.mark.parametrize("tau", [0.1, 0.5, 3.0])
def test_nt_xent_equals_slow_loop(n, tau, positive_in_denominator):
    z_1, z_2 = two_views(n)
    loss = nt_xent(z_1, z_2, tau=tau, positive_in_denominator=positive_in_denominator)
    assert loss.shape == ()
    expected = slow_nt_xent(z_1.double(), z_2.double(), tau, positive_in_denominator=positive_in_denominator)
    torch.testing.assert_close(loss.double(), expected, rtol=1e-5, atol=1e-5)


@in_denominator
@pytest.mark.parametrize("tau", [0.1, 0.5])
def test_nt_xent_gradients_equal_those_of_the_slow_loop(tau, positive_in_denominator):
    fast = [z.requires_grad_() for z in two_views(4)]
    slow = [z.requires_grad_() for z in two_views(4, dtype=torch.float64)]
    nt_xent(*fast, tau=tau, positive_in_denominator=positive_in_denominator).backward()
    slow_nt_xent(*slow, tau, positive_in_denominator=positive_in_denominator).backward()
    for z, expected in zip(fast, slow, strict=True):
        assert float(expected.grad.norm()) > 1e-3
        torch.testing.assert_close(z.grad.double(), expected.grad, rtol=1e-3, atol=1e-5)


def test_nt_xent_between_clusters_equals_slow_loop_and_is_zero_without_negatives():
    z_1, z_2 = two_views(4)
    labels = torch.tensor([0, 0, 1, 2, 0, 1, 1, 2])
    z = [v / v.norm() for v in (*z_1.double(), *z_2.double())]
    losses = []
    for i in range(8):
        kept = [j for j in range(8) if j == (i + 4) % 8 or labels[j] != labels[i]]
        terms = [math.exp(float(z[i] @ z[j]) / 0.5) for j in kept]
        losses.append(-math.log(terms[kept.index((i + 4) % 8)] / sum(terms)))
    loss = nt_xent_between_clusters(z_1, z_2, labels, tau=0.5)
    assert loss.item() == pytest.approx(sum(losses) / 8, rel=1e-5)
    assert nt_xent_between_clusters(z_1, z_2, torch.zeros(8), tau=0.5).item() == 0


@in_denominator
@pytest.mark.parametrize("factor", [0.0, 1e-30, 1e18])
@pytest.mark.parametrize("tau", [1e-6, 1e-3, 1e3])
def test_nt_xent_and_its_gradient_are_finite_for_extreme_values(factor, tau, positive_in_denominator):
    z_1, z_2 = ((factor * z).requires_grad_() for z in two_views(5))
    loss = nt_xent(z_1, z_2, tau=tau, positive_in_denominator=positive_in_denominator)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(z_1.grad).all()
    assert torch.isfinite(z_2.grad).all()


@in_denominator
@pytest.mark.parametrize("n", [2, 8, 100])
def test_nt_xent_of_identical_rows_is_the_logarithm_of_the_number_of_summands(n, positive_in_denominator):
    z = torch.tensor([[0.3, -2.0, 1.0]]).repeat(n, 1)
    loss = nt_xent(z, z, tau=0.5, positive_in_denominator=positive_in_denominator)
    n_summands = 2 * n - 1 if positive_in_denominator else 2 * n - 2
    assert float(loss) == pytest.approx(math.log(n_summands), abs=1e-5)


# -- with the positive in the denominator


def test_nt_xent_of_a_single_text_is_zero():
    assert float(nt_xent(*two_views(1), tau=0.5)) == pytest.approx(0, abs=1e-6)


def test_nt_xent_of_orthogonal_pairs():
    z = torch.eye(4)  # the other view has cosine 1, the six negatives 0
    expected = -math.log(math.exp(1 / 0.5) / (math.exp(1 / 0.5) + 6))
    assert float(nt_xent(z, z, tau=0.5)) == pytest.approx(expected, abs=1e-6)


def test_nt_xent_at_low_temperature_is_zero_for_matching_views_and_large_for_exchanged_ones():
    z = torch.eye(4)
    assert float(nt_xent(z, z, tau=0.01)) == pytest.approx(0, abs=1e-6)
    assert float(nt_xent(z, z.roll(1, dims=0), tau=0.01)) == pytest.approx(100, abs=1e-3)


def test_nt_xent_at_high_temperature_does_not_depend_on_the_vectors():
    assert float(nt_xent(*two_views(6), tau=1e6)) == pytest.approx(math.log(11), abs=1e-4)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 6), scale=st.floats(0.01, 100))
def test_nt_xent_is_invariant_to_exchanged_views_reordered_texts_and_scaled_rows(seed, n, scale):
    z_1, z_2 = two_views(n, seed=seed)
    loss = nt_xent(z_1, z_2, tau=0.5)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(nt_xent(z_2, z_1, tau=0.5), loss, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(nt_xent(z_1[order], z_2[order], tau=0.5), loss, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(nt_xent(scale * z_1, z_2, tau=0.5), loss, atol=1e-5, rtol=1e-5)


def test_nt_xent_gradients_equal_finite_differences():
    views = [z.requires_grad_() for z in two_views(3, dim=2, dtype=torch.float64)]
    assert torch.autograd.gradcheck(lambda *z: nt_xent(*z, tau=0.5), views, eps=1e-2, atol=2e-3, rtol=2e-2)


def test_nt_xent_computes_half_precision_in_float32():
    z_1, z_2 = two_views(6)
    loss = nt_xent(z_1.bfloat16(), z_2.bfloat16(), tau=0.5)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, nt_xent(z_1.bfloat16().float(), z_2.bfloat16().float(), tau=0.5))


# -- without the positive in the denominator


def test_nt_xent_without_the_positive_in_the_denominator_has_no_lower_bound():
    z = torch.eye(4)  # the other view has cosine 1, the six negatives 0
    for tau in (0.5, 0.01):
        loss = nt_xent(z, z, tau=tau, positive_in_denominator=False)
        assert float(loss) == pytest.approx(math.log(6) - 1 / tau, abs=1e-3)


# -- contrast of clusters


def two_assignments(n=6, n_clusters=4):
    generator = torch.Generator().manual_seed(0)
    return [(2 * torch.randn(n, n_clusters, generator=generator)).softmax(dim=1) for _ in range(2)]


@in_denominator
@pytest.mark.parametrize("n_clusters", [2, 4])
def test_cluster_contrast_compares_the_columns(positive_in_denominator, n_clusters):
    q_1, q_2 = two_assignments(n_clusters=n_clusters)
    loss = cluster_contrast(q_1, q_2, tau=0.7, positive_in_denominator=positive_in_denominator)
    columns = [[q[:, k] for k in range(n_clusters)] for q in (q_1.double(), q_2.double())]
    expected = slow_nt_xent(*columns, 0.7, positive_in_denominator=positive_in_denominator)
    torch.testing.assert_close(loss.double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n_clusters", [2, 20])
def test_cluster_contrast_of_identical_columns(n_clusters):
    q = torch.full((10, n_clusters), 1 / n_clusters)
    with_positive = cluster_contrast(q, q, tau=0.5, positive_in_denominator=True)
    without_positive = cluster_contrast(q, q, tau=0.5, positive_in_denominator=False)
    assert float(with_positive) == pytest.approx(math.log(2 * n_clusters - 1), abs=1e-5)
    assert float(without_positive) == pytest.approx(math.log(2 * n_clusters - 2), abs=1e-5)


@in_denominator
def test_cluster_contrast_is_smallest_for_distinct_clusters_that_agree_between_views(positive_in_denominator):
    one_hot = torch.eye(3).repeat(4, 1)
    options = {"tau": 0.5, "positive_in_denominator": positive_in_denominator}
    best = cluster_contrast(one_hot, one_hot, **options)
    assert best < cluster_contrast(*two_assignments(12, 3), **options)
    assert best < cluster_contrast(one_hot, one_hot.roll(1, dims=1), **options)


@in_denominator
def test_cluster_contrast_of_one_cluster_is_zero_with_zero_gradient(positive_in_denominator):
    logits = [torch.randn(5, 1).requires_grad_() for _ in range(2)]
    q_1, q_2 = (x.softmax(dim=1) for x in logits)
    loss = cluster_contrast(q_1, q_2, tau=0.5, positive_in_denominator=positive_in_denominator)
    loss.backward()
    assert float(loss.detach()) == 0
    assert not logits[0].grad.any()
    assert logits[1].grad is None or not logits[1].grad.any()
