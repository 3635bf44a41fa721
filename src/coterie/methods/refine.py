r"""refine: improves the clusters of `neighbors` by training the encoder on them.

Training brings neighbors together and away from texts of other clusters, and texts to the center of their cluster where
the mixture is sure of it. Every epoch the mixture is fitted again to the new vectors, and its clusters are the next
pseudo-labels:

.. math::
    L = \eta\, L_I + \lambda \, \frac{1}{|S|} \sum_{i \in S} -\log
        \frac{\exp(s \cos(h_i, \mu_{y_i}))}{\sum_k \exp(s \cos(h_i, \mu_k))}, \qquad S = \{i : \max_k q_{ik} > t\}

L_I is the NT-Xent loss of a text and one of its neighbors whose negatives are the texts of other clusters, q and
y = argmax q are those of the mixture, and the second sum is taken over the text and over its neighbor. Were texts of
the same cluster pushed apart, too, large clusters would lose texts to small ones.

Paper: none; the losses are those of SCCL (instances) and ClusterBERT (pseudo-labels) - Code: this file
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie.closing import MIXTURE, untrained_model
from coterie.contracts import Batch, Corpus, Network, Objective, Stage, Terms
from coterie.deep import DeepClusterer
from coterie.encoders.encoder import Encoder
from coterie.encoders.networks.linear import LinearNetwork
from coterie.hyper import hyper
from coterie.losses.contrastive import nt_xent, nt_xent_between_clusters


class Refine(DeepClusterer, name="refine"):
    """Improves the clusters of `neighbors` by training the last layers of the encoder on them, for minutes."""

    epochs: int = hyper(3, "how often the mixture is fitted again", ge=0)
    epoch_steps: int | None = hyper(30, "steps between two fits of the mixture; none: one pass over the texts", ge=1)
    max_steps: int | None = hyper(None, "stop after this many steps even if epochs are left; none: no limit", ge=0)
    batch_size: int = hyper(100, "texts of a batch", symbol="B", ge=2)
    trainable_layers: int | None = hyper(
        2, "last layers that are trained; 0: a small network above the encoder, in seconds; none: all", ge=0
    )
    encoder_lr: float = hyper(5e-5, "learning rate of the layers of the encoder", ge=0)
    head_lr: float = hyper(1e-3, "learning rate of the centers, and of a small network above the encoder", ge=0)
    schedule: Literal["constant", "linear"] = hyper("constant", "of the learning rates: constant, or linear decay")
    instance_weight: float = hyper(1.0, "weight of the instance loss between neighbors", symbol="η", ge=0)
    negatives: Literal["all", "other_clusters"] = hyper(
        "other_clusters", "texts of a batch that the instance loss pushes apart: all, or those of other clusters"
    )
    temperature: float = hyper(0.1, "temperature of the instance loss", symbol="τ", gt=0)
    pseudo_label_weight: float = hyper(1.0, "weight of the pseudo-labels", symbol="λ", ge=0)
    threshold: float = hyper(0.9, "minimum probability of a pseudo-label", symbol="t", ge=0, le=1)
    scale: float = hyper(10.0, "factor of the cosines to the centers", symbol="s", gt=0)
    assign_by: Literal["mixture", "q"] = hyper("mixture", "labels by the mixture, or by the nearest center")

    def build_network(self, encoder: Encoder) -> Network:
        """Return the encoder's network, or a small one above fixed embeddings: also where it has no layers to train."""
        network = super().build_network(encoder)
        if self.trainable_layers == 0 or isinstance(network, LinearNetwork):
            return SmallNetwork(encoder.dim, encoder.embed)
        return network

    def build_objective(self, network: Network) -> Objective:
        """Return the objective."""
        return RefineObjective(self, network)


class SmallNetwork(LinearNetwork):
    """A trained layer above fixed embeddings; it learns at the rate of the heads."""

    def encoder_parameters(self) -> Iterator[nn.Parameter]:
        """Return nothing: no layer is pretrained."""
        return iter(())


