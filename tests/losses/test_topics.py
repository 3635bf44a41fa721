import math

import numpy as np
import pytest
import torch

from coterie.losses.cross_view import cross_view
from coterie.losses.topics import (
    gaussian_kl,
    latent_difference,
    log_likelihood,
    marginal_log_likelihood,
    mixture,
    negative_elbo,
    word_shares,
)

# -- Eq. 2-4


def contrast(z_1, z_2, tau):
    """Eq. 2-4, text by text."""

    def s(a, b):
        return math.exp(float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b))) / tau)

    total, size = 0.0, len(z_1)
    for i in range(size):
        total -= math.log(s(z_1[i], z_2[i]) / sum(s(z_1[i], z_2[m]) for m in range(size) if m != i))
        total -= math.log(s(z_2[i], z_1[i]) / sum(s(z_2[i], z_1[m]) for m in range(size) if m != i))
    return total / size


def test_the_contrast_is_its_equation():
    z_1, z_2 = torch.randn(2, 7, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = contrast(z_1.numpy(), z_2.numpy(), 0.4)
    assert cross_view(z_1, z_2, tau=0.4).item() == pytest.approx(expected, rel=1e-5)
    assert cross_view(z_2, 3 * z_1, tau=0.4).item() == pytest.approx(expected, rel=1e-5)


def test_of_equal_rows_the_contrast_is_twice_the_logarithm_of_the_others():
    z = torch.ones(9, 4)
    assert cross_view(z, z, tau=0.5).item() == pytest.approx(2 * math.log(8), rel=1e-5)


def test_the_positive_is_not_below_the_line_so_the_contrast_may_be_negative():
    z = torch.eye(6)
    assert cross_view(z, z, tau=0.1).item() == pytest.approx(2 * math.log(5) - 20, rel=1e-5)


def test_a_text_alone_has_nobody_to_be_told_from():
    z = torch.randn(1, 4, requires_grad=True)
    loss = cross_view(z, z, tau=0.5)
    loss.backward()
    assert loss.item() == 0
    assert torch.equal(z.grad, torch.zeros(1, 4))


# -- Eq. 6


def log_q(rows=5, clusters=4):
    return torch.randn(rows, clusters, generator=torch.Generator().manual_seed(2)).mul(2).log_softmax(dim=1)


def test_the_expected_mixture_is_q():
    torch.testing.assert_close(mixture(log_q(), "expected"), log_q().exp())


def test_the_softmax_of_equation_6_is_nearly_uniform():
    mix = mixture(log_q(), "softmax")
    torch.testing.assert_close(mix, torch.softmax(log_q().exp(), dim=1))
    assert mix.max() / mix.min() <= math.e


def test_argmax_takes_the_likeliest_cluster_and_has_no_gradient():
    logits = log_q().requires_grad_()
    mix = mixture(logits, "argmax")
    assert torch.equal(mix.argmax(dim=1), logits.argmax(dim=1))
    assert torch.equal(mix.sum(dim=1), torch.ones(5))
    assert not mix.requires_grad


def test_gumbel_draws_one_cluster_as_often_as_q_says_and_has_a_gradient():
    torch.manual_seed(0)
    q = torch.tensor([0.6, 0.3, 0.1])
    logits = q.log().expand(4000, 3).clone().requires_grad_()
    mix = mixture(logits, "gumbel", tau=0.7)
    assert torch.equal(mix.detach().amax(dim=1), torch.ones(4000))
    np.testing.assert_allclose(mix.detach().mean(dim=0), q, atol=0.03)
    mix[:, 0].sum().backward()
    assert logits.grad.abs().sum() > 0


# -- Eq. 10-13


def parts(seed=3):
    """K = 4 clusters, T = 3 topics, V = 6 words, B = 5 texts."""
    torch.manual_seed(seed)
    a, b = torch.randn(4, 6, dtype=torch.float64), torch.randn(3, 6, dtype=torch.float64)
    mix, theta = torch.rand(5, 4, dtype=torch.float64), torch.rand(5, 3, dtype=torch.float64)
    words = torch.tensor([[0, 2, 5], [1, 0, 0], [3, 4, 0], [0, 0, 0], [5, 1, 2]])
    counts = torch.tensor([[1.0, 2, 1], [4, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 3]], dtype=torch.float64)
    return mix / mix.sum(1, keepdim=True), theta / theta.sum(1, keepdim=True), a, b, (words, counts)


def shares(a, b):
    """Eq. 11, one topic of one cluster after the other."""
    beta = [[[math.exp(a[k, w] + b[t, w]) for w in range(6)] for t in range(3)] for k in range(4)]
    return [[[x / sum(row) for x in row] for row in topics] for topics in beta]


def likelihood(mix, theta, a, b, bags):
    """Eq. 12-13, with the logarithm outside the sums, word by word."""
    beta = shares(a, b)
    texts = []
    for i in range(5):
        total = 0.0
        for w, count in zip(bags[0][i].tolist(), bags[1][i].tolist(), strict=True):
            p = sum(float(mix[i, k] * theta[i, t]) * beta[k][t][w] for k in range(4) for t in range(3))
            total += count * math.log(p + 1e-6)
        texts.append(total)
    return texts


def test_the_likelihood_of_words_is_its_equation():
    given = parts()
    np.testing.assert_allclose(log_likelihood(*given), likelihood(*given), rtol=1e-9)


def marginal(q, theta, a, b, bags):
    """The words of a text are of one cluster: its likelihood, summed over the clusters it may have, text by text."""
    beta, texts = shares(a, b), []
    for i in range(5):
        total = 0.0
        for k in range(4):
            product = float(q[i, k])
            for w, count in zip(bags[0][i].tolist(), bags[1][i].tolist(), strict=True):
                product *= (sum(float(theta[i, t]) * beta[k][t][w] for t in range(3)) + 1e-6) ** count
            total += product
        texts.append(math.log(total))
    return texts


def test_the_likelihood_of_texts_of_one_cluster_is_summed_over_clusters():
    mix, *others = parts()
    found = marginal_log_likelihood(mix.log(), *others)
    np.testing.assert_allclose(found, marginal(mix, *others), rtol=1e-9, atol=1e-12)


def test_a_text_of_one_word_or_of_a_certain_cluster_is_as_likely_either_way():
    mix, theta, a, b, (words, counts) = parts()
    one = words, (torch.arange(3) == 0).double().expand(5, 3)
    torch.testing.assert_close(
        marginal_log_likelihood(mix.log(), theta, a, b, one), log_likelihood(mix, theta, a, b, one), rtol=1e-5, atol=0
    )
    sure = torch.eye(4, dtype=torch.float64)[torch.tensor([0, 1, 2, 3, 0])]
    torch.testing.assert_close(
        marginal_log_likelihood(sure.log(), theta, a, b, (words, counts)),
        log_likelihood(sure, theta, a, b, (words, counts)),
    )


def test_what_the_likelihood_wants_of_q_is_how_likely_each_cluster_is_given_the_words():
    mix, theta, a, b, (words, counts) = parts()
    logits = mix.log().requires_grad_()
    marginal_log_likelihood(logits, theta, a, b, (words, counts)).sum().backward()
    by_cluster = [
        marginal_log_likelihood(torch.eye(4).log()[k].expand(5, 4), theta, a, b, (words, counts)) for k in range(4)
    ]
    torch.testing.assert_close(logits.grad, (mix.log() + torch.stack(by_cluster, dim=1)).softmax(dim=1))
    torch.testing.assert_close(logits.grad[3], mix[3])  # a text without a word


def test_words_that_are_equally_likely_cost_the_logarithm_of_their_number():
    mix, theta, a, b, bags = parts()
    found = log_likelihood(mix, theta, torch.zeros_like(a), torch.zeros_like(b), bags)
    np.testing.assert_allclose(found, bags[1].sum(dim=1) * math.log(1 / 6 + 1e-6), rtol=1e-9)


def test_the_words_of_a_topic_sum_to_one_and_are_the_softmax_of_the_logits():
    _, _, a, b, _ = parts()
    beta = word_shares(a[1], b)
    np.testing.assert_allclose(beta.sum(dim=1), 1)
    assert beta[2, 4].item() == pytest.approx(math.exp(a[1, 4] + b[2, 4]) / float((a[1] + b[2]).exp().sum()))


def test_a_shift_of_the_logits_changes_nothing_even_a_large_one():
    mix, theta, a, b, bags = (x if isinstance(x, tuple) else x.float() for x in parts())
    bags = bags[0], bags[1].float()
    for likely in (log_likelihood, marginal_log_likelihood):
        there = likely(mix, theta, a + 500, b - 300, bags)
        torch.testing.assert_close(there, likely(mix, theta, a, b, bags), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("likely", [log_likelihood, marginal_log_likelihood])
def test_the_likelihood_and_its_gradient_are_numbers_at_extremes(likely):
    mix, theta, a, b, bags = (x if isinstance(x, tuple) else x.float() for x in parts())
    a, b = (200 * a).requires_grad_(), (200 * b).requires_grad_()
    found = likely(mix, theta, a, b, (bags[0], bags[1].float()))
    found.sum().backward()
    assert torch.isfinite(found).all()
    assert torch.isfinite(a.grad).all()
    assert torch.isfinite(b.grad).all()


@pytest.mark.parametrize("likely", [log_likelihood, marginal_log_likelihood])
def test_gradients_of_the_likelihood_are_those_of_the_loop(likely):
    mix, theta, a, b, bags = parts()
    leaves = [x.requires_grad_() for x in (mix, theta, a, b)]
    assert torch.autograd.gradcheck(lambda *x: likely(*x, bags), leaves)


@pytest.mark.parametrize("likely", [log_likelihood, marginal_log_likelihood])
def test_no_tensor_is_as_large_as_clusters_times_topics_times_words(likely):
    """Whatever is made on the way, and whatever is kept for the gradient."""
    clusters, topics, words, largest = 30, 8, 500, 0

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nonlocal largest
            found = func(*args, **(kwargs or {}))
            for x in found if isinstance(found, tuple | list) else [found]:
                if isinstance(x, torch.Tensor):
                    largest = max(largest, x.numel())
            return found

    a, b = torch.randn(clusters, words, requires_grad=True), torch.randn(topics, words, requires_grad=True)
    mix, theta = torch.rand(10, clusters, requires_grad=True), torch.rand(10, topics, requires_grad=True)
    bags = torch.randint(words, (10, 6)), torch.ones(10, 6)
    with Watch():
        likely(mix, theta, a, b, bags).sum().backward()
    assert clusters * words <= largest < clusters * topics * words / 4


# -- Eq. 15


def test_the_divergence_is_that_of_two_normal_distributions():
    mean, log_variance = torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    own = torch.distributions.Normal(mean, (log_variance / 2).exp())
    prior = torch.distributions.Normal(torch.zeros_like(mean), torch.ones_like(mean))
    expected = torch.distributions.kl_divergence(own, prior).sum(dim=1)
    torch.testing.assert_close(gaussian_kl(mean, log_variance), expected)


def test_the_divergence_of_the_prior_from_itself_is_zero_and_of_a_shift_half_its_square():
    zero = torch.zeros(2, 3)
    assert torch.equal(gaussian_kl(zero, zero), torch.zeros(2))
    assert gaussian_kl(zero + 2.0, zero)[0].item() == pytest.approx(3 * 4 / 2)


def test_texts_without_a_word_are_left_out_of_the_mean():
    likelihoods, divergence = torch.tensor([-10.0, -99.0, -20.0]), torch.tensor([1.0, 50.0, 3.0])
    told = torch.tensor([True, False, True])
    assert negative_elbo(likelihoods, divergence, told).item() == pytest.approx((11 + 23) / 2)
    assert negative_elbo(likelihoods, divergence, torch.zeros(3, dtype=torch.bool)).item() == 0


def test_the_difference_of_the_latent_reconstruction_is_a_squared_distance():
    h, h_hat = torch.tensor([[1.0, 2.0], [0.0, 0.0]]), torch.tensor([[0.0, 4.0], [0.0, 0.0]])
    assert latent_difference(h, h_hat).item() == pytest.approx((1 + 4) / 2)
