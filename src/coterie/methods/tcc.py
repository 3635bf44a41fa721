r"""TCC: You Never Cluster Alone (Shen et al., NeurIPS 2021).

Each cluster is represented by one vector of its items and contrasted with the other clusters; each item is contrasted
together with its cluster:

.. math:: L = \alpha L_1 + (1 - \alpha) L_2 \tag{9}

Paper: https://arxiv.org/abs/2106.01908 - Code: none

Symbols: π in the paper is q here; f is the network with a linear layer on top (encoders/networks/fc.py).
Departure: the similarity in Eq. 3 is the cosine over a temperature; ``similarity="dot"`` is that of the paper.
Departure: an item is not its own negative in Eq. 7.
Departure: prototypes start from the initial clusters, or from k-means after ``instance_epochs``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie.clustering.kmeans import kmeans_centers
from coterie.contracts import Batch, Corpus, Network, Objective, Stage, Terms
from coterie.deep import DeepClusterer
from coterie.encoders.networks.fc import FCNetwork
from coterie.heads.momentum import MomentumEncoder
from coterie.heads.queue import Queue, queue_size_for
from coterie.hyper import hyper
from coterie.losses.assignment import set_representation
from coterie.losses.contrastive import nt_xent, queue_contrast
from coterie.losses.entropy import kl_uniform


class TCC(DeepClusterer, name="tcc"):
    """Contrast of clusters and contrast of items, connected by the soft assignments."""

    assign_by: Literal["method", "mixture"] = hyper(
        "method", "labels by the prototypes, or by a mixture over the trained vectors as in `neighbors`"
    )
    head_lr: float = hyper(1e-4, "learning rate of everything but the encoder; low, because prototypes are short", ge=0)
    cluster_weight: float = hyper(
        0.5, "weight of the contrast of clusters; that of items is 1 - α", symbol="α", eq="9", ge=0, le=1
    )
    temperature: float = hyper(0.5, "temperature of both contrasts", symbol="τ", eq="5, 7", gt=0)
    assign_temperature: float = hyper(0.1, "temperature of the cosines in π; not in the paper", eq="3", gt=0)
    gumbel_temperature: float = hyper(0.3, "temperature of the drawn clusters c", symbol="λ", eq="6", gt=0)
    stochastic: bool = hyper(True, "draw c from π; otherwise c is π", symbol="c", eq="6")
    instance_embedding: Literal["both", "cluster", "features"] = hyper(
        "both", "e from f + NN(c), from NN(c) only, or from f only", symbol="e", eq="7"
    )
    cluster_negatives: Literal["queue", "batch"] = hyper(
        "queue", "negatives of a cluster: clusters of past batches, or of this batch", eq="5"
    )
    prior: Literal["sample", "batch"] = hyper(
        "batch", "distribution pulled to uniform: π of each item, or the mean π of the batch", eq="8"
    )
    prior_weight: float = hyper(0.1, "weight of the prior; 1: as in the paper", symbol="β", eq="8", ge=0)
    momentum: float = hyper(0.99, "of the momentum encoder; 0.999 for thousands of steps", symbol="m", ge=0, le=1)
    queue_steps: int = hyper(20, "steps whose clusters are kept as negatives", symbol="L/K", eq="5", ge=1)
    queue_size: int | None = hyper(
        None, "items kept as negatives; none: half of the items, at most 16384", symbol="J", eq="7", ge=1
    )
    latent_dim: int | None = hyper(None, "width of f; none: that of the encoder", symbol="d_m", ge=1)
    head_init: Literal["centers", "random"] = hyper(
        "centers", "initial prototypes: means of the initial clusters, or random"
    )
    instance_epochs: int = hyper(
        0, "first epochs: contrast of items only, then k-means places μ; for networks trained from scratch", ge=0
    )
    similarity: Literal["cosine", "dot"] = hyper(
        "cosine", "logits of π: cosine over a temperature, or the dot product of f and μ", eq="3"
    )

    def build_objective(self, network: Network) -> Objective:
        """Return the TCC objective."""
        return TCCObjective(self, network)

    def wrap_network(self, network: Network) -> Network:
        """Return the network with a linear layer on top, f."""
        return FCNetwork(network, self.latent_dim)


class View(NamedTuple):
    """One view of a batch, Eq. 3-7."""

    f: Tensor  # (B, d) features
    r: Tensor  # (K, d) clusters
    e: Tensor  # (B, d) items with their clusters
    log_q: Tensor  # (B, K) log π


class TCCObjective(Objective):
    """Prototypes μ, NN, momentum encoder, queues of past clusters (P) and items (Q), and Eq. 3-9."""

    n_augmented = 2
    transient = frozenset({"momentum_encoder", "past_clusters", "past_items"})

    def __init__(self, hp: TCC, network: Network) -> None:
        super().__init__(network)
        self.hp = hp
        self.mu = nn.Parameter(F.normalize(torch.randn(hp.n_clusters, network.dim), dim=1))
        self.nn_c = nn.Linear(hp.n_clusters, network.dim)
        self.momentum_encoder = MomentumEncoder(self, hp.momentum)
        self.past_clusters = Queue(network.dim)
        self.past_items = Queue(network.dim)

    def initialize(self, corpus: Corpus, seed: int) -> None:
        """Place the prototypes, and reset momentum encoder and queues."""
        mu = corpus.means(self.hp.n_clusters) if self.hp.head_init == "centers" else self.mu
        self._reset(mu, corpus)

    def _reset(self, mu: Tensor, corpus: Corpus) -> None:
        self.mu.data.copy_(mu)
        self.momentum_encoder.reset(self)
        self.past_clusters.reset(self.hp.queue_steps * self.hp.n_clusters)
        self.past_items.reset(self.hp.queue_size or queue_size_for(len(corpus.h), self.hp.batch_size))

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return the stages: contrast of items only (often no epochs), then all terms."""
        n_instance = min(self.hp.instance_epochs, epochs)
        place = self.place_prototypes if n_instance else None
        return [
            Stage("instance", n_instance, self.instance, labeled=False),  # the prototypes are not trained yet
            Stage("joint", epochs - n_instance, self.joint, before=place),
        ]

    def place_prototypes(self, corpus: Corpus, seed: int) -> None:
        """Place the prototypes by k-means on the current embeddings, and reset momentum encoder and queues."""
        h = F.normalize(corpus.h, dim=1)
        mu = kmeans_centers(h, corpus.counts, self.hp.n_clusters, n_init=10, seed=seed)
        self._reset(mu, corpus)

    def instance(self, batch: Batch) -> Terms:
        """Return the contrast of items only, Eq. 7 without NN(c)."""
        view = self(batch.augmented[0])
        view_hat = self.momentum_encoder(self, batch.augmented[1])
        f = F.normalize(view.f, dim=1)
        f_hat = F.normalize(view_hat.f, dim=1)
        return {"instance": self._item_contrast(f, f_hat, batch)}

    def joint(self, batch: Batch) -> Terms:
        """Return the terms of Eq. 9: L_1, and the two parts of L_2 (Eq. 8), contrast of items and prior."""
        alpha = self.hp.cluster_weight
        view = self(batch.augmented[0])
        view_hat = self.momentum_encoder(self, batch.augmented[1])
        l_1 = self._cluster_contrast(view.r, view_hat.r)
        l_2 = self._item_contrast(view.e, view_hat.e, batch)
        prior = self.hp.prior_weight * kl_uniform(view.log_q, per_item=self.hp.prior == "sample")  # Eq. 8
        return {"cluster": alpha * l_1, "instance": (1 - alpha) * l_2, "prior": (1 - alpha) * prior}

    def _cluster_contrast(self, r: Tensor, r_hat: Tensor) -> Tensor:
        if self.hp.cluster_negatives == "batch":
            return nt_xent(r, r_hat, tau=self.hp.temperature)
        clusters = torch.arange(len(r))
        queue, same = self.past_clusters.negatives(clusters)
        self.past_clusters.push_later(r_hat, clusters)
        return queue_contrast(r, r_hat, queue, same, tau=self.hp.temperature)  # Eq. 5

    def _item_contrast(self, e: Tensor, e_hat: Tensor, batch: Batch) -> Tensor:
        """Return the contrast of items; neither item that the two views show is a negative."""
        shown, shown_hat = batch.shown or (batch.rows, batch.rows)
        queue, same = self.past_items.exchange(e_hat, shown, shown_hat)
        return queue_contrast(e, e_hat, queue, same, tau=self.hp.temperature)  # Eq. 7

    def forward(self, view: Any) -> View:
        """Return f, r, e and log π of one view, by the current weights or those of the momentum encoder."""
        (h,) = self.network(view)
        f = self._features(h)
        log_q = self.log_q(f)
        if self.hp.stochastic:
            c = F.gumbel_softmax(log_q, tau=self.hp.gumbel_temperature)  # (B, K), Eq. 6
        else:
            c = log_q.exp()
        r = set_representation(log_q, f)  # Eq. 4
        return View(f, r, self._instance_embedding(f, c), log_q)

    def _features(self, h: Tensor) -> Tensor:
        return F.normalize(h, dim=1) if self.hp.similarity == "cosine" else h

    def _instance_embedding(self, f: Tensor, c: Tensor) -> Tensor:
        """Return e (B, d) of features f (B, d) and clusters c (B, K), Eq. 7."""
        if self.hp.instance_embedding == "features":
            return F.normalize(f, dim=1)
        if self.hp.instance_embedding == "cluster":
            return F.normalize(self.nn_c(c), dim=1)
        return F.normalize(f + self.nn_c(c), dim=1)

    def after_step(self) -> None:
        """Push the clusters and items of this step to the queues, and update the momentum encoder."""
        self.past_clusters.flush()
        self.past_items.flush()
        self.momentum_encoder.update(self)

    def log_q(self, h: Tensor) -> Tensor:
        """Return log π (B, K) of h (B, d), Eq. 3."""
        mu = self.mu.to(h.dtype)
        if self.hp.similarity == "cosine":
            logits = F.normalize(h, dim=1) @ F.normalize(mu, dim=1).T / self.hp.assign_temperature
        else:
            logits = h @ mu.T
        return logits.log_softmax(dim=1)

    def diagnostics(self, h: Tensor) -> dict[str, Tensor]:
        """Return z (B, d), the input of Eq. 7: e with c = π."""
        return {"z": self._instance_embedding(self._features(h), self.log_q(h).exp())}

    @property
    def centers(self) -> Tensor:
        """Return the prototypes μ (K, d)."""
        return self.mu

    def assign(self, h: Tensor) -> Tensor:
        """Return π (B, K) in float64."""
        return self.log_q(h.double()).softmax(dim=1)
