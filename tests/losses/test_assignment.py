import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.losses.assignment import kl, sharpen, student_t


def q_by_the_equation(h, mu, alpha):
    """SCCL Eq. 3, a text and a center at a time."""
    rows = []
    for h_j in h:
        kernel = [(1 + (h_j - mu_k).square().sum() / alpha) ** (-(alpha + 1) / 2) for mu_k in mu]
        rows.append(torch.stack([k / sum(kernel) for k in kernel]))
    return torch.stack(rows)


def p_by_the_equation(q):
    """SCCL Eq. 4 with the index of its denominator put right."""
    n, n_clusters = q.shape
    f = [sum(q[j, k] for j in range(n)) for k in range(n_clusters)]
    rows = []
    for j in range(n):
        share = [q[j, k] ** 2 / f[k] for k in range(n_clusters)]
        rows.append(torch.stack([s / sum(share) for s in share]))
    return torch.stack(rows)


def kl_by_the_equation(p, q):
    """SCCL Eq. 5-6."""
    return sum(p_jk * torch.log(p_jk / q_jk) for p_jk, q_jk in zip(p.flatten(), q.flatten(), strict=True)) / len(p)


def made_up(n=6, n_clusters=3, dim=4, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(m, dim, generator=generator, dtype=torch.float64).to(dtype) for m in (n, n_clusters))


