r"""DECCRL: Improving Deep Embedded Clustering via Learning Cluster-level Representations (Yin et al., COLING 2022).

Besides a contrastive and a clustering loss, each center must predict the words of its texts through topics:

.. math:: L = L_{CL} + \lambda_c L_{Cluster} + \lambda_r L_{RC} \tag{16}

Paper: https://aclanthology.org/2022.coling-1.195 - Code: none

Symbols: o in the paper is q here, t is p, c is mu, v is z; FC_e is the last layer of the network.
Departure: each text belongs to one cluster, weighted by q, and the likelihood of its words is summed over the clusters
(``topic_mixture``), because Eq. 6 is a softmax of probabilities and nearly uniform.
Departure: the logarithm of Eq. 13 is outside the sum.
Departure: Eq. 15 is a mean over the texts that have words.
Departure: FC_g starts from the words of the initial clusters; a few hundred steps do not learn them from scratch.
Departure: distances are multiplied by ``scale``, as in our SCCL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from coterie.contracts import Batch, Corpus, Network, Objective, Stage, Terms
from coterie.encoders.networks.fc import FCNetwork
from coterie.heads.projection import projection
from coterie.heads.topic_model import TopicModel, bottleneck
from coterie.hyper import hyper
from coterie.losses.assignment import kl, sharpen
from coterie.losses.contrastive import cross_view, nt_xent
from coterie.losses.reconstruction import squared_error
from coterie.losses.topic_likelihood import (
    Mixture,
    gaussian_kl,
    log_likelihood,
    marginal_log_likelihood,
    mixture,
    negative_elbo,
)
from coterie.objectives.student_t import StudentTObjective
from coterie.topic_clusterer import TopicClusterer
from coterie.words.cooccurrence import word_vectors
from coterie.words.vocabulary import Vocabulary


class DECCRL(TopicClusterer, name="deccrl"):
    """Contrastive loss, Student-t clustering, and topics that describe every cluster in words."""

    epochs: int = hyper(8, "multiples of `epoch_steps`, or passes over the texts", ge=0)
    epoch_steps: int | None = hyper(25, "steps of an epoch; none: one pass over the texts", ge=1)
    max_steps: int | None = hyper(None, "stop after this many steps even if epochs are left; none: no limit", ge=0)
    cluster_weight: float = hyper(0.3, "weight of the cluster loss", symbol="λ_c", eq="16", ge=0)
    reconstruction_weight: float = hyper(3.0, "weight of the word reconstruction", symbol="λ_r", eq="16", ge=0)
    temperature: float = hyper(0.5, "temperature of the contrastive loss", symbol="τ", eq="2-3", gt=0)
    degrees_of_freedom: float = hyper(10.0, "of the Student-t kernel; with 1, q is flat", symbol="α", eq="5", gt=0)
    scale: float = hyper(6.0, "factor of the distances in the kernel; 1 for vectors that are not unit length", gt=0)
    latent_dim: int | None = hyper(None, "width of h; none: that of the encoder", symbol="L", ge=1)
    contrastive_loss: Literal["cross_view", "nt_xent"] = hyper(
        "cross_view", "Eq. 2-3 as in the paper, or twice the NT-Xent loss of SCCL"
    )
    topic_mixture: Mixture = hyper(
        "marginal", "clusters whose topics explain a text: one unknown cluster, or see docs/methods/deccrl.md", eq="6"
    )
    gumbel_temperature: float = hyper(1.0, "temperature of `topic_mixture` gumbel", gt=0)
    reconstruct: Literal["words", "latent", "none"] = hyper("words", "the words (CRL), h (LSR), or neither")
    n_topics: int = hyper(5, "topics of a cluster", symbol="T", eq="10", ge=1)
    word_vectors: str = hyper(
        "ppmi", "trained on the texts: ppmi, skipgram (extra word2vec); pretrained: glove, or a file or folder"
    )
    word_dim: int = hyper(200, "width of the word vectors", symbol="ρ", ge=2)
    inference_dim: int = hyper(256, "hidden units of the topic inference; 800 in ETM", eq="14", ge=1)
    max_features: int = hyper(20_000, "vocabulary size: the most frequent words", symbol="V", ge=1)
    min_df: int = hyper(2, "minimum number of texts that contain a word", ge=1)
    max_df: float = hyper(0.5, "maximum share of texts that contain a word", gt=0, le=1)
    stop_words: bool = hyper(True, "leave out English stop words, so that topics are readable")
    assign_by: Literal["kmeans", "q", "mixture"] = hyper(
        "q", "labels by the largest q, by k-means on the trained vectors, or by a mixture as in `neighbors`"
    )

    def build_objective(self, network: Network) -> Objective:
        """Return the DECCRL objective."""
        return DECCRLObjective(self, network)

    def wrap_network(self, network: Network) -> Network:
        """Return the network with the layer FC_e on top, Eq. 1."""
        return FCNetwork(network, self.latent_dim)


class DECCRLObjective(StudentTObjective):
    """Projection head g, centers, topic model and Eq. 2-16."""

    n_augmented = 2

    def __init__(self, hp: DECCRL, network: Network) -> None:
        super().__init__(
            network,
            hp.n_clusters,
            degrees_of_freedom=hp.degrees_of_freedom,
            scale=hp.scale,
            assign_by="q" if hp.assign_by == "q" else "kmeans",
        )
        self.hp = hp
        self.g = projection(network.dim)
        self.topics = TopicModel(hp.n_clusters, network.dim, hp.n_topics, hp.word_dim, hp.inference_dim)
        self.lsr = bottleneck(network.dim) if hp.reconstruct == "latent" else None

    def initialize(self, corpus: Corpus, seed: int) -> None:
        """Place the centers, build the vocabulary, and start the topics from the words of the initial clusters."""
        super().initialize(corpus, seed)
        hp = self.hp
        if hp.reconstruct != "words" or isinstance(corpus.items, np.ndarray):
            return
        texts = list(corpus.items)
        vocabulary = Vocabulary.from_texts(
            texts, max_words=hp.max_features, min_df=hp.min_df, max_df=hp.max_df, stop_words=hp.stop_words
        )
        if vocabulary.words:
            rho = word_vectors(vocabulary, texts, hp.word_vectors, dim=hp.word_dim, seed=seed)
            self.topics.initialize(vocabulary, torch.from_numpy(rho), corpus, self.mu.detach().cpu())

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return one stage."""
        return [Stage("joint", epochs, self.joint)]

    def joint(self, batch: Batch) -> Terms:
        """Return the terms of Eq. 16."""
        h, h_1, h_2 = self.network(batch.original, *batch.augmented)
        z_1 = self.g(h_1)
        z_2 = self.g(h_2)
        log_q = self.log_q(h)  # (B, K), Eq. 5
        terms = {
            "instance": self._contrastive_loss(z_1, z_2),
            "cluster": self.hp.cluster_weight * kl(sharpen(log_q), log_q),  # Eq. 7-9
        }
        if self.lsr is not None:
            terms["reconstruction"] = self.hp.reconstruction_weight * squared_error(self.lsr(h), h)
        elif self.topics.vocabulary.words:
            terms["reconstruction"] = self.hp.reconstruction_weight * self.reconstruction(log_q, batch.rows)
        return terms

    def _contrastive_loss(self, z_1: Tensor, z_2: Tensor) -> Tensor:
        if self.hp.contrastive_loss == "nt_xent":
            return 2 * nt_xent(z_1, z_2, tau=self.hp.temperature)
        return cross_view(z_1, z_2, tau=self.hp.temperature)  # Eq. 2-4

    def reconstruction(self, log_q: Tensor, rows: Tensor) -> Tensor:
        """Return L_RC, the negative ELBO of the words of the training texts ``rows`` (B,), given log q (B, K)."""
        words, counts = self.topics.training_bags(rows)  # (B, n) each
        mean, log_variance = self.topics.inference(words, counts)  # (B, T) each
        noise = torch.randn_like(mean)
        theta = (mean + noise * (log_variance / 2).exp()).softmax(dim=1)  # (B, T), Eq. 14
        a, b = self.topics.words(self.mu)  # (K, V) and (T, V), Eq. 10
        if self.hp.topic_mixture == "marginal":
            likelihood = marginal_log_likelihood(log_q, theta, a, b, (words, counts))  # (B,), Eq. 11-13
        else:
            mix = mixture(log_q, self.hp.topic_mixture, tau=self.hp.gumbel_temperature)  # (B, K), Eq. 6
            likelihood = log_likelihood(mix, theta, a, b, (words, counts))  # (B,), Eq. 11-13
        has_words = counts.sum(dim=1) > 0  # (B,)
        return negative_elbo(likelihood, gaussian_kl(mean, log_variance), has_words)  # Eq. 15

    def fit_assigner(self, corpus: Corpus, seed: int) -> None:
        """Fit the final k-means, if it assigns, and the weights of the topics of each cluster."""
        super().fit_assigner(corpus, seed)
        labels = torch.from_numpy(self.assign_all(corpus.h.numpy())).argmax(dim=1)  # (N,)
        self.topics.fit_weights(labels, corpus.counts)
