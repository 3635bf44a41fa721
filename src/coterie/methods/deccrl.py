r"""DECCRL: Improving Deep Embedded Clustering via Learning Cluster-level Representations (Yin et al., COLING 2022).

Beside a contrast of views and a clustering loss, each center must tell, through topics, the words of its texts:

.. math:: L = L_{CL} + \lambda_c L_{Cluster} + \lambda_r L_{RC} \tag{16}

Paper: https://aclanthology.org/2022.coling-1.195 - Code: none

Symbols: o = q, t = p, c = mu, v = z; FC_e is the last layer of the encoder.
Departure: Eq. 6 is a softmax of probabilities, nearly uniform. A text has one cluster, which q weighs, and the
likelihood of its words is summed over that cluster (``mixture``). The logarithm of Eq. 13 is outside the sum; texts
without a word are left out of Eq. 15, which is a mean. FC_g starts from the words of the first groups: from anywhere
else, a few hundred steps do not reach them. Distances are multiplied by ``scale``, as in our SCCL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from coterie.contracts import Batch, Corpus, Network, Objective, Stage, Terms
from coterie.data.vocabulary import Vocabulary
from coterie.encoders.corpus_vectors import corpus_vectors
from coterie.encoders.encoder import Encoder
from coterie.heads.centers import NearestCenter, kmeans_centers
from coterie.heads.latent import Latent
from coterie.heads.projection import projection
from coterie.heads.topics import TopicModel, bottleneck
from coterie.hyper import hyper
from coterie.losses import topics as crl
from coterie.losses.assignment import kl, sharpen, student_t
from coterie.losses.contrastive import nt_xent
from coterie.losses.cross_view import cross_view
from coterie.topical import TopicalClusterer


class DECCRL(TopicalClusterer, name="deccrl"):
    """Contrast, Student-t clustering, and topics that explain every cluster in words."""

    epochs: int = hyper(8, "stretches of `epoch_steps`, or passes over the texts", ge=0)
    epoch_steps: int | None = hyper(25, "steps of an epoch; none: as many as see every text once", ge=1)
    max_steps: int | None = hyper(None, "end after so many steps even if epochs are left; none: no limit", ge=0)
    cluster_weight: float = hyper(0.3, "weight of the cluster loss", symbol="λ_c", eq="16", ge=0)
    reconstruction_weight: float = hyper(3.0, "weight of the words", symbol="λ_r", eq="16", ge=0)
    temperature: float = hyper(0.5, "sharpness of the contrast", symbol="τ", eq="2-3", gt=0)
    degrees_of_freedom: float = hyper(10.0, "of the Student-t kernel; with 1, q is flat", symbol="α", eq="5", gt=0)
    scale: float = hyper(6.0, "what distances are multiplied by in the kernel; 1 for vectors of any length", gt=0)
    latent_dim: int | None = hyper(None, "width of h; none: the encoder's, so that nothing is lost", symbol="L", ge=1)
    contrast: Literal["other_view", "nt_xent"] = hyper("other_view", "Eq. 2-3 as printed, or SCCL's, times two")
    mixture: crl.Mixture = hyper("marginal", "whose topics a text has: one cluster's, summed over; or see the page")
    gumbel_temperature: float = hyper(1.0, "softness of the gradient of `mixture` gumbel", gt=0)
    reconstruct: Literal["words", "latent", "nothing"] = hyper("words", "the words (CRL), h (LSR), or neither")
    n_topics: int = hyper(5, "topics of a cluster", symbol="T", eq="10", ge=1)
    word_vectors: str = hyper("ppmi", "ppmi or skipgram (extra word2vec) of the texts, glove, or a file or folder")
    word_dim: int = hyper(200, "width of word vectors; few, because the texts are short and few", symbol="ρ", ge=2)
    inference_dim: int = hyper(256, "hidden units that read a bag of words; ETM has 800", eq="14", ge=1)
    max_features: int = hyper(20_000, "words of the vocabulary, the most frequent", symbol="V", ge=1)
    min_texts: int = hyper(2, "texts a word must be in; one alone tells nothing of a cluster", ge=1)
    max_share: float = hyper(0.5, "of the texts a word may be in; more, and it tells no clusters apart", gt=0, le=1)
    stop_words: bool = hyper(True, "leave English stop words out, so that topics can be read")
    assign_by: Literal["kmeans", "q"] = hyper("q", "labels by the largest q, or by k-means on what was learnt")

    def build_objective(self, encoder: Network) -> Objective:
        """Return the DECCRL objective."""
        return DECCRLObjective(self, encoder)

    def _network(self, encoder: Encoder, dim: int) -> Network:
        return Latent(super()._network(encoder, dim), self.latent_dim)


class DECCRLObjective(Objective):
    """Head of the contrast, centers, topics, and Eq. 2-16."""

    n_augmented = 2

    def __init__(self, hp: DECCRL, encoder: Network) -> None:
        super().__init__(encoder)
        self.hp = hp
        self.g = projection(encoder.dim)
        self.mu = nn.Parameter(torch.zeros(hp.n_clusters, encoder.dim))
        self.nearest = NearestCenter(hp.n_clusters, encoder.dim)
        self.topics = TopicModel(hp.n_clusters, encoder.dim, hp.n_topics, hp.word_dim, hp.inference_dim)
        self.lsr = bottleneck(encoder.dim) if hp.reconstruct == "latent" else None

    def start(self, corpus: Corpus, seed: int | None) -> None:
        """Place the centers, choose the words, and let the centers expect those of the first groups."""
        hp, with_words = self.hp, self.hp.reconstruct == "words" and not isinstance(corpus.items, np.ndarray)
        self.mu.data.copy_(corpus.means(hp.n_clusters))
        texts = list(corpus.items) if with_words else []
        vocabulary = Vocabulary.of(
            texts, max_words=hp.max_features, min_texts=hp.min_texts, max_share=hp.max_share, stop_words=hp.stop_words
        )
        if vocabulary.words:
            rho = corpus_vectors(vocabulary, texts, hp.word_vectors, width=hp.word_dim, seed=seed)
            self.topics.begin(vocabulary, torch.from_numpy(rho), corpus, self.mu.detach().cpu())

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return one stage: everything is learnt together."""
        return [Stage("joint", epochs, self.joint)]

    def joint(self, batch: Batch) -> Terms:
        """Return the terms of Eq. 16."""
        h, h_1, h_2 = self.encoder(batch.original, *batch.augmented)
        z_1, z_2, tau, log_q = self.g(h_1), self.g(h_2), self.hp.temperature, self.log_q(h)
        other_view = self.hp.contrast == "other_view"
        contrast = cross_view(z_1, z_2, tau=tau) if other_view else 2 * nt_xent(z_1, z_2, tau=tau)  # Eq. 2-4
        terms = {"instance": contrast, "cluster": self.hp.cluster_weight * kl(sharpen(log_q), log_q)}  # Eq. 7-9
        if self.lsr is not None:
            terms["reconstruction"] = self.hp.reconstruction_weight * crl.latent_difference(h, self.lsr(h))
        elif self.topics.vocabulary.words:
            terms["reconstruction"] = self.hp.reconstruction_weight * self.reconstruction(log_q, batch.rows)
        return terms

    def reconstruction(self, log_q: Tensor, rows: Tensor) -> Tensor:
        """Return L_RC: what the words of the texts cost, told by the centers through topics."""
        bags = self.topics.bags_of(rows)
        mean, log_variance = self.topics.inference(*bags)
        theta = (mean + torch.randn_like(mean) * (log_variance / 2).exp()).softmax(dim=1)  # Eq. 14
        a, b = self.topics.words(self.mu)  # Eq. 10
        if self.hp.mixture == "marginal":
            likelihood = crl.marginal_log_likelihood(log_q, theta, a, b, bags)  # Eq. 11-13
        else:
            mix = crl.mixture(log_q, self.hp.mixture, tau=self.hp.gumbel_temperature)  # Eq. 6
            likelihood = crl.log_likelihood(mix, theta, a, b, bags)  # Eq. 11-13
        return crl.negative_elbo(likelihood, crl.gaussian_kl(mean, log_variance), bags[1].sum(dim=1) > 0)  # Eq. 15

    def log_q(self, h: Tensor) -> Tensor:
        """Return the logarithm of q (B, K), Eq. 5."""
        return student_t(self.hp.scale * h, self.hp.scale * self.mu, alpha=self.hp.degrees_of_freedom)

    def finish(self, corpus: Corpus, seed: int | None) -> None:
        """Place the centers that assign texts if k-means does, and weigh the topics of each cluster."""
        if self.hp.assign_by == "kmeans":
            mu = kmeans_centers(corpus.h, corpus.counts, self.hp.n_clusters, seed=0, start=self.mu.detach().cpu())
            self.nearest.place(mu, corpus.h)
        self.topics.weigh(torch.from_numpy(self.assign_all(corpus.h.numpy())).argmax(dim=1), corpus.counts)

    @property
    def centers(self) -> Tensor:
        """Return the centers that assign texts."""
        return self.nearest.mu if self.hp.assign_by == "kmeans" else self.mu

    def assign(self, h: Tensor) -> Tensor:
        """Return q (B, K)."""
        q: Tensor = self.nearest(h) if self.hp.assign_by == "kmeans" else self.log_q(h.double()).softmax(dim=1)
        return q
