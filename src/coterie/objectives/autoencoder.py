"""Base class of objectives that cluster the code of an auto-encoder (DEC, IDEC, Self-Train)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from coterie.clustering.kmeans import kmeans_centers
from coterie.contracts import Batch, Corpus, Stage, Terms
from coterie.encoders.networks.autoencoder import AutoEncoderNetwork
from coterie.losses.assignment import kl, sharpen
from coterie.objectives.student_t import StudentTObjective

Target = Literal["corpus", "batch"]


@dataclass(frozen=True)
class AutoEncoderPlan:
    """How an auto-encoder is trained and its code clustered."""

    n_clusters: int
    pretrain_epochs: int  # at most half of all epochs
    target: Target  # the items whose cluster sizes f the target uses
    n_init: int  # restarts of k-means on the code
    from_labels: bool  # whether k-means starts from the initial labels instead
    degrees_of_freedom: float
    assign_by: Literal["kmeans", "q"]


class AutoEncoderObjective(StudentTObjective):
    """Pretrains an auto-encoder, places the centers by k-means on its code, then trains code and centers together."""

    transient = frozenset({"decoder", "p"})
    network: AutoEncoderNetwork

    p: Tensor  # (N, K) target of all items during an epoch

    def __init__(self, network: AutoEncoderNetwork, plan: AutoEncoderPlan) -> None:
        super().__init__(
            network,
            plan.n_clusters,
            degrees_of_freedom=plan.degrees_of_freedom,
            scale=1.0,
            assign_by=plan.assign_by,
        )
        self.plan = plan
        self.decoder = network.decoder()
        self.register_buffer("p", torch.zeros(0, plan.n_clusters))

    def initialize(self, corpus: Corpus, seed: int) -> None:
        """Start the code at principal directions, and the centers at the means of the initial clusters."""
        x = torch.as_tensor(corpus.prepared)
        self.network.initialize(x)
        super().initialize(replace(corpus, h=self.network.encode(x)), seed)
        self.p = self.mu.new_zeros(len(x), self.n_clusters)

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return the two stages."""
        n_pretrain = min(self.plan.pretrain_epochs, epochs // 2)
        update = self.update_target if self.plan.target == "corpus" else None
        return [
            Stage("pretrain", n_pretrain, self.pretrain),
            Stage("cluster", epochs - n_pretrain, self.cluster, before=self.place_centers, before_epoch=update),
        ]

    def place_centers(self, corpus: Corpus, seed: int) -> None:
        """Place the centers by k-means on the code."""
        init = corpus.means(self.n_clusters) if self.plan.from_labels else None
        mu = kmeans_centers(corpus.h, corpus.counts, self.n_clusters, n_init=self.plan.n_init, seed=seed, init=init)
        self.mu.data.copy_(mu)

    def update_target(self, corpus: Corpus, seed: int) -> None:
        """Compute the target p (N, K) of all items, which stays fixed for an epoch."""
        self.p.copy_(sharpen(self.log_q(corpus.h)))

    def pretrain(self, batch: Batch) -> Terms:
        """Return L_r, the squared error of the reconstruction."""
        (h,) = self.network(batch.original)
        return {"reconstruction": self.decoder(h, batch.original)}

    @abstractmethod
    def cluster(self, batch: Batch) -> Terms:
        """Return the terms of the second stage."""

    def cluster_loss(self, h: Tensor, batch: Batch) -> Tensor:
        """Return L_c = KL(p || q) of the codes h (B, d)."""
        log_q = self.log_q(h)  # (B, K)
        p = self.p[batch.rows] if self.plan.target == "corpus" else sharpen(log_q)
        return kl(p, log_q)
