r"""AECL: Attention-Enhanced Contrastive Learning for short text clustering (Yao and Li, 2025).

Texts attend to the texts of their batch; the attention weighs the positives of a contrastive loss, and what the texts
of a cluster share is classified:

.. math:: L = L_C + \lambda_1 L_I + \lambda_2 L_P - \lambda_3 L_{E1} - \lambda_4 L_{E2} \tag{15}

Paper: https://arxiv.org/abs/2501.03584 - Code: https://github.com/YZH0905/AECL-STC

Departure: the entropy terms have the signs of the official code, because the signs in the paper contradict its text.
Departure: a text attends to stored training texts when it is assigned, not to the other texts of the request.
Departure: the nearest center assigns until the head predicts every cluster; ``assign_by="head"`` is the paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from coterie.contracts import Batch, Corpus, Network, Objective, Stage, Terms
from coterie.deep import DeepClusterer
from coterie.float64 import in_float64
from coterie.heads.attention import SampleAttention
from coterie.heads.classifier import Classifier
from coterie.heads.projection import WIDTH, projection
from coterie.hyper import hyper
from coterie.losses.contrastive import cluster_contrast
from coterie.losses.entropy import balance_weight_for, row_entropy, size_imbalance
from coterie.losses.similarity import Form, View, confidence_mask, confidence_weights, similarity_contrast
from coterie.objectives.pseudo_label import PseudoLabelObjective
from coterie.training.batches import n_batches


class AECL(DeepClusterer, name="aecl"):
    """Sample-level attention, similarity-guided contrast and pseudo-labels, in three stages."""

    epochs: int = hyper(8, "multiples of `epoch_steps`, or passes over the texts", ge=0)
    epoch_steps: int | None = hyper(25, "steps of an epoch; none: one pass over the texts", ge=1)
    max_steps: int | None = hyper(None, "stop after this many steps even if epochs are left; none: no limit", ge=0)
    head_lr: float = hyper(3e-3, "learning rate of everything but the encoder", ge=0)
    instance_weight: float = hyper(10.0, "weight of the instance loss", symbol="λ1", eq="15", ge=0)
    pseudo_label_weight: float = hyper(5.0, "weight of the pseudo-label loss; 0: No PG", symbol="λ2", eq="15", ge=0)
    entropy_weight: float = hyper(0.01, "weight of the entropy of each row; 0: No RC", symbol="λ3", eq="15", ge=0)
    balance_weight: float | None = hyper(
        None, "weight of equal cluster sizes; none: from the initial cluster sizes", symbol="λ4", eq="15", ge=0
    )
    contrast_epochs: int | None = hyper(
        None, "epochs of stage 1, L_I only; 0: No Stage 1; none: 25 steps", symbol="E1", ge=0
    )
    pseudo_label_epochs: int | None = hyper(
        None, "epochs of stage 2, L_I and L_P; 0: No Stage 2; none: 50 steps, 125 from 50 clusters", symbol="E2", ge=0
    )
    temperature: float | None = hyper(None, "of L_I; none: that of the implementation", symbol="τ_I", eq="6", ge=0.05)
    cluster_temperature: float | None = hyper(
        None, "of L_C; none: that of the implementation", symbol="τ_C", eq="10", gt=0
    )
    threshold: float = hyper(0.95, "minimum confidence of a pseudo-label in stage 3", eq="4", ge=0, le=1)
    positives: Literal["attention", "confidence", "none"] = hyper(
        "attention", "weights of the positives: attention, or confidence as in CCSSL; none: No IC", eq="7"
    )
    positives_by: Literal["pseudo_labels", "head"] = hyper(
        "pseudo_labels", "clusters that define positives before stage 3; head: as in the paper, untrained", symbol="Λ"
    )
    pseudo_labels: Literal["init", "kmeans"] = hyper(
        "init", "pseudo-labels of stage 2: initial labels, or k-means before every epoch of stage 1"
    )
    assign_by: Literal["auto", "head", "mixture"] = hyper(
        "auto", "labels by the head, once it predicts nearly every cluster; head: always; mixture: as in `neighbors`"
    )
    attend_to: Literal["reference", "batch"] = hyper(
        "reference", "texts that an assigned text attends to: stored training texts; batch: as in the paper"
    )
    reference_size: int = hyper(400, "number of these texts", symbol="R", ge=1)
    implementation: Literal["paper", "official"] = hyper("paper", "losses as in the paper, or as in the official code")

    def build_objective(self, network: Network) -> Objective:
        """Return the AECL objective."""
        return AECLObjective(self, network)


class AECLObjective(PseudoLabelObjective):
    """Projection G_z, attention G_h, classifier G_p and Eq. 1-15."""

    n_augmented = 1

    def __init__(self, hp: AECL, network: Network) -> None:
        classifier = Classifier(WIDTH, hp.n_clusters, width=max(network.dim, 256))
        super().__init__(network, hp.n_clusters, classifier)
        self.hp = hp
        self.g_z = projection(network.dim)
        self.g_h = SampleAttention(WIDTH)
        self.official = hp.implementation == "official"
        self.recluster_labels = hp.pseudo_labels == "kmeans"
        self.head_only = hp.assign_by == "head"
        self.assign_batch_size = hp.reference_size if hp.attend_to == "batch" else None
        tau_i, tau_c = (0.5, 1.0) if self.official else (1.0, 0.5)  # the official code exchanges them
        self.tau_i = hp.temperature or tau_i
        self.tau_c = hp.cluster_temperature or tau_c

    def initialize(self, corpus: Corpus, seed: int) -> None:
        """Take the initial labels, and derive unset settings from N, K and the initial cluster sizes."""
        super().initialize(corpus, seed)
        hp = self.hp
        steps_per_epoch = hp.epoch_steps or n_batches(len(corpus.h), hp.batch_size)
        pseudo_label_steps = 50 if hp.n_clusters < 50 else 125  # a head of many clusters takes longer to train
        rule_1 = math.ceil(25 / steps_per_epoch)
        rule_2 = math.ceil(pseudo_label_steps / steps_per_epoch)
        rule_4 = balance_weight_for(corpus.sizes(hp.n_clusters))
        self.e_1 = rule_1 if hp.contrast_epochs is None else hp.contrast_epochs
        self.e_2 = rule_2 if hp.pseudo_label_epochs is None else hp.pseudo_label_epochs
        self.lambda_4 = rule_4 if hp.balance_weight is None else hp.balance_weight

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return the three stages; the third gets the epochs that the others leave."""
        e_1 = min(self.e_1, epochs)
        e_2 = min(self.e_2, epochs - e_1)
        recluster = self.recluster if self.recluster_labels else None
        return [
            Stage("contrast", e_1, self.contrast, before_epoch=recluster),
            Stage("pseudo-label", e_2, self.pseudo_label, before=self.start_pseudo_labeling),
            Stage("refine", epochs - e_1 - e_2, self.refine, before=self.start_pseudo_labeling),
        ]

    def contrast(self, batch: Batch) -> Terms:
        """Return the terms of stage 1: L_I only."""
        views, log_q_0, _ = self.encode(batch)
        return {"instance": self._instance_loss(views, log_q_0, self._labels(batch, log_q_0))}

    def pseudo_label(self, batch: Batch) -> Terms:
        """Return the terms of stage 2, Eq. 14."""
        views, log_q_0, log_q_1 = self.encode(batch)
        l_i = self._instance_loss(views, log_q_0, self._labels(batch, log_q_0))
        l_p = F.nll_loss(log_q_1, self.pseudo_labels[batch.rows])  # Eq. 12
        return {"instance": l_i, "pseudo_label": self.hp.pseudo_label_weight * l_p}

    def refine(self, batch: Batch) -> Terms:
        """Return the terms of stage 3, Eq. 15."""
        views, log_q_0, log_q_1 = self.encode(batch)
        y = log_q_0.argmax(dim=1)  # (B,)
        mask = confidence_mask(log_q_0, self.hp.threshold)  # (B,), Eq. 4
        imbalance = size_imbalance(log_q_0) + size_imbalance(log_q_1)  # a sum in the official code
        if not self.official:
            imbalance = imbalance / 2  # a mean in Eq. 13
        l_i = self._instance_loss(views, log_q_0, y)
        l_c = cluster_contrast(log_q_0.exp(), log_q_1.exp(), tau=self.tau_c, positive_in_denominator=self.official)
        l_p = (mask * F.nll_loss(log_q_1, y, reduction="none")).mean()  # Eq. 12
        return {
            "instance": l_i,
            "cluster": l_c,
            "pseudo_label": self.hp.pseudo_label_weight * l_p,
            "entropy": -self.hp.entropy_weight * row_entropy(log_q_0),  # Eq. 5
            "balance": self.lambda_4 * imbalance,
        }

    def encode(self, batch: Batch) -> tuple[list[View], Tensor, Tensor]:
        """Return both views, and log q (B, K) of each, Eq. 1-3."""
        z = [self.g_z(h) for h in self.network(batch.original, *batch.augmented)]
        views = [View(z_v, *self.g_h(z_v)) for z_v in z]
        log_q_0, log_q_1 = (self.classifier(view.c).log_softmax(dim=1) for view in views)
        return views, log_q_0, log_q_1

    def _labels(self, batch: Batch, log_q_0: Tensor) -> Tensor:
        """Return the clusters (B,) that define the positives before stage 3."""
        if self.hp.positives_by == "head":
            return log_q_0.argmax(dim=1)
        return self.pseudo_labels[batch.rows]

    def _instance_loss(self, views: list[View], log_q_0: Tensor, y: Tensor) -> Tensor:
        same = (y[:, None] == y).float()  # (B, B), 1 where j in Λ_i
        if self.hp.positives == "confidence":
            weights = confidence_weights(same, log_q_0, self.hp.threshold)
            views = [view._replace(s=weights) for view in views]
        form: Form = "instance_only" if self.hp.positives == "none" else self.hp.implementation
        return self.hp.instance_weight * similarity_contrast(views, same, tau=self.tau_i, form=form)

    def fit_assigner(self, corpus: Corpus, seed: int) -> None:
        """Store a random sample of the corpus to attend to, then fit head and centers."""
        order = torch.randperm(len(corpus.h), generator=torch.Generator().manual_seed(seed))
        sample = corpus.h[order[: self.hp.reference_size]]  # (R, D)
        self.g_h.store_reference(in_float64(self.g_z, sample.to(self.centers.device)))
        super().fit_assigner(corpus, seed)

    def logits(self, h: Tensor) -> Tensor:
        """Return the logits of G_p (B, K) in float64: texts attend to the reference texts, or to each other."""
        z = in_float64(self.g_z, h)
        c, _ = in_float64(self.g_h, z, against_reference=self.hp.attend_to == "reference")
        return in_float64(self.classifier, c)  # type: ignore[no-any-return]

    def diagnostics(self, h: Tensor) -> dict[str, Tensor]:
        """Return z (B, d) and the attention S (B, B), Eq. 2."""
        z = in_float64(self.g_z, h)
        _, s = in_float64(self.g_h, z)
        return {"z": z, "s": s}
