r"""SCCL: Supporting Clustering with Contrastive Learning (Zhang et al., NAACL 2021).

An instance loss spreads texts apart while a clustering loss pulls them to K centers:

.. math:: L = L_C + \eta L_I \tag{7}

Paper: https://aclanthology.org/2021.naacl-main.427 - Code: https://github.com/amazon-science/sccl

Departure: distances are multiplied by ``scale``, because the kernel of Eq. 3 is nearly flat on vectors of length one.
The final k-means starts from the learnt centers instead of at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from coterie.contracts import Batch, Corpus, Network, Objective, Stage, Terms
from coterie.deep import DeepClusterer
from coterie.heads.centers import NearestCenter, kmeans_centers
from coterie.heads.projection import projection
from coterie.hyper import hyper
from coterie.losses.assignment import kl, sharpen, student_t
from coterie.losses.contrastive import nt_xent


class SCCL(DeepClusterer, name="sccl"):
    """Joint instance discrimination and Student-t clustering."""

    instance_weight: float = hyper(10.0, "weight of the instance loss", symbol="η", eq="7", ge=0)
    temperature: float = hyper(0.5, "sharpness of the instance loss", symbol="τ", eq="1", gt=0)
    degrees_of_freedom: float = hyper(1.0, "of the Student-t kernel", symbol="α", eq="3", gt=0)
    scale: float = hyper(6.0, "what distances are multiplied by in the kernel; 1 for vectors of any length", gt=0)
    plan: Literal["joint", "instance", "cluster", "sequential"] = hyper(
        "joint", "both losses (SCCL), one alone, or one after the other (SCCL-Seq)"
    )
    cluster_loss: Literal["original", "crossed", "shared"] = hyper(
        "original", "on the original texts (Eq. 6), on views with each other's (Eq. 8) or the original's target (Eq. 9)"
    )
    variant: Literal["paper", "code"] = hyper(
        "paper", "code: half the cluster loss, on the first view, where views are the texts themselves (n_neighbours 0)"
    )
    assign_by: Literal["kmeans", "q"] = hyper("kmeans", "labels by k-means on what was learnt, or by the largest q")

    def build_objective(self, encoder: Network) -> Objective:
        """Return the SCCL objective."""
        return SCCLObjective(self, encoder)


class SCCLObjective(Objective):
    """Projection head g, centers μ and Eq. 1-9."""

    n_augmented = 2

    def __init__(self, hp: SCCL, encoder: Network) -> None:
        super().__init__(encoder)
        self.hp = hp
        self.g = projection(encoder.dim)
        self.mu = nn.Parameter(torch.zeros(hp.n_clusters, encoder.dim))
        self.nearest = NearestCenter(hp.n_clusters, encoder.dim)

    def start(self, corpus: Corpus, seed: int | None) -> None:
        """Place the centers."""
        self.mu.data.copy_(corpus.means(self.hp.n_clusters))

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return one stage, or for SCCL-Seq two of half the length, with centers placed anew between them."""
        if self.hp.plan == "sequential":
            first = Stage("instance", epochs - epochs // 2, self.instance)
            return [first, Stage("cluster", epochs // 2, self.cluster, before=self.place)]
        losses = {"joint": self.joint, "instance": self.instance, "cluster": self.cluster}
        return [Stage(self.hp.plan, epochs, losses[self.hp.plan])]

    def joint(self, batch: Batch) -> Terms:
        """Return the terms of Eq. 7."""
        if self.hp.variant == "code" and batch.augmented[0] is batch.original:  # the release's "virtual" views
            h_1, h_2 = self.encoder(*batch.augmented)
            return self._instance(h_1, h_2) | {"cluster": 0.5 * self._cluster(h_1, h_1, h_2)}
        h, h_1, h_2 = self.encoder(batch.original, *batch.augmented)
        return self._instance(h_1, h_2) | {"cluster": self._cluster(h, h_1, h_2)}

    def instance(self, batch: Batch) -> Terms:
        """Return the instance term alone."""
        return self._instance(*self.encoder(*batch.augmented))

    def cluster(self, batch: Batch) -> Terms:
        """Return the cluster term alone."""
        return {"cluster": self._cluster(*self.encoder(batch.original, *batch.augmented))}

    def _instance(self, h_1: Tensor, h_2: Tensor) -> Terms:
        loss = nt_xent(self.g(h_1), self.g(h_2), tau=self.hp.temperature)  # Eq. 1-2
        return {"instance": self.hp.instance_weight * loss}

    def _cluster(self, h: Tensor, h_1: Tensor, h_2: Tensor) -> Tensor:
        q, q_1, q_2 = self.log_q(h), self.log_q(h_1), self.log_q(h_2)
        if self.hp.cluster_loss == "crossed":
            return kl(sharpen(q_1), q_2) + kl(sharpen(q_2), q_1)  # Eq. 8
        if self.hp.cluster_loss == "shared":
            return kl(sharpen(q), q_1) + kl(sharpen(q), q_2)  # Eq. 9
        return kl(sharpen(q), q)  # Eq. 4-6

    def log_q(self, h: Tensor) -> Tensor:
        """Return the logarithm of q (B, K), Eq. 3."""
        scale = self.hp.scale
        return student_t(scale * h, scale * self.mu, alpha=self.hp.degrees_of_freedom)

    def inside(self, h: Tensor) -> dict[str, Tensor]:
        """Return z (B, d), what Eq. 1 contrasts."""
        return {"z": self.g(h)}

    def place(self, corpus: Corpus) -> None:
        """Move the centers to where k-means from them ends."""
        self.mu.data.copy_(self._kmeans(corpus))

    def finish(self, corpus: Corpus, seed: int | None) -> None:
        """Place the centers that assign texts when ``assign_by`` is k-means."""
        self.nearest.place(self._kmeans(corpus), corpus.h)

    def _kmeans(self, corpus: Corpus) -> Tensor:
        return kmeans_centers(corpus.h, corpus.counts, self.hp.n_clusters, seed=0, start=self.mu.detach().cpu())

    @property
    def centers(self) -> Tensor:
        """Return the centers that assign texts."""
        return self.nearest.mu if self.hp.assign_by == "kmeans" else self.mu

    def assign(self, h: Tensor) -> Tensor:
        """Return q (B, K)."""
        q: Tensor = self.nearest(h) if self.hp.assign_by == "kmeans" else self.log_q(h.double()).softmax(dim=1)
        return q
