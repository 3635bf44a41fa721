"""Topics whose words depend on a cluster: how likely they make a text, and what the topics of a text cost (DECCRL).

With a fully connected layer of one matrix, the logit of word w in topic t of cluster k is a_kw + b_tw: a part from the
cluster's center and a part from the topic. So is everything here, and no (K, T, V) tensor is ever made.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

Mixture = Literal["marginal", "expected", "gumbel", "argmax", "softmax"]
_LEAST = 1e-6  # probability of a word that no topic expects, as in ETM (Dieng et al., TACL 2020)
_LEAST_SUM = 1e-15  # of a topic whose two parts exclude each other; its square must not leave float32


def mixture(log_q: Tensor, how: Mixture, *, tau: float = 1.0) -> Tensor:
    r"""Return how much each cluster's topics count for a text (B, K), from its \log q. DECCRL Eq. 6.

    ``expected`` is q itself, ``gumbel`` one cluster drawn from q (its gradient is that of a softmax at temperature
    tau), ``argmax`` the most likely one, without gradient; ``softmax`` is Eq. 6 as printed, a softmax of q.
    """
    if how == "gumbel":
        return F.gumbel_softmax(log_q, tau=tau, hard=True, dim=1)
    if how == "argmax":
        return F.one_hot(log_q.argmax(dim=1), log_q.shape[1]).to(log_q.dtype)
    return log_q.exp().softmax(dim=1) if how == "softmax" else log_q.exp()


def word_shares(a_k: Tensor, b: Tensor) -> Tensor:
    r"""Return \beta_k (T, V), the words of every topic of one cluster, from a_k (V,) and b (T, V). DECCRL Eq. 11."""
    return (a_k + b).softmax(dim=1)


def log_likelihood(mix: Tensor, theta: Tensor, a: Tensor, b: Tensor, bags: tuple[Tensor, Tensor]) -> Tensor:
    r"""Return the log-likelihood (B,) of the words of each text. DECCRL Eq. 12-13, with the logarithm outside the sum.

    .. math:: \sum_n \log \sum_k m_{ik} (\beta_k \theta_i)_{w_n}

    ``mix`` m (B, K), ``theta`` (B, T), ``a`` (K, V), ``b`` (T, V), ``bags`` words and counts (B, n).
    """
    p = (mix[:, None, :] * _by_cluster(theta, a, b, bags[0])).sum(dim=2)  # (B, n)
    return (bags[1] * torch.log(p + _LEAST)).sum(dim=1)


def marginal_log_likelihood(log_q: Tensor, theta: Tensor, a: Tensor, b: Tensor, bags: tuple[Tensor, Tensor]) -> Tensor:
    r"""Return the log-likelihood (B,) of texts that have one cluster each, nobody knows which. DECCRL Eq. 6 and 12-13.

    .. math:: \log \sum_k q_{ik} \prod_n (\beta_k \theta_i)_{w_n}

    Its gradient in \log q is how likely each cluster is given the words. ``log_q`` (B, K), the rest as above.
    """
    by_word = torch.log(_by_cluster(theta, a, b, bags[0]) + _LEAST)  # (B, n, K)
    return (log_q + (bags[1][:, :, None] * by_word).sum(dim=1)).logsumexp(dim=1)


def _by_cluster(theta: Tensor, a: Tensor, b: Tensor, words: Tensor) -> Tensor:
    r"""Return (\beta_k \theta_i)_w (B, n, K) of the words (B, n) of texts.

    .. math:: \beta_{ktw} = \exp(a_{kw}) \exp(b_{tw}) / \sum_{w'} \exp(a_{kw'}) \exp(b_{tw'})

    and the sum below the line is a product of a (K, V) and a (V, T) matrix.
    """
    e_a, e_b = (torch.exp(x - x.amax(dim=1, keepdim=True)) for x in (a, b))  # a shift that leaves beta as it is
    z = (e_a @ e_b.T).clamp_min(_LEAST_SUM)  # (K, T)
    of_topic = F.embedding(words, e_b.T) * theta[:, None, :]  # (B, n, T)
    return F.embedding(words, e_a.T) * (of_topic @ (1 / z).T)  # (B, n, K)


def gaussian_kl(mean: Tensor, log_variance: Tensor) -> Tensor:
    r"""Return KL(N(\mu, \sigma^2), N(0, I)) = -1/2 \sum_t (1 + \log\sigma_t^2 - \mu_t^2 - \sigma_t^2) (B,), Eq. 15."""
    return -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(dim=1)


def negative_elbo(likelihood: Tensor, divergence: Tensor, told: Tensor) -> Tensor:
    """Return the mean of what Eq. 15 costs (B,), over the texts that have a word, ``told`` (B,); 0 when none has."""
    return ((divergence - likelihood) * told).sum() / told.sum().clamp_min(1)


def latent_difference(h: Tensor, h_hat: Tensor) -> Tensor:
    r"""Return \|h_i - \hat h_i\|^2 averaged over the batch: the paper's ablation LSR."""
    return (h - h_hat).square().sum(dim=1).mean()
