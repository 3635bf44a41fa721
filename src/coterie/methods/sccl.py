r"""SCCL: Supporting Clustering with Contrastive Learning (Zhang et al., NAACL 2021).

A contrastive loss separates the texts while a clustering loss pulls each text to one of K centers:

.. math:: L = L_C + \eta L_I \tag{7}

Paper: https://aclanthology.org/2021.naacl-main.427 - Code: https://github.com/amazon-science/sccl

Departure: distances are multiplied by ``scale``, because the kernel of Eq. 3 is nearly flat for unit vectors.
Departure: the final k-means starts from the trained centers instead of at random (``kmeans_restarts``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from torch import Tensor

from coterie.contracts import Batch, Corpus, Network, Objective, Stage, Terms
from coterie.deep import DeepClusterer
from coterie.errors import InputError
from coterie.heads.projection import projection
from coterie.hyper import hyper
from coterie.losses.assignment import kl, sharpen
from coterie.losses.contrastive import nt_xent
from coterie.objectives.student_t import StudentTObjective


class SCCL(DeepClusterer, name="sccl"):
    """Joint instance discrimination and Student-t clustering."""

    instance_weight: float = hyper(10.0, "weight of the instance loss", symbol="η", eq="7", ge=0)
    temperature: float = hyper(0.5, "temperature of the instance loss", symbol="τ", eq="1", gt=0)
    degrees_of_freedom: float = hyper(1.0, "of the Student-t kernel", symbol="α", eq="3", gt=0)
    scale: float = hyper(6.0, "factor of the distances in the kernel; 1 for vectors that are not unit length", gt=0)
    plan: Literal["joint", "instance", "cluster", "sequential"] = hyper(
        "joint", "both losses (SCCL), only one of them, or one after the other (SCCL-Seq)"
    )
    cluster_loss: Literal["original", "crossed", "shared"] = hyper(
        "original",
        "on the texts (Eq. 6), or on the views with the target of the other view (Eq. 8) or of the text (Eq. 9)",
    )
    implementation: Literal["paper", "official"] = hyper(
        "paper", "official: if the views are the texts themselves, half the cluster loss, on the first view"
    )
    assign_by: Literal["kmeans", "q", "mixture"] = hyper(
        "kmeans", "labels by k-means on the trained vectors, by the largest q, or by a mixture as in `neighbors`"
    )

    kmeans_restarts: int = hyper(
        0, "random starts of the final k-means, 10 in the paper; 0: it starts from the trained centers", ge=0
    )

    def build_objective(self, network: Network) -> Objective:
        """Return the SCCL objective."""
        return SCCLObjective(self, network)


class SCCLObjective(StudentTObjective):
    """Projection head g, centers μ and Eq. 1-9."""

    n_augmented = 2

    def __init__(self, hp: SCCL, network: Network) -> None:
        super().__init__(
            network,
            hp.n_clusters,
            degrees_of_freedom=hp.degrees_of_freedom,
            scale=hp.scale,
            assign_by="q" if hp.assign_by == "q" else "kmeans",
        )
        self.hp = hp
        self.kmeans_restarts = hp.kmeans_restarts
        self.g = projection(network.dim)
        if hp.plan == "cluster" and hp.cluster_loss == "original":
            self.n_augmented = 0  # Eq. 6 is of the texts themselves

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return one stage, or for SCCL-Seq two of half the length, with k-means between them."""
        if self.hp.plan == "sequential":
            if epochs == 1:
                raise InputError(
                    "plan='sequential' needs two epochs, one for each loss, but epochs and max_steps leave one. "
                    "Raise them, or set epoch_steps to make epochs shorter."
                )
            n_cluster = epochs - epochs // 2  # not fewer, because max_steps may cut the last epoch
            return [
                Stage("instance", epochs - n_cluster, self.instance),
                Stage("cluster", n_cluster, self.cluster, before=self.move_centers),
            ]
        losses = {"joint": self.joint, "instance": self.instance, "cluster": self.cluster}
        return [Stage(self.hp.plan, epochs, losses[self.hp.plan])]

    def move_centers(self, corpus: Corpus, seed: int) -> None:
        """Move the centers to those of k-means that starts from them."""
        self.mu.data.copy_(self.kmeans_from_centers(corpus, seed))

    def joint(self, batch: Batch) -> Terms:
        """Return the terms of Eq. 7."""
        views_are_texts = batch.augmented[0] is batch.original  # "virtual" augmentation in the official code
        if self.hp.implementation == "official" and views_are_texts:
            h_1, h_2 = self.network(*batch.augmented)
            instance = self._instance_loss(h_1, h_2)
            cluster = 0.5 * self._cluster_loss(h_1, h_1, h_2)
        else:
            h, h_1, h_2 = self.network(batch.original, *batch.augmented)
            instance = self._instance_loss(h_1, h_2)
            cluster = self._cluster_loss(h, h_1, h_2)
        return {"instance": instance, "cluster": cluster}

    def instance(self, batch: Batch) -> Terms:
        """Return the instance term only."""
        h_1, h_2 = self.network(*batch.augmented)
        return {"instance": self._instance_loss(h_1, h_2)}

    def cluster(self, batch: Batch) -> Terms:
        """Return the cluster term only. No more is encoded than it needs."""
        if self.hp.cluster_loss == "original":
            (h,) = self.network(batch.original)
            return {"cluster": self._cluster_loss(h, h, h)}
        h, h_1, h_2 = self.network(batch.original, *batch.augmented)
        return {"cluster": self._cluster_loss(h, h_1, h_2)}

    def _instance_loss(self, h_1: Tensor, h_2: Tensor) -> Tensor:
        z_1 = self.g(h_1)
        z_2 = self.g(h_2)
        return self.hp.instance_weight * nt_xent(z_1, z_2, tau=self.hp.temperature)  # Eq. 1-2

    def _cluster_loss(self, h: Tensor, h_1: Tensor, h_2: Tensor) -> Tensor:
        q = self.log_q(h)  # (B, K), Eq. 3
        if self.hp.cluster_loss == "original":
            return kl(sharpen(q), q)  # Eq. 4-6
        q_1 = self.log_q(h_1)
        q_2 = self.log_q(h_2)
        if self.hp.cluster_loss == "crossed":
            return kl(sharpen(q_1), q_2) + kl(sharpen(q_2), q_1)  # Eq. 8
        return kl(sharpen(q), q_1) + kl(sharpen(q), q_2)  # Eq. 9

    def diagnostics(self, h: Tensor) -> dict[str, Tensor]:
        """Return z (B, d), the input of Eq. 1."""
        return {"z": self.g(h)}
