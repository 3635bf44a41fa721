"""Topics of clusters as distributions over words, and which of them a text has (DECCRL, after ETM)."""

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
from coterie.data.vocabulary import Bags, Vocabulary
from coterie.errors import InputError
from coterie.heads.precise import in_double
from coterie.losses.topics import word_shares

_ROWS = 4096  # texts whose topics are asked for at once
_SMOOTHING = 0.5  # of a mean group: so many words as they are everywhere are added to those of each group
_RIDGE = 1e-4  # keeps word vectors of few words, or padded ones, solvable
_RTOL = 1e-2  # directions in which centers hardly differ say nothing


@dataclass(frozen=True)
class Topic:
    """A topic of a cluster as people read it: its share of the cluster's texts, and its most likely words."""

    weight: float
    words: list[str]


class TopicWords(nn.Module):
    r"""Words of topics from a center and a vector of the topic. DECCRL Eq. 10-11.

    .. math:: \alpha_k^t = FC_g(c_k \oplus u_t), \quad \beta_k = softmax(\rho \alpha_k)

    FC_g is one matrix, so \rho \alpha_k^t is a part of the center plus a part of the topic, and both are small.
    """

    rho: Tensor

    def __init__(self, dim: int, n_topics: int, word_dim: int) -> None:
        super().__init__()
        self.u = nn.Parameter(torch.randn(n_topics, dim))
        self.fc_g = nn.Linear(2 * dim, word_dim)
        self.register_buffer("rho", torch.zeros(0, word_dim))  # (V, R), V being known when the texts are

    @torch.no_grad()
    def begin(self, rho: Tensor, c: Tensor, counts: Tensor) -> None:
        r"""Take word vectors rho (V, R), and place FC_g so that centers c (K, L) expect the words of their groups.

        ``counts`` (K, V) says how often a word is in a group. \rho FC_g(c_k) is then, by least squares in which
        frequent words count more, \log p(w) plus how \log p(w | k) differs from its mean over k; topics differ by u.
        """
        p = counts.sum(dim=0) / counts.sum()  # (V,)
        added = _SMOOTHING * counts.sum() / len(counts)
        of_group = (counts + added * p) / (counts.sum(dim=1, keepdim=True) + added)  # (K, V)
        weighted = rho * p[:, None]
        square = weighted.T @ rho + _RIDGE * torch.eye(rho.shape[1])  # (R, R)
        alpha = torch.linalg.solve(square, weighted.T @ of_group.log().T)  # (R, K)
        mean = torch.linalg.solve(square, weighted.T @ p.log())[:, None]  # (R, 1)
        middle = c.mean(dim=0)
        slope = (alpha - mean).double() @ torch.linalg.pinv((c - middle).double(), rtol=_RTOL).T  # (R, L)
        self.fc_g.weight[:, : c.shape[1]] = slope
        self.fc_g.bias.copy_(mean.squeeze(1) - slope.float() @ middle)
        self.rho = rho.to(self.u.device)

    def forward(self, c: Tensor) -> tuple[Tensor, Tensor]:
        """Return a (K, V) of centers c (K, L), and b (T, V) of the topics; their sum is the logit of a word."""
        of_center, of_topic = self.fc_g.weight.chunk(2, dim=1)  # (R, L) each
        return F.linear(c, of_center) @ self.rho.T, F.linear(self.u, of_topic, self.fc_g.bias) @ self.rho.T


