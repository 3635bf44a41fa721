import math

import numpy as np
import pytest
import torch

from coterie.losses.topic_likelihood import (
    gaussian_kl,
    log_likelihood,
    marginal_log_likelihood,
    mixture,
    negative_elbo,
    word_probabilities,
)

# -- mixture, DECCRL Eq. 6


def random_log_q(rows=5, clusters=4):
    return torch.randn(rows, clusters, generator=torch.Generator().manual_seed(2)).mul(2).log_softmax(dim=1)


def test_expected_mixture_is_q():
    torch.testing.assert_close(mixture(random_log_q(), "expected"), random_log_q().exp())


def test_softmax_mixture_is_the_softmax_of_q():
    mix = mixture(random_log_q(), "softmax")
    torch.testing.assert_close(mix, torch.softmax(random_log_q().exp(), dim=1))
    assert mix.max() / mix.min() <= math.e  # nearly uniform


def test_argmax_mixture_is_the_most_probable_cluster_without_gradient():
    logits = random_log_q().requires_grad_()
    mix = mixture(logits, "argmax")
    assert torch.equal(mix.argmax(dim=1), logits.argmax(dim=1))
    assert torch.equal(mix.sum(dim=1), torch.ones(5))
    assert not mix.requires_grad


def test_gumbel_mixture_draws_clusters_with_probability_q_and_has_a_gradient():
    torch.manual_seed(0)
    q = torch.tensor([0.6, 0.3, 0.1])
    logits = q.log().expand(4000, 3).clone().requires_grad_()
    mix = mixture(logits, "gumbel", tau=0.7)
    assert torch.equal(mix.detach().amax(dim=1), torch.ones(4000))
    np.testing.assert_allclose(mix.detach().mean(dim=0), q, atol=0.03)
    mix[:, 0].sum().backward()
    assert logits.grad.abs().sum() > 0


# -- likelihoods, DECCRL Eq. 10-13

K, T, V, B = 4, 3, 6, 5  # clusters, topics, words, texts
both_likelihoods = pytest.mark.parametrize("likelihood", [log_likelihood, marginal_log_likelihood])


def random_inputs(dtype=torch.float64):
    """Return mix (B, K), theta (B, T), a (K, V), b (T, V), and bags: word ids (B, n) and counts (B, n)."""
    torch.manual_seed(3)
    a = torch.randn(K, V, dtype=torch.float64)
    b = torch.randn(T, V, dtype=torch.float64)
    mix = torch.rand(B, K, dtype=torch.float64)
    theta = torch.rand(B, T, dtype=torch.float64)
    mix = mix / mix.sum(dim=1, keepdim=True)
    theta = theta / theta.sum(dim=1, keepdim=True)
    words = torch.tensor([[0, 2, 5], [1, 0, 0], [3, 4, 0], [0, 0, 0], [5, 1, 2]])
    counts = torch.tensor([[1, 2, 1], [4, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 3]])
    return mix.to(dtype), theta.to(dtype), a.to(dtype), b.to(dtype), (words, counts.to(dtype))


def slow_word_probabilities(a, b):
    """Eq. 11, one topic of one cluster at a time."""
    beta = [[[math.exp(a[k, w] + b[t, w]) for w in range(V)] for t in range(T)] for k in range(K)]
    return [[[value / sum(row) for value in row] for row in topics] for topics in beta]


def slow_log_likelihood(mix, theta, a, b, bags):
    """Eq. 12-13 with the logarithm outside the sums, one word at a time."""
    beta = slow_word_probabilities(a, b)
    texts = []
    for i in range(B):
        total = 0.0
        for w, count in zip(bags[0][i].tolist(), bags[1][i].tolist(), strict=True):
            p = sum(float(mix[i, k] * theta[i, t]) * beta[k][t][w] for k in range(K) for t in range(T))
            total += count * math.log(p + 1e-6)
        texts.append(total)
    return texts


def slow_marginal_log_likelihood(q, theta, a, b, bags):
    """All words of a text come from one cluster: its likelihood, summed over clusters, one text at a time."""
    beta = slow_word_probabilities(a, b)
    texts = []
    for i in range(B):
        total = 0.0
        for k in range(K):
            product = float(q[i, k])
            for w, count in zip(bags[0][i].tolist(), bags[1][i].tolist(), strict=True):
                product *= (sum(float(theta[i, t]) * beta[k][t][w] for t in range(T)) + 1e-6) ** count
            total += product
        texts.append(math.log(total))
    return texts


def test_log_likelihood_equals_slow_loop():
    inputs = random_inputs()
    np.testing.assert_allclose(log_likelihood(*inputs), slow_log_likelihood(*inputs), rtol=1e-9)


def test_marginal_log_likelihood_equals_slow_loop():
    q, *rest = random_inputs()
    value = marginal_log_likelihood(q.log(), *rest)
    np.testing.assert_allclose(value, slow_marginal_log_likelihood(q, *rest), rtol=1e-9, atol=1e-12)


def test_both_likelihoods_are_equal_for_texts_of_one_word():
    mix, theta, a, b, (words, _) = random_inputs()
    first_word_only = (words, (torch.arange(3) == 0).double().expand(B, 3))
    marginal = marginal_log_likelihood(mix.log(), theta, a, b, first_word_only)
    torch.testing.assert_close(marginal, log_likelihood(mix, theta, a, b, first_word_only), rtol=1e-5, atol=0)


