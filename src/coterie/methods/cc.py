r"""CC: Contrastive Clustering (Li et al., AAAI 2021).

Two views of a batch are contrasted twice: by rows, which are items, and by the columns of the soft assignments, which
are clusters. The entropy of the cluster sizes keeps all items from one cluster:

.. math:: L = L_{ins} + L_{clu} - H(q) \tag{9, 10}

Paper: https://arxiv.org/abs/2009.09687 - Code: https://github.com/Yunfan-Li/Contrastive-Clustering

Departure: the cluster head is linear and starts from the initial clusters; ``head_init="random"`` starts as the paper.
Departure: H is added as log K - H(q), which differs by a constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from torch import Tensor

from coterie.contracts import Batch, Network, Objective, Stage, Terms
from coterie.deep import DeepClusterer
from coterie.heads.projection import projection
from coterie.hyper import hyper
from coterie.losses.contrastive import cluster_contrast, nt_xent
from coterie.losses.entropy import size_imbalance
from coterie.objectives.cluster_head import ClusterHeadObjective, HeadInit


class CC(DeepClusterer, name="cc"):
    """Contrast of items and contrast of clusters in one batch."""

    assign_by: Literal["method", "mixture"] = hyper(
        "method", "labels by the head, or by a mixture over the trained vectors as in `neighbors`"
    )
    temperature: float = hyper(0.5, "temperature of the contrast of items", symbol="τ_I", eq="4", gt=0)
    cluster_temperature: float = hyper(1.0, "temperature of the contrast of clusters", symbol="τ_C", eq="8", gt=0)
    balance_weight: float = hyper(1.0, "weight of equal cluster sizes; 1: as in the paper", eq="9", ge=0)
    scale: float = hyper(20.0, "factor of the head's input; 1 for vectors that are not unit length", gt=0)
    head_init: HeadInit = hyper("centers", "initial cluster head: from the means of the initial clusters, or random")

    def build_objective(self, network: Network) -> Objective:
        """Return the CC objective."""
        return CCObjective(self, network)


class CCObjective(ClusterHeadObjective):
    """Instance head g, cluster head, and Eq. 4-10."""

    n_augmented = 2

    def __init__(self, hp: CC, network: Network) -> None:
        super().__init__(network, hp.n_clusters, scale=hp.scale, head_init=hp.head_init)
        self.hp = hp
        self.g = projection(network.dim)

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return one stage."""
        return [Stage("joint", epochs, self.joint, before=self.start_pseudo_labeling)]

    def joint(self, batch: Batch) -> Terms:
        """Return the terms of Eq. 10."""
        h_1, h_2 = self.network(*batch.augmented)
        log_q_1, log_q_2 = self.log_q(h_1), self.log_q(h_2)  # (B, K)
        l_ins = nt_xent(self.g(h_1), self.g(h_2), tau=self.hp.temperature)  # Eq. 4
        l_clu = cluster_contrast(
            log_q_1.exp(), log_q_2.exp(), tau=self.hp.cluster_temperature, positive_in_denominator=True
        )  # Eq. 8
        balance = self.hp.balance_weight * (size_imbalance(log_q_1) + size_imbalance(log_q_2))  # Eq. 9
        return {"instance": l_ins, "cluster": l_clu, "balance": balance}

    def diagnostics(self, h: Tensor) -> dict[str, Tensor]:
        """Return z (B, d), the input of Eq. 4."""
        return {"z": self.g(h)}
