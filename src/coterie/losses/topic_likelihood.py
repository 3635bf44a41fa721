"""Likelihood of the words of a text under topics that depend on its cluster, and the ELBO built on it (DECCRL).

The decoder has a single weight matrix, so the logit of word w in topic t of cluster k is a_kw + b_tw: one part from the
center of the cluster and one part from the topic. All functions use this sum and never build a (K, T, V) tensor.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

Mixture = Literal["marginal", "expected", "gumbel", "argmax", "softmax"]
_MIN_PROBABILITY = 1e-6  # added to the probability of every word, as in ETM (Dieng et al., TACL 2020)
_MIN_NORMALIZER = 1e-15  # for a topic whose two parts have no word in common; its square is still a float32


def mixture(log_q: Tensor, how: Mixture, *, tau: float = 1.0) -> Tensor:
    r"""Return the weight (B, K) of the topics of each cluster for a text, from its \log q (B, K). DECCRL Eq. 6.

    * expected: q itself.
    * gumbel: one-hot, a cluster drawn from q. The gradient is that of a softmax at temperature ``tau``.
    * argmax: one-hot, the most probable cluster, without gradient.
    * softmax: a softmax of q, Eq. 6 as in the paper.
    """
    if how == "gumbel":
        return F.gumbel_softmax(log_q, tau=tau, hard=True, dim=1)
    if how == "argmax":
        return F.one_hot(log_q.argmax(dim=1), log_q.shape[1]).to(log_q.dtype)
    if how == "softmax":
        return log_q.exp().softmax(dim=1)
    return log_q.exp()


def word_probabilities(a_k: Tensor, b: Tensor) -> Tensor:
    r"""Return \beta_k (T, V), the word distribution of every topic of one cluster. DECCRL Eq. 11.

    ``a_k`` (V,) are the logits of the cluster, ``b`` (T, V) the logits of the topics.
    """
    return (a_k + b).softmax(dim=1)


def log_likelihood(mix: Tensor, theta: Tensor, a: Tensor, b: Tensor, bags: tuple[Tensor, Tensor]) -> Tensor:
    r"""Return the log-likelihood (B,) of the words of each text, with clusters mixed per word. DECCRL Eq. 12-13.

    .. math:: \sum_n \log \sum_k m_{ik} (\beta_k \theta_i)_{w_n}

    ``mix`` m (B, K) are the weights of the clusters, ``theta`` (B, T) the weights of the topics, ``a`` (K, V) and
    ``b`` (T, V) the logits, ``bags`` the word ids (B, n) and their counts (B, n).
    """
    words, counts = bags
    p = (mix[:, None, :] * _probability_by_cluster(theta, a, b, words)).sum(dim=2)  # (B, n)
    return (counts * torch.log(p + _MIN_PROBABILITY)).sum(dim=1)


def marginal_log_likelihood(log_q: Tensor, theta: Tensor, a: Tensor, b: Tensor, bags: tuple[Tensor, Tensor]) -> Tensor:
    r"""Return the log-likelihood (B,) of texts whose words all come from one unknown cluster. DECCRL Eq. 6 and 12-13.

    .. math:: \log \sum_k q_{ik} \prod_n (\beta_k \theta_i)_{w_n}

    The gradient with respect to \log q is the posterior probability of each cluster given the words. ``log_q`` is
    (B, K); the other arguments are those of :func:`log_likelihood`.
    """
    words, counts = bags
    log_p = torch.log(_probability_by_cluster(theta, a, b, words) + _MIN_PROBABILITY)  # (B, n, K)
    return (log_q + (counts[:, :, None] * log_p).sum(dim=1)).logsumexp(dim=1)


def _probability_by_cluster(theta: Tensor, a: Tensor, b: Tensor, words: Tensor) -> Tensor:
    r"""Return (\beta_k \theta_i)_w (B, n, K), the probability of each word in ``words`` (B, n) for each cluster.

    .. math:: \beta_{ktw} = \exp(a_{kw}) \exp(b_{tw}) / \sum_{w'} \exp(a_{kw'}) \exp(b_{tw'})

    The denominator is the product of a (K, V) and a (V, T) matrix.
    """
    exp_a = torch.exp(a - a.amax(dim=1, keepdim=True))  # (K, V); subtracting the maximum does not change beta
    exp_b = torch.exp(b - b.amax(dim=1, keepdim=True))  # (T, V)
    normalizer = (exp_a @ exp_b.T).clamp_min(_MIN_NORMALIZER)  # (K, T)
    topic_part = F.embedding(words, exp_b.T) * theta[:, None, :]  # (B, n, T)
    return F.embedding(words, exp_a.T) * (topic_part @ (1 / normalizer).T)  # (B, n, K)


def gaussian_kl(mean: Tensor, log_variance: Tensor) -> Tensor:
    r"""Return KL(N(\mu, \sigma^2), N(0, I)) (B,) from ``mean`` and ``log_variance`` (B, T). DECCRL Eq. 15.

    .. math:: -\frac{1}{2} \sum_t (1 + \log \sigma_t^2 - \mu_t^2 - \sigma_t^2)
    """
    return -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(dim=1)


def negative_elbo(likelihood: Tensor, divergence: Tensor, valid: Tensor) -> Tensor:
    """Return the mean of ``divergence - likelihood`` (B,) over ``valid`` (B,) texts; 0 if none is. DECCRL Eq. 15.

    ``likelihood`` is the log-likelihood of each text. A text is valid if it has at least one word.
    """
    return ((divergence - likelihood) * valid).sum() / valid.sum().clamp_min(1)