def made_up_q(n=6, n_clusters=3, seed=0):
    logits = torch.randn(n, n_clusters, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (2 * logits).softmax(dim=1)


# -- Eq. 3


@pytest.mark.parametrize("alpha", [0.5, 1.0, 10.0])
@pytest.mark.parametrize("n_clusters", [1, 2, 5])
def test_student_t_equals_its_equation(alpha, n_clusters):
    h, mu = made_up(n_clusters=n_clusters)
    log_q = student_t(h, mu, alpha=alpha)
    assert log_q.shape == (6, n_clusters)
    expected = q_by_the_equation(h.double(), mu.double(), alpha)
    torch.testing.assert_close(log_q.double(), expected.log(), rtol=1e-5, atol=1e-5)


def test_a_text_on_a_center_with_one_other_has_a_closed_form():
    h, mu = torch.tensor([[0.0, 0.0]]), torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    assert student_t(h, mu).exp().tolist() == [[pytest.approx(26 / 27), pytest.approx(1 / 27)]]
    far = (1 + 25 / 3) ** -2  # alpha 3
    assert student_t(h, mu, alpha=3).exp().tolist() == [[pytest.approx(1 / (1 + far)), pytest.approx(far / (1 + far))]]


def test_equally_far_centers_share_a_text():
    mu = torch.tensor([[1.0, 0], [0, 1], [-1, 0], [0, -1]])
    torch.testing.assert_close(student_t(torch.zeros(1, 2), mu).exp(), torch.full((1, 4), 0.25))


def test_many_degrees_of_freedom_are_nearly_a_gaussian():
    h, mu = made_up()
    gaussian = (-torch.cdist(h, mu).square() / 2).softmax(dim=1)
    torch.testing.assert_close(student_t(h, mu, alpha=1e4).exp(), gaussian, atol=5e-3, rtol=0)
    assert (student_t(h, mu, alpha=1.0).exp() - gaussian).abs().max() > 0.05


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), alpha=st.sampled_from([1.0, 10.0]), shift=st.floats(-3, 3))
def test_student_t_sees_distances_only_and_each_text_alone(seed, alpha, shift):
    h, mu = made_up(seed=seed)
    log_q = student_t(h, mu, alpha=alpha)
    turn = torch.linalg.qr(torch.randn(4, 4, generator=torch.Generator().manual_seed(seed)))[0]
    order = torch.randperm(3, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(log_q.exp().sum(dim=1), torch.ones(6))
    torch.testing.assert_close(student_t(h @ turn + shift, mu @ turn + shift, alpha=alpha), log_q, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(student_t(h, mu[order], alpha=alpha), log_q[:, order], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(student_t(h[:1], mu, alpha=alpha), log_q[:1], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(log_q.argmax(dim=1), torch.cdist(h, mu).argmin(dim=1))


@pytest.mark.parametrize("alpha", [1.0, 10.0])
def test_gradients_of_student_t_reach_texts_and_centers_as_in_the_equation(alpha):
    fast = [x.requires_grad_() for x in made_up()]
    slow = [x.requires_grad_() for x in made_up(dtype=torch.float64)]
    weight = made_up_q(seed=1)
    (student_t(*fast, alpha=alpha) * weight.float()).sum().backward()
    (q_by_the_equation(*slow, alpha).log() * weight).sum().backward()
    for one, other in zip(fast, slow, strict=True):
        assert float(other.grad.norm()) > 0.1
        torch.testing.assert_close(one.grad.double(), other.grad, rtol=1e-3, atol=1e-4)


def test_gradients_of_student_t_equal_finite_differences():
    inputs = [x.requires_grad_() for x in made_up(n=2, dim=2, dtype=torch.float64)]
    assert torch.autograd.gradcheck(student_t, inputs, eps=1e-2, atol=2e-3, rtol=2e-2)


# -- Eq. 4


def test_the_target_equals_its_equation():
    q = made_up_q()
    torch.testing.assert_close(sharpen(q.log()), p_by_the_equation(q))


@pytest.mark.parametrize("n_clusters", [1, 2, 7])
def test_equal_q_is_its_own_target(n_clusters):
    q = torch.full((5, n_clusters), 1 / n_clusters)
    torch.testing.assert_close(sharpen(q.log()), q)


def test_rows_that_are_all_alike_stay_as_they_are():
    q = torch.tensor([[0.7, 0.2, 0.1]]).repeat(4, 1)  # f_k = 4 q_k, so q_k^2 / f_k is proportional to q_k
    torch.testing.assert_close(sharpen(q.log()), q)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 8), n_clusters=st.integers(1, 6))
def test_rows_of_the_target_sum_to_one_and_follow_their_texts_and_clusters(seed, n, n_clusters):
    log_q = made_up_q(n, n_clusters, seed).log()
    p = sharpen(log_q)
    generator = torch.Generator().manual_seed(seed)
    rows, columns = torch.randperm(n, generator=generator), torch.randperm(n_clusters, generator=generator)
    torch.testing.assert_close(p.sum(dim=1), torch.ones(n, dtype=torch.float64))
    torch.testing.assert_close(sharpen(log_q[rows][:, columns]), p[rows][:, columns])


def test_a_balanced_q_becomes_surer_and_a_large_cluster_pays_for_its_size():
    balanced = torch.tensor([[0.8, 0.2], [0.2, 0.8]])
    expected = 0.64 / 0.68
    torch.testing.assert_close(sharpen(balanced.log())[0, 0], torch.tensor(expected))
    lopsided = torch.tensor([[0.9, 0.1], [0.9, 0.1], [0.55, 0.45]])
    assert sharpen(lopsided.log())[2, 0] < 0.5 < lopsided[2, 0]


def test_no_gradient_flows_through_the_target():
    log_q = made_up_q().log().requires_grad_()
    assert not sharpen(log_q).requires_grad
    kl(sharpen(log_q), log_q).backward()
    torch.testing.assert_close(log_q.grad, -sharpen(log_q) / 6)  # p is a constant: d/d log q = -p / B


# -- Eq. 5-6


def test_the_divergence_equals_its_equation():
    p, q = made_up_q(seed=0), made_up_q(seed=1)
    loss = kl(p, q.log())
    assert loss.shape == ()
    torch.testing.assert_close(loss, kl_by_the_equation(p, q))


def test_the_divergence_of_a_thing_from_itself_is_zero_and_else_positive():
    p, q = made_up_q(seed=0), made_up_q(seed=1)
    assert float(kl(p, p.log())) == pytest.approx(0, abs=1e-12)
    assert float(kl(p, q.log())) > 0.1


def test_the_divergence_of_a_certainty_is_the_surprise():
    p, q = torch.tensor([[1.0, 0, 0]]), torch.tensor([[0.25, 0.25, 0.5]])
    assert float(kl(p, q.log())) == pytest.approx(math.log(4))


def test_the_divergence_is_a_mean_over_the_batch():
    p, q = made_up_q(seed=0), made_up_q(seed=1).log()
    torch.testing.assert_close(kl(p.repeat(3, 1), q.repeat(3, 1)), kl(p, q))
    torch.testing.assert_close(kl(p, q), sum(kl(p[j : j + 1], q[j : j + 1]) for j in range(6)) / 6)


def test_the_divergence_is_not_symmetric():
    p, q = made_up_q(seed=0), made_up_q(seed=1)
    assert abs(float(kl(p, q.log()) - kl(q, p.log()))) > 0.01


def test_gradients_of_the_divergence_equal_finite_differences():
    p, log_q = made_up_q(seed=0), made_up_q(seed=1).log().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: kl(p, x), (log_q,))


# -- all together


@pytest.mark.parametrize("alpha", [1.0, 10.0])
def test_the_cluster_loss_and_its_gradients_equal_the_equations(alpha):
    fast = [x.requires_grad_() for x in made_up()]
    slow = [x.requires_grad_() for x in made_up(dtype=torch.float64)]
    log_q = student_t(*fast, alpha=alpha)
    loss = kl(sharpen(log_q), log_q)
    q = q_by_the_equation(*slow, alpha)
    expected = kl_by_the_equation(p_by_the_equation(q).detach(), q)
    torch.testing.assert_close(loss.double(), expected, rtol=1e-4, atol=1e-6)
    loss.backward()
    expected.backward()
    for one, other in zip(fast, slow, strict=True):
        assert float(other.grad.norm()) > 1e-3
        torch.testing.assert_close(one.grad.double(), other.grad, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("alpha", [1.0, 10.0])
@pytest.mark.parametrize("size", [0.0, 1e-20, 1e3, 1e18])
def test_the_cluster_loss_is_finite_at_the_extremes(alpha, size):
    h, mu = made_up()
    h, mu = (size * h).requires_grad_(), mu.requires_grad_()
    log_q = student_t(h, mu, alpha=alpha)
    p = sharpen(log_q)
    loss = kl(p, log_q)
    loss.backward()
    for value in (log_q, p, loss, h.grad, mu.grad):
        assert torch.isfinite(value).all()
    torch.testing.assert_close(p.sum(dim=1), torch.ones(6))
    assert loss.item() >= -1e-6


def test_a_q_that_underflows_still_has_a_logarithm_a_target_and_a_slope():
    h = torch.tensor([[0.0], [1.0], [1e12]]).requires_grad_()
    mu = torch.tensor([[0.0], [1e12]])
    log_q = student_t(h, mu, alpha=10.0)
    assert log_q.exp()[0, 1] == 0  # as a float32
    assert log_q[0, 1].item() == pytest.approx(-5.5 * math.log1p(1e24 / 10), rel=1e-4)
    kl(sharpen(log_q), log_q).backward()
    assert torch.isfinite(h.grad).all()
    kl(torch.tensor([[0.0, 1.0]] * 3), student_t(h, mu, alpha=10.0)).backward()
    assert h.grad[1].abs() > 0.1  # the far center still pulls


def test_half_precision_is_computed_in_single():
    h, mu = made_up()
    log_q = student_t(h.bfloat16(), mu.bfloat16())
    assert log_q.dtype == torch.float32
    torch.testing.assert_close(log_q, student_t(h.bfloat16().float(), mu.bfloat16().float()))
