r"""RSTC: Robust Short Text Clustering via self-adaptive optimal transport (Zheng et al., ACL 2023).

A classifier P is trained on pseudo-labels y, which optimal transport computes from its predictions for all texts:

.. math:: L = \eta L_I + CE(P(h_1), y) + CE(P(h_2), y), \qquad y_i = \arg\max_j \pi_{ij}

Paper: https://aclanthology.org/2023.acl-long.585 - Code: https://github.com/hmllmh/RSTC

Departure: b starts uniform and is solved to its minimum; the official update starts at random and may oscillate.
Departure: P sees h times ``scale``, because h has unit length.
Departure: P predicts without dropout when labels are computed, and assigns only if no cluster is empty.
Departure: labels are computed and compared before every epoch, not at M increasing intervals and every 50 steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from coterie.clustering.kmeans import nearest_center
from coterie.contracts import Batch, Corpus, Network, Objective, Stage, Terms
from coterie.deep import DeepClusterer
from coterie.float64 import in_float64
from coterie.heads.classifier import Classifier
from coterie.heads.projection import projection
from coterie.hyper import hyper
from coterie.losses.contrastive import nt_xent
from coterie.losses.transport import Marginal, adaptive_transport
from coterie.objectives.pseudo_label import PseudoLabelObjective


class RSTC(DeepClusterer, name="rstc"):
    """Instance discrimination, and a classifier trained on labels from optimal transport."""

    assign_by: Literal["method", "mixture"] = hyper(
        "method", "labels by the classifier, or by a mixture over the trained vectors as in `neighbors`"
    )
    epochs: int = hyper(8, "multiples of `epoch_steps`, or passes over the texts, all stages included", ge=0)
    epoch_steps: int | None = hyper(25, "steps between two transports; none: one pass over the texts", ge=1)
    max_steps: int | None = hyper(None, "stop after this many steps even if epochs are left; none: no limit", ge=0)
    instance_weight: float = hyper(10.0, "weight of the instance loss", symbol="η", ge=0)
    temperature: float = hyper(1.0, "temperature of the instance loss", symbol="τ", gt=0)
    scale: float = hyper(20.0, "factor of the classifier's input; 1 for vectors that are not unit length", gt=0)
    contrast_epochs: int = hyper(0, "first epochs: instance loss only, then k-means updates the labels", ge=0)
    warmup_epochs: int = hyper(3, "next epochs: initial labels; after them labels come from transport", ge=0)
    epsilon: float = hyper(0.1, "entropic regularization of the transport", symbol="ε", gt=0)
    balance_weight: float = hyper(0.1, "weight of equal cluster sizes, times K", symbol="K·ε₂/λ", gt=0)
    marginal: Marginal = hyper(
        "barrier", "cluster sizes: optimized (H1), average (H2), multiplicative (H3), or fixed and equal"
    )
    tolerance: float = hyper(0.01, "stop if fewer predictions change in an epoch; 0: never", symbol="δ", ge=0, lt=1)

    def build_objective(self, network: Network) -> Objective:
        """Return the RSTC objective."""
        return RSTCObjective(self, network)


class RSTCObjective(PseudoLabelObjective):
    """Projection head g, classifier P, and the labels y that P is trained on.

    y are the pseudo-labels of the base class until transport replaces them.
    """

    n_augmented = 2
    transient = PseudoLabelObjective.transient | {"y", "predictions", "change_rate", "b", "g"}

    y: Tensor  # (N,)
    predictions: Tensor  # (N,) clusters predicted by P at the last transport; -1 before the first
    change_rate: Tensor  # () share of predictions that changed since the transport before
    b: Tensor  # (K,) cluster sizes, as shares of the corpus

    def __init__(self, hp: RSTC, network: Network) -> None:
        classifier = Classifier(network.dim, hp.n_clusters, width=max(network.dim, 256))
        super().__init__(network, hp.n_clusters, classifier)
        self.hp = hp
        self.g = projection(network.dim)
        self.register_buffer("y", torch.zeros(0, dtype=torch.long))
        self.register_buffer("predictions", torch.zeros(0, dtype=torch.long))
        self.register_buffer("change_rate", torch.ones((), dtype=torch.float64))
        self.register_buffer("b", torch.full((hp.n_clusters,), 1 / hp.n_clusters, dtype=torch.float64))

    def initialize(self, corpus: Corpus, seed: int) -> None:
        """Take the initial labels."""
        super().initialize(corpus, seed)
        self.y = self.pseudo_labels.clone()
        self.predictions = torch.full_like(self.pseudo_labels, -1)

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return three stages: instance loss only, initial labels, labels from transport."""
        n_contrast = min(self.hp.contrast_epochs, epochs)
        n_warmup = min(self.hp.warmup_epochs, epochs - n_contrast)
        n_transport = epochs - n_contrast - n_warmup
        recluster = self.recluster_from_labels if n_contrast else None
        return [
            Stage("contrast", n_contrast, self.contrast),
            Stage("warm-up", n_warmup, self.joint, before=recluster),
            Stage("transport", n_transport, self.joint, before_epoch=self.relabel),
        ]

    def contrast(self, batch: Batch) -> Terms:
        """Return the instance term only."""
        h_1, h_2 = self.network(*batch.augmented)
        return {"instance": self._instance_loss(h_1, h_2)}

    def joint(self, batch: Batch) -> Terms:
        """Return the terms of the loss L."""
        h_1, h_2 = self.network(*batch.augmented)
        y = self.y[batch.rows]  # (B,)
        logits_1 = self.classifier(self.hp.scale * h_1)  # (B, K)
        logits_2 = self.classifier(self.hp.scale * h_2)
        instance = self._instance_loss(h_1, h_2)
        return {"instance": instance, "pseudo_label": F.cross_entropy(logits_1, y) + F.cross_entropy(logits_2, y)}

    def _instance_loss(self, h_1: Tensor, h_2: Tensor) -> Tensor:
        z_1 = self.g(h_1)
        z_2 = self.g(h_2)
        l_i = 2 * nt_xent(z_1, z_2, tau=self.hp.temperature)  # the sum of both directions, not their mean
        return self.hp.instance_weight * l_i

    def recluster_from_labels(self, corpus: Corpus, seed: int) -> None:
        """Update the labels by k-means on the current embeddings, starting from the means of the old labels."""
        mu = self.kmeans_from_labels(corpus, seed)
        self.pseudo_labels.copy_(nearest_center(corpus.h, mu))
        self.y.copy_(self.pseudo_labels)

    def relabel(self, corpus: Corpus, seed: int) -> None:
        """Compute the labels of the next epoch by transport, and how many predictions of P have changed."""
        self.start_pseudo_labeling(corpus, seed)
        log_p = self.in_chunks(self.logits, corpus.h, 8192).log_softmax(dim=1)  # (N, K)
        plan = adaptive_transport(
            log_p.float(),
            epsilon=self.hp.epsilon,
            weight=self.hp.balance_weight / self.hp.n_clusters,
            b=self.b.cpu(),
            marginal=self.hp.marginal,
        )
        predictions = log_p.argmax(dim=1).to(self.y.device)  # (N,)
        self.change_rate.copy_((predictions != self.predictions).double().mean())
        self.predictions.copy_(predictions)
        self.y.copy_(plan.labels)
        self.b.copy_(plan.b)

    @property
    def converged(self) -> bool:
        """Whether the predictions of P hardly change."""
        return bool(self.change_rate < self.hp.tolerance)

    @torch.no_grad()
    def logits(self, h: Tensor) -> Tensor:
        """Return the logits of P (B, K) in float64 and without dropout."""
        return in_float64(self.classifier, self.hp.scale * h)  # type: ignore[no-any-return]

    def diagnostics(self, h: Tensor) -> dict[str, Tensor]:
        """Return z (B, d), the input of the instance loss."""
        return {"z": self.g(h)}