def test_both_likelihoods_are_equal_for_one_hot_q():
    _, theta, a, b, bags = random_inputs()
    q = torch.eye(K, dtype=torch.float64)[torch.tensor([0, 1, 2, 3, 0])]
    marginal = marginal_log_likelihood(q.log(), theta, a, b, bags)
    torch.testing.assert_close(marginal, log_likelihood(q, theta, a, b, bags))


def test_gradient_of_the_marginal_log_likelihood_is_the_posterior_of_the_clusters():
    q, theta, a, b, bags = random_inputs()
    log_q = q.log().requires_grad_()
    marginal_log_likelihood(log_q, theta, a, b, bags).sum().backward()
    one_hot = torch.eye(K).log()
    by_cluster = [marginal_log_likelihood(one_hot[k].expand(B, K), theta, a, b, bags) for k in range(K)]
    torch.testing.assert_close(log_q.grad, (q.log() + torch.stack(by_cluster, dim=1)).softmax(dim=1))
    torch.testing.assert_close(log_q.grad[3], q[3])  # a text without words


def test_log_likelihood_of_equally_likely_words():
    mix, theta, a, b, bags = random_inputs()
    value = log_likelihood(mix, theta, torch.zeros_like(a), torch.zeros_like(b), bags)
    np.testing.assert_allclose(value, bags[1].sum(dim=1) * math.log(1 / V + 1e-6), rtol=1e-9)


def test_word_probabilities_equal_slow_loop():
    _, _, a, b, _ = random_inputs()
    np.testing.assert_allclose(word_probabilities(a[1], b), slow_word_probabilities(a, b)[1])


@both_likelihoods
def test_likelihoods_are_invariant_to_large_shifts_of_the_logits(likelihood):
    mix, theta, a, b, bags = random_inputs(torch.float32)
    shifted = likelihood(mix, theta, a + 500, b - 300, bags)
    torch.testing.assert_close(shifted, likelihood(mix, theta, a, b, bags), rtol=1e-3, atol=1e-3)


@both_likelihoods
def test_likelihoods_and_gradients_are_finite_for_extreme_logits(likelihood):
    mix, theta, a, b, bags = random_inputs(torch.float32)
    a = (200 * a).requires_grad_()
    b = (200 * b).requires_grad_()
    value = likelihood(mix, theta, a, b, bags)
    value.sum().backward()
    assert torch.isfinite(value).all()
    assert torch.isfinite(a.grad).all()
    assert torch.isfinite(b.grad).all()


@both_likelihoods
def test_gradients_of_likelihoods_equal_finite_differences(likelihood):
    mix, theta, a, b, bags = random_inputs()
    inputs = [x.requires_grad_() for x in (mix, theta, a, b)]
    assert torch.autograd.gradcheck(lambda *x: likelihood(*x, bags), inputs)


@both_likelihoods
def test_no_tensor_has_clusters_times_topics_times_words_entries(likelihood):
    """Neither an intermediate result nor a tensor that is saved for the backward pass."""
    n_clusters = 30
    n_topics = 8
    n_words = 500
    largest = 0

    class RecordLargestTensor(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nonlocal largest
            result = func(*args, **(kwargs or {}))
            for x in result if isinstance(result, tuple | list) else [result]:
                if isinstance(x, torch.Tensor):
                    largest = max(largest, x.numel())
            return result

    a = torch.randn(n_clusters, n_words, requires_grad=True)
    b = torch.randn(n_topics, n_words, requires_grad=True)
    mix = torch.rand(10, n_clusters, requires_grad=True)
    theta = torch.rand(10, n_topics, requires_grad=True)
    bags = (torch.randint(n_words, (10, 6)), torch.ones(10, 6))
    with RecordLargestTensor():
        likelihood(mix, theta, a, b, bags).sum().backward()
    assert n_clusters * n_words <= largest < n_clusters * n_topics * n_words / 4


# -- ELBO, DECCRL Eq. 15


def test_gaussian_kl_equals_torch_distributions():
    mean, log_variance = torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    posterior = torch.distributions.Normal(mean, (log_variance / 2).exp())
    prior = torch.distributions.Normal(torch.zeros_like(mean), torch.ones_like(mean))
    expected = torch.distributions.kl_divergence(posterior, prior).sum(dim=1)
    torch.testing.assert_close(gaussian_kl(mean, log_variance), expected)


def test_gaussian_kl_of_the_prior_and_of_a_shifted_mean():
    zero = torch.zeros(2, 3)
    assert torch.equal(gaussian_kl(zero, zero), torch.zeros(2))
    assert gaussian_kl(zero + 2.0, zero)[0].item() == pytest.approx(3 * 4 / 2)


def test_negative_elbo_is_the_mean_over_valid_texts():
    likelihood = torch.tensor([-10.0, -99.0, -20.0])
    divergence = torch.tensor([1.0, 50.0, 3.0])
    valid = torch.tensor([True, False, True])
    assert negative_elbo(likelihood, divergence, valid).item() == pytest.approx((11 + 23) / 2)
    assert negative_elbo(likelihood, divergence, torch.zeros(3, dtype=torch.bool)).item() == 0
