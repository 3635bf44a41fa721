import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.losses.assignment import kl, sharpen, student_t


def slow_student_t(h, mu, alpha):
    """SCCL Eq. 3, one text and one center at a time."""
    rows = []
    for h_j in h:
        kernel = [(1 + (h_j - mu_k).square().sum() / alpha) ** (-(alpha + 1) / 2) for mu_k in mu]
        rows.append(torch.stack([k / sum(kernel) for k in kernel]))
    return torch.stack(rows)


def slow_sharpen(q):
    """SCCL Eq. 4 with the index of its denominator corrected."""
    n, n_clusters = q.shape
    f = [sum(q[j, k] for j in range(n)) for k in range(n_clusters)]
    rows = []
    for j in range(n):
        share = [q[j, k] ** 2 / f[k] for k in range(n_clusters)]
        rows.append(torch.stack([s / sum(share) for s in share]))
    return torch.stack(rows)


def slow_kl(p, q):
    """SCCL Eq. 5-6."""
    return sum(p_jk * torch.log(p_jk / q_jk) for p_jk, q_jk in zip(p.flatten(), q.flatten(), strict=True)) / len(p)


def random_vectors(n=6, n_clusters=3, dim=4, seed=0, dtype=torch.float32):
    """Return vectors (n, dim) and centers (n_clusters, dim)."""
    generator = torch.Generator().manual_seed(seed)
    h = torch.randn(n, dim, generator=generator, dtype=torch.float64).to(dtype)
    mu = torch.randn(n_clusters, dim, generator=generator, dtype=torch.float64).to(dtype)
    return h, mu