class TopicInference(nn.Module):
    r"""From the normalised bag of words of a text to the mean and variance of its topics. DECCRL Eq. 14.

    Two hidden layers as in ETM (Dieng et al., TACL 2020); the first adds up the rows of the words that are there.
    """

    def __init__(self, n_topics: int, width: int) -> None:
        super().__init__()
        self.words = nn.Parameter(torch.zeros(0, width))  # (V, width), V being known when the texts are
        self.bias = nn.Parameter(torch.zeros(width))
        self.hidden = nn.Sequential(nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.mean, self.log_variance = nn.Linear(width, n_topics), nn.Linear(width, n_topics)

    def begin(self, n_words: int) -> None:
        """Make room for ``n_words`` words."""
        self.words = nn.Parameter(torch.randn(n_words, self.bias.shape[0], device=self.bias.device))

    def forward(self, words: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and log-variance (B, T) of words and counts (B, n)."""
        share = counts / counts.sum(dim=1, keepdim=True).clamp_min(1)
        h = self.hidden(F.embedding_bag(words, self.words, per_sample_weights=share, mode="sum") + self.bias)
        return self.mean(h), self.log_variance(h)

    @torch.no_grad()
    def proportions(self, bags: Bags) -> Tensor:
        r"""Return \theta = softmax(mean) (N, T) in float64, each from its own text; 1 / T for a text without words."""
        parts = []
        for rows in torch.split(torch.arange(len(bags)), _ROWS):
            words, counts = (x.to(self.bias.device) for x in bags[rows])
            mean, _ = in_double(self, words, counts)
            told = counts.sum(dim=1, keepdim=True) > 0
            parts.append(torch.where(told, mean, torch.zeros_like(mean)).softmax(dim=1).cpu())
        return torch.cat(parts)


class TopicModel(nn.Module):
    """The words, the topics they make, the topics of texts, and how much of each topic is in each cluster."""

    weight: Tensor

    def __init__(self, n_clusters: int, dim: int, n_topics: int, word_dim: int, width: int) -> None:
        super().__init__()
        self.words = TopicWords(dim, n_topics, word_dim)
        self.inference = TopicInference(n_topics, width)
        self.register_buffer("weight", torch.full((n_clusters, n_topics), 1 / n_topics))
        self.vocabulary = Vocabulary([])
        self.bags = self.vocabulary.bags([])  # of the training texts; made anew when a training goes on

    def begin(self, vocabulary: Vocabulary, rho: Tensor, corpus: Corpus, c: Tensor) -> None:
        """Take the words with their vectors rho (V, R), and start from the first grouping with its centers c (K, L)."""
        self.vocabulary, self.bags = vocabulary, vocabulary.bags(list(corpus.items))
        assert corpus.labels is not None
        counts = self.bags.by_group(corpus.labels, corpus.counts, (len(c), len(vocabulary)))
        self.words.begin(rho, c, counts)
        self.inference.begin(len(vocabulary))

    def bags_of(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return words and counts (B, n) of some training texts."""
        words, counts = self.bags[rows]
        return words.to(self.weight.device), counts.to(self.weight.device)

    def weigh(self, labels: Tensor, times: Tensor) -> None:
        """Measure the mean share of each topic over the texts of each cluster, each counting ``times`` (N,)."""
        if not self.vocabulary.words:
            return
        member = F.one_hot(labels, len(self.weight)) * times[:, None].double()  # (N, K)
        total = member.T @ self.inference.proportions(self.bags)  # (K, T)
        self.weight.copy_(total / member.sum(dim=0)[:, None].clamp_min(1))

    @torch.no_grad()
    def top(self, c: Tensor, n_words: int) -> list[list[Topic]]:
        """Return the topics of each center c (K, L), with their most likely words; none when there are no words."""
        names = self.vocabulary.words
        if not names:
            return []
        a, b = self.words(c)
        found = []
        for a_k, shares in zip(a, self.weight.tolist(), strict=True):
            best = word_shares(a_k, b).topk(min(n_words, len(names))).indices.tolist()  # (T, n_words)
            found.append([Topic(round(w, 4), [names[i] for i in row]) for w, row in zip(shares, best, strict=True)])
        return found

    def spread(self, texts: Any) -> NDArray[np.float64]:
        """Return the shares of topics (N, T) of checked texts; NaN for blank ones."""
        if not self.vocabulary.words or not isinstance(texts, Texts):
            raise InputError("This model has no topics: it was not given texts that share words, or reconstructs none.")
        return texts.spread(self.inference.proportions(self.vocabulary.bags(texts.unique)).numpy(), np.nan)


def bottleneck(dim: int) -> nn.Sequential:
    """Return an auto-encoder L, L / 2, L: the paper's ablation LSR."""
    return nn.Sequential(nn.Linear(dim, max(dim // 2, 1)), nn.ReLU(), nn.Linear(max(dim // 2, 1), dim))
