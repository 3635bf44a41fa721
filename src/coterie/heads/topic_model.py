"""Topics of clusters as distributions over words, and the topic proportions of texts (DECCRL, after ETM)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from coterie.contracts import Corpus
from coterie.data.texts import Texts
from coterie.errors import InputError
from coterie.float64 import in_float64
from coterie.losses.topic_likelihood import word_probabilities
from coterie.words.vocabulary import BagOfWords, Vocabulary

_CHUNK = 4096  # texts per call of the inference network
_SMOOTHING = 0.5  # weight of the corpus word distribution in each cluster, relative to the words of a mean cluster
_RIDGE = 1e-4  # keeps the least squares solvable for few words or zero-padded word vectors
_RTOL = 1e-2  # singular values below this share of the largest are ignored: the centers hardly differ there


@dataclass(frozen=True)
class Topic:
    """A topic of a cluster: its mean proportion in the texts of the cluster, and its most probable words."""

    weight: float
    words: list[str]


class TopicWords(nn.Module):
    r"""Word logits of a topic from the center of its cluster and the topic vector. DECCRL Eq. 10-11.

    .. math:: \alpha_k^t = FC_g(c_k \oplus u_t), \quad \beta_k = softmax(\rho \alpha_k)

    FC_g is one matrix, so \rho \alpha_k^t is the sum of a part of the center (K, V) and a part of the topic (T, V).
    """

    rho: Tensor

    def __init__(self, dim: int, n_topics: int, word_dim: int) -> None:
        super().__init__()
        self.u = nn.Parameter(torch.randn(n_topics, dim))
        self.fc_g = nn.Linear(2 * dim, word_dim)
        self.register_buffer("rho", torch.zeros(0, word_dim))  # (V, R); V is known after initialize

    @torch.no_grad()
    def initialize(self, rho: Tensor, c: Tensor, counts: Tensor) -> None:
        r"""Store the word vectors rho (V, R), and fit FC_g: centers c (K, L) predict the words of their clusters.

        ``counts`` (K, V) are the word counts of each cluster. \rho FC_g(c_k) then approximates
        \log p(w) + \log p(w | k) - mean_k \log p(w | k) by least squares weighted by word frequency.
        The topics of a cluster differ by u.
        """
        p = counts.sum(dim=0) / counts.sum()  # (V,) p(w)
        n_added = _SMOOTHING * counts.sum() / len(counts)
        p_given_k = (counts + n_added * p) / (counts.sum(dim=1, keepdim=True) + n_added)  # (K, V) p(w | k)
        weighted = rho * p[:, None]
        square = weighted.T @ rho + _RIDGE * torch.eye(rho.shape[1])  # (R, R)
        alpha = torch.linalg.solve(square, weighted.T @ p_given_k.log().T)  # (R, K)
        mean = torch.linalg.solve(square, weighted.T @ p.log())[:, None]  # (R, 1)
        mean_center = c.mean(dim=0)
        slope = (alpha - mean).double() @ torch.linalg.pinv((c - mean_center).double(), rtol=_RTOL).T  # (R, L)
        self.fc_g.weight[:, : c.shape[1]] = slope
        self.fc_g.bias.copy_(mean.squeeze(1) - slope.float() @ mean_center)
        self.rho = rho.to(self.u.device)

    def forward(self, c: Tensor) -> tuple[Tensor, Tensor]:
        """Return a (K, V) of centers c (K, L) and b (T, V) of the topics; the logit of a word is their sum."""
        center_weight, topic_weight = self.fc_g.weight.chunk(2, dim=1)  # (R, L) each
        a = F.linear(c, center_weight) @ self.rho.T
        b = F.linear(self.u, topic_weight, self.fc_g.bias) @ self.rho.T
        return a, b


class TopicInference(nn.Module):
    r"""Mean and log-variance of the topics of a text from its normalized bag of words. DECCRL Eq. 14.

    Two hidden layers as in ETM (Dieng et al., TACL 2020). The first is a weighted sum of the vectors of the words.
    """

    def __init__(self, n_topics: int, width: int) -> None:
        super().__init__()
        self.words = nn.Parameter(torch.zeros(0, width))  # (V, width); V is known after initialize
        self.bias = nn.Parameter(torch.zeros(width))
        self.hidden = nn.Sequential(nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.mean = nn.Linear(width, n_topics)
        self.log_variance = nn.Linear(width, n_topics)

    def initialize(self, n_words: int) -> None:
        """Create the vectors of ``n_words`` words."""
        self.words = nn.Parameter(torch.randn(n_words, self.bias.shape[0], device=self.bias.device))

    def forward(self, words: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and log-variance (B, T) of bags with word ids ``words`` and ``counts`` (B, n)."""
        share = counts / counts.sum(dim=1, keepdim=True).clamp_min(1)
        h = self.hidden(F.embedding_bag(words, self.words, per_sample_weights=share, mode="sum") + self.bias)
        return self.mean(h), self.log_variance(h)

    @torch.no_grad()
    def proportions(self, bags: BagOfWords) -> Tensor:
        r"""Return \theta = softmax(mean) (N, T) in float64; 1 / T for a text without words."""
        parts = []
        for rows in torch.split(torch.arange(len(bags)), _CHUNK):
            words, counts = (x.to(self.bias.device) for x in bags[rows])
            mean, _ = in_float64(self, words, counts)
            has_words = counts.sum(dim=1, keepdim=True) > 0
            parts.append(torch.where(has_words, mean, torch.zeros_like(mean)).softmax(dim=1).cpu())
        return torch.cat(parts)


