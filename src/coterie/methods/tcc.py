r"""TCC: You Never Cluster Alone (Shen et al., NeurIPS 2021).

A cluster's items make one vector, contrasted with other clusters'; an item is contrasted together with its cluster:

.. math:: L = \alpha L_1 + (1 - \alpha) L_2 \tag{9}

Paper: https://arxiv.org/abs/2106.01908 - Code: none
Symbols: π = q; f is the encoder with a linear layer above it (heads/latent.py), so h = f(x).
Departure: f and μ have length one in Eq. 3, and a temperature makes up for it; ``variant="paper"`` is as printed.
An item is not its own negative in Eq. 7. Prototypes start from the first groups, or where items alone have led to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie.contracts import Batch, Corpus, Network, Objective, Stage, Terms
from coterie.deep import DeepClusterer
from coterie.encoders.encoder import Encoder
from coterie.heads.centers import kmeans_centers
from coterie.heads.latent import Latent
from coterie.heads.momentum import Momentum
from coterie.heads.queue import Queue, whole_batches
from coterie.hyper import hyper
from coterie.losses.contrastive import nt_xent
from coterie.losses.twin import kl_uniform, queue_contrast, set_representation


class TCC(DeepClusterer, name="tcc"):
    """Contrast of clusters and of items, joined by who belongs where."""

    head_lr: float = hyper(1e-4, "learning rate of everything else; prototypes are short, so it is low", ge=0)
    cluster_share: float = hyper(0.5, "share of the contrast of clusters", symbol="α", eq="9", ge=0, le=1)
    temperature: float = hyper(0.5, "sharpness of both contrasts", symbol="τ", eq="5, 7", gt=0)
    assign_temperature: float = hyper(0.1, "of the cosines in π; the paper has neither", eq="3", gt=0)
    gumbel_temperature: float = hyper(0.3, "softness of the clusters that are drawn", symbol="λ", eq="6", gt=0)
    stochastic: bool = hyper(True, "draw c from π; else c is π", symbol="c", eq="6")
    instance: Literal["both", "cluster", "plain"] = hyper("both", "e: of f + NN(c), of NN(c) alone, of f alone", eq="7")
    contrast: Literal["queue", "batch"] = hyper("queue", "clusters against past batches, or within this one", eq="5")
    prior: Literal["sample", "batch"] = hyper("batch", "what is to be even: π of each text, or its mean", eq="8")
    prior_weight: float = hyper(0.1, "of what is to be even; 1: as printed", symbol="β", eq="8", ge=0)
    momentum: float = hyper(0.99, "of the slow copy; 0.999 for thousands of steps", symbol="m", ge=0, le=1)
    queue_steps: int = hyper(20, "steps whose clusters are kept as negatives", symbol="L/K", eq="5", ge=1)
    queue_size: int | None = hyper(None, "texts kept as negatives; none: by rule", symbol="J", eq="7", ge=1)
    latent_dim: int | None = hyper(None, "width of f; none: the encoder's, so that nothing is lost", symbol="d_m", ge=1)
    prototypes: Literal["groups", "random"] = hyper("groups", "start of μ: means of the first groups, or anywhere")
    alone_epochs: int = hyper(0, "first epochs, of items alone; then k-means places μ. For a new network", ge=0)
    variant: Literal["cosine", "paper"] = hyper("cosine", "logits of π: cosine over a temperature, or f·μ", eq="3")

    def build_objective(self, encoder: Network) -> Objective:
        """Return the TCC objective."""
        return TCCObjective(self, encoder)

    def _network(self, encoder: Encoder, dim: int) -> Network:
        return Latent(super()._network(encoder, dim), self.latent_dim)


class TCCObjective(Objective):
    """Prototypes μ, NN, a slow copy of everything, two queues, and Eq. 3-9."""

    n_augmented = 2
    scratch = frozenset({"slow", "past_clusters", "past_items"})

    def __init__(self, hp: TCC, encoder: Network) -> None:
        super().__init__(encoder)
        self.hp, self.unit = hp, hp.variant == "cosine"
        self.mu = nn.Parameter(F.normalize(torch.randn(hp.n_clusters, encoder.dim), dim=1))
        self.nn_c = nn.Linear(hp.n_clusters, encoder.dim)
        self.slow = Momentum(self, hp.momentum)
        self.past_clusters, self.past_items = Queue(encoder.dim), Queue(encoder.dim)  # P and Q

    def start(self, corpus: Corpus, seed: int | None) -> None:
        """Place the prototypes, let the slow copy begin where they are, and make room in the queues."""
        self._begin(corpus.means(self.hp.n_clusters) if self.hp.prototypes == "groups" else self.mu, corpus)

    def _begin(self, mu: Tensor, corpus: Corpus) -> None:
        self.mu.data.copy_(mu)
        self.slow.begin(self)
        self.past_clusters.begin(self.hp.queue_steps * self.hp.n_clusters)
        self.past_items.begin(self.hp.queue_size or whole_batches(len(corpus.h), self.hp.batch_size))

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return one stage, in which everything is learnt together; before it a new network may learn items alone."""
        n = min(self.hp.alone_epochs, epochs)
        return [Stage("items", n, self.items), Stage("twin", epochs - n, self.twin, before=self.place if n else None)]

    def items(self, batch: Batch) -> Terms:
        """Return the contrast of items alone, Eq. 7 without NN(c)."""
        f, f_hat = self(batch.augmented[0])[0], self.slow(self, batch.augmented[1])[0]
        f, f_hat = F.normalize(f, dim=1), F.normalize(f_hat, dim=1)
        past = self.past_items.against(batch.rows, f_hat)
        return {"instance": queue_contrast(f, f_hat, *past, tau=self.hp.temperature)}

    def place(self, corpus: Corpus) -> None:
        """Place the prototypes anew, by k-means on what items alone have taught."""
        h, k = F.normalize(corpus.h, dim=1), self.hp.n_clusters
        self._begin(kmeans_centers(h, corpus.counts, k, n_init=10, seed=0), corpus)

    def twin(self, batch: Batch) -> Terms:
        """Return the terms of Eq. 9: clusters, then items and prior, which together are Eq. 8."""
        hp, tau, alpha = self.hp, self.hp.temperature, self.hp.cluster_share
        (_, r, e, log_q), (_, r_hat, e_hat, _) = self(batch.augmented[0]), self.slow(self, batch.augmented[1])
        l_1 = queue_contrast(r, r_hat, *self.past_clusters.against(torch.arange(len(r)), r_hat), tau=tau)  # Eq. 5
        l_1 = nt_xent(r, r_hat, tau=tau) if hp.contrast == "batch" else l_1
        l_2 = queue_contrast(e, e_hat, *self.past_items.against(batch.rows, e_hat), tau=tau)  # Eq. 7
        prior = hp.prior_weight * kl_uniform(log_q, per_item=hp.prior == "sample")  # Eq. 8
        return {"cluster": alpha * l_1, "instance": (1 - alpha) * l_2, "prior": (1 - alpha) * prior}

    def forward(self, view: Any) -> tuple[Tensor, ...]:
        """Return f (B, d), r (K, d) of the batch, e (B, d) and log π (B, K), by the weights at hand, fast or slow."""
        (f,) = self.encoder(view)
        f = F.normalize(f, dim=1) if self.unit else f
        log_q = self.log_q(f)
        c = F.gumbel_softmax(log_q, tau=self.hp.gumbel_temperature) if self.hp.stochastic else log_q.exp()  # Eq. 6
        return f, set_representation(log_q, f), self.e(f, c), log_q

    def e(self, f: Tensor, c: Tensor) -> Tensor:
        """Return e (B, d) of items f (B, d) and their clusters c (B, K), Eq. 7."""
        of_c = self.nn_c(c)
        return F.normalize({"both": f + of_c, "cluster": of_c, "plain": f}[self.hp.instance], dim=1)

    def after_step(self) -> None:
        """Remember what the slow copy saw, then let it follow."""
        self.past_clusters.take_in()
        self.past_items.take_in()
        self.slow.follow(self)

    def log_q(self, h: Tensor) -> Tensor:
        """Return log π (B, K), Eq. 3."""
        mu = self.mu.to(h.dtype)
        cosine = F.normalize(h, dim=1) @ F.normalize(mu, dim=1).T
        return (cosine / self.hp.assign_temperature if self.unit else h @ mu.T).log_softmax(dim=1)

    def inside(self, h: Tensor) -> dict[str, Tensor]:
        """Return z (B, d), what Eq. 7 contrasts: e, where c is π."""
        return {"z": self.e(F.normalize(h, dim=1) if self.unit else h, self.log_q(h).exp())}

    @property
    def centers(self) -> Tensor:
        """Return the prototypes μ."""
        return self.mu

    def assign(self, h: Tensor) -> Tensor:
        """Return π (B, K)."""
        return self.log_q(h.double()).softmax(dim=1)