class RefineObjective(Objective):
    """Centers μ, and the pseudo-labels of the texts of which the mixture is sure."""

    n_augmented = 1
    transient = frozenset({"pseudo_labels", "sure"})
    max_loss = 0.1  # trained layers gained on all five sets of ADR 0016, also where the score falls so far
    max_loss_of_small_network = 0.05

    pseudo_labels: Tensor  # (N,)
    sure: Tensor  # (N,) whether the mixture is sure of the pseudo-label

    def __init__(self, hp: Refine, network: Network) -> None:
        super().__init__(network)
        self.hp = hp
        if isinstance(network, SmallNetwork):
            self.max_loss = self.max_loss_of_small_network
        self.mu = nn.Parameter(torch.zeros(hp.n_clusters, network.dim))
        self.register_buffer("pseudo_labels", torch.zeros(0, dtype=torch.long))
        self.register_buffer("sure", torch.zeros(0, dtype=torch.bool))

    def initialize(self, corpus: Corpus, seed: int) -> None:
        """Place the centers at the means of the initial clusters, whose labels are the first pseudo-labels."""
        self.mu.data.copy_(corpus.means(self.hp.n_clusters))
        self.pseudo_labels = torch.as_tensor(corpus.labels, device=self.mu.device).clone()
        self.sure = torch.ones_like(self.pseudo_labels, dtype=torch.bool)

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return one stage; the mixture is fitted before each of its epochs."""
        return [Stage("refine", epochs, self.refine, before_epoch=self.relabel)]

    def relabel(self, corpus: Corpus, seed: int) -> None:
        """Fit the mixture to the current embeddings, from the pseudo-labels, and take its clusters and its doubts."""
        labeled = replace(corpus, labels=self.pseudo_labels.cpu())
        mixture = untrained_model(MIXTURE, labeled, self.hp.n_clusters, seed).objective_
        q = torch.from_numpy(mixture.assign_all(corpus.h.numpy(), corpus.items))  # (N, K)
        confidence, labels = q.max(dim=1)
        self.pseudo_labels.copy_(labels)
        self.sure.copy_(confidence > self.hp.threshold)

    def refine(self, batch: Batch) -> Terms:
        """Return both terms of L."""
        h, h_1 = self.network(batch.original, *batch.augmented)
        terms = {"instance": self.hp.instance_weight * self.instance_loss(h, h_1, batch)}
        sure = self.sure[batch.rows]  # (B,)
        if sure.any():
            y = self.pseudo_labels[batch.rows][sure].repeat(2)
            logits = self.logits(torch.cat([h[sure], h_1[sure]]))
            terms["pseudo_label"] = self.hp.pseudo_label_weight * F.cross_entropy(logits, y)
        return terms

    def instance_loss(self, h: Tensor, h_1: Tensor, batch: Batch) -> Tensor:
        """Return L_I of h, h_1 (B, D)."""
        if self.hp.negatives == "all":
            return nt_xent(h, h_1, tau=self.hp.temperature)
        labels = self.pseudo_labels[torch.cat([batch.rows, *batch.shown])]  # (2B,)
        return nt_xent_between_clusters(h, h_1, labels, tau=self.hp.temperature)

    def logits(self, h: Tensor) -> Tensor:
        """Return s cos(h, μ) (B, K) of h (B, D)."""
        mu = F.normalize(self.mu.to(h.dtype), dim=1)
        return self.hp.scale * F.normalize(h, dim=1) @ mu.T

    @property
    def centers(self) -> Tensor:
        """Return the centers μ (K, D)."""
        return self.mu

    def assign(self, h: Tensor) -> Tensor:
        """Return q (B, K) by the centers; the mixture assigns in its place when the training is closed."""
        return self.logits(h.double()).softmax(dim=1)
