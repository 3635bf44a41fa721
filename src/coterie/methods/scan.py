r"""SCAN: Learning to Classify Images without Labels, its clustering loss (Van Gansbeke et al., ECCV 2020).

An item and one of its nearest neighbors should have the same cluster, and all clusters should have the same size:

.. math:: L = -\frac{1}{B} \sum_i \log \langle q_i, q_{n(i)} \rangle + \lambda \sum_k \bar q_k \log \bar q_k \tag{2}

Paper: https://arxiv.org/abs/2005.12320 - Code: https://github.com/wvangansbeke/Unsupervised-Classification

Departure: neighbors are mutual, and found by the pretrained encoder; there is no pretext task of its own.
Departure: the head starts from the initial clusters; ``head_init="random"`` starts as the paper.
Departure: self-labeling, the third step of the paper, is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from coterie.contracts import Batch, Network, Objective, Stage, Terms
from coterie.deep import DeepClusterer
from coterie.hyper import hyper
from coterie.losses.assignment import neighbor_consistency
from coterie.losses.entropy import size_imbalance
from coterie.objectives.cluster_head import ClusterHeadObjective, HeadInit


class SCAN(DeepClusterer, name="scan"):
    """Neighbors share a cluster, and clusters are of equal size."""

    assign_by: Literal["method", "mixture"] = hyper(
        "method", "labels by the head, or by a mixture over the trained vectors as in `neighbors`"
    )
    balance_weight: float = hyper(5.0, "weight of equal cluster sizes", symbol="λ", eq="2", ge=0)
    scale: float = hyper(20.0, "factor of the head's input; 1 for vectors that are not unit length", gt=0)
    head_init: HeadInit = hyper("centers", "initial cluster head: from the means of the initial clusters, or random")

    def build_objective(self, network: Network) -> Objective:
        """Return the SCAN objective."""
        return SCANObjective(self, network)


class SCANObjective(ClusterHeadObjective):
    """The head, and Eq. 2."""

    n_augmented = 1

    def __init__(self, hp: SCAN, network: Network) -> None:
        super().__init__(network, hp.n_clusters, scale=hp.scale, head_init=hp.head_init)
        self.hp = hp

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return one stage."""
        return [Stage("cluster", epochs, self.cluster, before=self.start_pseudo_labeling)]

    def cluster(self, batch: Batch) -> Terms:
        """Return the terms of Eq. 2; the view is of a neighbor."""
        h, h_n = self.network(batch.original, *batch.augmented)
        log_q = self.log_q(h)  # (B, K)
        consistency = neighbor_consistency(log_q, self.log_q(h_n))
        return {"cluster": consistency, "balance": self.hp.balance_weight * size_imbalance(log_q)}