class TopicModel(nn.Module):
    """Vocabulary, words of the topics, topic inference, and the weight of each topic in each cluster."""

    weight: Tensor  # (K, T)

    def __init__(self, n_clusters: int, dim: int, n_topics: int, word_dim: int, width: int) -> None:
        super().__init__()
        self.words = TopicWords(dim, n_topics, word_dim)
        self.inference = TopicInference(n_topics, width)
        self.register_buffer("weight", torch.full((n_clusters, n_topics), 1 / n_topics))
        self.vocabulary = Vocabulary([])
        self.bags = self.vocabulary.bag_of_words([])  # of the training texts; recomputed when training resumes

    def initialize(self, vocabulary: Vocabulary, rho: Tensor, corpus: Corpus, c: Tensor) -> None:
        """Take the vocabulary with its word vectors rho (V, R), and start from the initial clusters.

        c (K, L) are the centers of these clusters.
        """
        assert corpus.labels is not None
        self.vocabulary = vocabulary
        self.bags = vocabulary.bag_of_words(list(corpus.items))
        counts = self.bags.counts_by_cluster(corpus.labels, corpus.counts, (len(c), len(vocabulary)))  # (K, V)
        self.words.initialize(rho, c, counts)
        self.inference.initialize(len(vocabulary))

    def training_bags(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return word ids and counts (B, n) of the training texts ``rows`` (B,)."""
        words, counts = self.bags[rows]
        return words.to(self.weight.device), counts.to(self.weight.device)

    def fit_weights(self, labels: Tensor, counts: Tensor) -> None:
        """Set ``weight`` to the mean proportion of each topic in each cluster.

        ``labels`` (N,) are the clusters of the training texts and ``counts`` (N,) their multiplicities.
        """
        if not self.vocabulary.words:
            return
        member = F.one_hot(labels, len(self.weight)) * counts[:, None].double()  # (N, K)
        total = member.T @ self.inference.proportions(self.bags)  # (K, T)
        self.weight.copy_(total / member.sum(dim=0)[:, None].clamp_min(1))

    @torch.no_grad()
    def topics(self, c: Tensor, n_words: int) -> list[list[Topic]]:
        """Return T topics with ``n_words`` words for each center c (K, L); an empty list without a vocabulary."""
        names = self.vocabulary.words
        if not names:
            return []
        a, b = self.words(c)
        found = []
        for a_k, weights in zip(a, self.weight.tolist(), strict=True):
            best = word_probabilities(a_k, b).topk(min(n_words, len(names))).indices.tolist()  # (T, n_words)
            found.append([Topic(round(w, 4), [names[i] for i in row]) for w, row in zip(weights, best, strict=True)])
        return found

    def proportions(self, texts: Any) -> NDArray[np.float64]:
        """Return the topic proportions (N, T) of checked texts; NaN for blank texts."""
        if not self.vocabulary.words or not isinstance(texts, Texts):
            raise InputError(
                "This model has no topics: its training texts have no words in common, or it was trained on vectors "
                "or with another `reconstruct` than 'words'."
            )
        return texts.expand(self.inference.proportions(self.vocabulary.bag_of_words(texts.unique)).numpy(), np.nan)


def bottleneck(dim: int) -> nn.Sequential:
    """Return an autoencoder of widths L, L / 2, L: the ablation LSR of the paper."""
    width = max(dim // 2, 1)
    return nn.Sequential(nn.Linear(dim, width), nn.ReLU(), nn.Linear(width, dim))