def random_q(n=6, n_clusters=3, seed=0):
    logits = torch.randn(n, n_clusters, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (2 * logits).softmax(dim=1)


# -- student_t, Eq. 3


@pytest.mark.parametrize("alpha", [0.5, 1.0, 10.0])
@pytest.mark.parametrize("n_clusters", [1, 2, 5])
def test_student_t_equals_slow_loop(alpha, n_clusters):
    h, mu = random_vectors(n_clusters=n_clusters)
    log_q = student_t(h, mu, alpha=alpha)
    assert log_q.shape == (6, n_clusters)
    expected = slow_student_t(h.double(), mu.double(), alpha)
    torch.testing.assert_close(log_q.double(), expected.log(), rtol=1e-5, atol=1e-5)


def test_student_t_of_a_text_on_one_of_two_centers():
    h = torch.tensor([[0.0, 0.0]])
    mu = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    assert student_t(h, mu).exp().tolist() == [[pytest.approx(26 / 27), pytest.approx(1 / 27)]]
    far = (1 + 25 / 3) ** -2  # alpha 3
    assert student_t(h, mu, alpha=3).exp().tolist() == [[pytest.approx(1 / (1 + far)), pytest.approx(far / (1 + far))]]


def test_student_t_is_uniform_for_equidistant_centers():
    mu = torch.tensor([[1.0, 0], [0, 1], [-1, 0], [0, -1]])
    torch.testing.assert_close(student_t(torch.zeros(1, 2), mu).exp(), torch.full((1, 4), 0.25))


def test_student_t_with_large_alpha_is_close_to_a_gaussian():
    h, mu = random_vectors()
    gaussian = (-torch.cdist(h, mu).square() / 2).softmax(dim=1)
    torch.testing.assert_close(student_t(h, mu, alpha=1e4).exp(), gaussian, atol=5e-3, rtol=0)
    assert (student_t(h, mu, alpha=1.0).exp() - gaussian).abs().max() > 0.05


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), alpha=st.sampled_from([1.0, 10.0]), shift=st.floats(-3, 3))
def test_student_t_depends_on_distances_only_and_on_each_text_separately(seed, alpha, shift):
    h, mu = random_vectors(seed=seed)
    log_q = student_t(h, mu, alpha=alpha)
    rotation = torch.linalg.qr(torch.randn(4, 4, generator=torch.Generator().manual_seed(seed)))[0]
    order = torch.randperm(3, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(log_q.exp().sum(dim=1), torch.ones(6))
    moved = student_t(h @ rotation + shift, mu @ rotation + shift, alpha=alpha)
    torch.testing.assert_close(moved, log_q, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(student_t(h, mu[order], alpha=alpha), log_q[:, order], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(student_t(h[:1], mu, alpha=alpha), log_q[:1], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(log_q.argmax(dim=1), torch.cdist(h, mu).argmin(dim=1))


@pytest.mark.parametrize("alpha", [1.0, 10.0])
def test_student_t_gradients_equal_those_of_the_slow_loop(alpha):
    fast = [x.requires_grad_() for x in random_vectors()]
    slow = [x.requires_grad_() for x in random_vectors(dtype=torch.float64)]
    weight = random_q(seed=1)
    (student_t(*fast, alpha=alpha) * weight.float()).sum().backward()
    (slow_student_t(*slow, alpha).log() * weight).sum().backward()
    for x, expected in zip(fast, slow, strict=True):
        assert float(expected.grad.norm()) > 0.1
        torch.testing.assert_close(x.grad.double(), expected.grad, rtol=1e-3, atol=1e-4)


def test_student_t_gradients_equal_finite_differences():
    inputs = [x.requires_grad_() for x in random_vectors(n=2, dim=2, dtype=torch.float64)]
    assert torch.autograd.gradcheck(student_t, inputs, eps=1e-2, atol=2e-3, rtol=2e-2)


def test_student_t_computes_half_precision_in_float32():
    h, mu = random_vectors()
    log_q = student_t(h.bfloat16(), mu.bfloat16())
    assert log_q.dtype == torch.float32
    torch.testing.assert_close(log_q, student_t(h.bfloat16().float(), mu.bfloat16().float()))


# -- sharpen, Eq. 4


def test_sharpen_equals_slow_loop():
    q = random_q()
    torch.testing.assert_close(sharpen(q.log()), slow_sharpen(q))


@pytest.mark.parametrize("n_clusters", [1, 2, 7])
def test_sharpen_leaves_uniform_q_unchanged(n_clusters):
    q = torch.full((5, n_clusters), 1 / n_clusters)
    torch.testing.assert_close(sharpen(q.log()), q)


def test_sharpen_leaves_identical_rows_unchanged():
    q = torch.tensor([[0.7, 0.2, 0.1]]).repeat(4, 1)  # f_k = 4 q_k, so q_k^2 / f_k is proportional to q_k
    torch.testing.assert_close(sharpen(q.log()), q)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 8), n_clusters=st.integers(1, 6))
def test_sharpen_rows_sum_to_one_and_permute_with_the_input(seed, n, n_clusters):
    log_q = random_q(n, n_clusters, seed).log()
    p = sharpen(log_q)
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randperm(n, generator=generator)
    columns = torch.randperm(n_clusters, generator=generator)
    torch.testing.assert_close(p.sum(dim=1), torch.ones(n, dtype=torch.float64))
    torch.testing.assert_close(sharpen(log_q[rows][:, columns]), p[rows][:, columns])


def test_sharpen_increases_confidence_and_penalizes_large_clusters():
    balanced = torch.tensor([[0.8, 0.2], [0.2, 0.8]])
    torch.testing.assert_close(sharpen(balanced.log())[0, 0], torch.tensor(0.64 / 0.68))
    imbalanced = torch.tensor([[0.9, 0.1], [0.9, 0.1], [0.55, 0.45]])
    assert sharpen(imbalanced.log())[2, 0] < 0.5 < imbalanced[2, 0]


def test_sharpen_has_no_gradient():
    log_q = random_q().log().requires_grad_()
    assert not sharpen(log_q).requires_grad
    kl(sharpen(log_q), log_q).backward()
    torch.testing.assert_close(log_q.grad, -sharpen(log_q) / 6)  # p is a constant: d/d log q = -p / B


# -- kl, Eq. 5-6


def test_kl_equals_slow_loop():
    p = random_q(seed=0)
    q = random_q(seed=1)
    loss = kl(p, q.log())
    assert loss.shape == ()
    torch.testing.assert_close(loss, slow_kl(p, q))


def test_kl_is_zero_for_equal_distributions():
    p = random_q(seed=0)
    assert float(kl(p, p.log())) == pytest.approx(0, abs=1e-12)


def test_kl_of_a_one_hot_target_is_the_cross_entropy():
    p = torch.tensor([[1.0, 0, 0]])
    q = torch.tensor([[0.25, 0.25, 0.5]])
    assert float(kl(p, q.log())) == pytest.approx(math.log(4))


def test_kl_gradients_equal_finite_differences():
    p = random_q(seed=0)
    log_q = random_q(seed=1).log().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: kl(p, x), (log_q,))


# -- all three together: the clustering loss of SCCL


@pytest.mark.parametrize("alpha", [1.0, 10.0])
def test_clustering_loss_and_its_gradients_equal_the_slow_loop(alpha):
    fast = [x.requires_grad_() for x in random_vectors()]
    slow = [x.requires_grad_() for x in random_vectors(dtype=torch.float64)]
    log_q = student_t(*fast, alpha=alpha)
    loss = kl(sharpen(log_q), log_q)
    q = slow_student_t(*slow, alpha)
    expected = slow_kl(slow_sharpen(q).detach(), q)
    torch.testing.assert_close(loss.double(), expected, rtol=1e-4, atol=1e-6)
    loss.backward()
    expected.backward()
    for x, x_slow in zip(fast, slow, strict=True):
        assert float(x_slow.grad.norm()) > 1e-3
        torch.testing.assert_close(x.grad.double(), x_slow.grad, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("alpha", [1.0, 10.0])
@pytest.mark.parametrize("size", [0.0, 1e-20, 1e3, 1e18])
def test_clustering_loss_is_finite_for_extreme_vectors(alpha, size):
    h, mu = random_vectors()
    h = (size * h).requires_grad_()
    mu = mu.requires_grad_()
    log_q = student_t(h, mu, alpha=alpha)
    p = sharpen(log_q)
    loss = kl(p, log_q)
    loss.backward()
    for value in (log_q, p, loss, h.grad, mu.grad):
        assert torch.isfinite(value).all()
    torch.testing.assert_close(p.sum(dim=1), torch.ones(6))
    assert loss.item() >= -1e-6


def test_clustering_loss_has_a_gradient_where_q_underflows():
    h = torch.tensor([[0.0], [1.0], [1e12]]).requires_grad_()
    mu = torch.tensor([[0.0], [1e12]])
    log_q = student_t(h, mu, alpha=10.0)
    assert log_q.exp()[0, 1] == 0  # as a float32
    assert log_q[0, 1].item() == pytest.approx(-5.5 * math.log1p(1e24 / 10), rel=1e-4)
    kl(sharpen(log_q), log_q).backward()
    assert torch.isfinite(h.grad).all()
    kl(torch.tensor([[0.0, 1.0]] * 3), student_t(h, mu, alpha=10.0)).backward()
    assert h.grad[1].abs() > 0.1  # the distant center still attracts
