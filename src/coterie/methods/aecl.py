r"""AECL: attention-enhanced contrastive learning for short text clustering (Yao and Li, 2025).

Texts attend to the texts of their batch: how much says which of a group are positives, what they share is grouped.

.. math:: L = L_C + \lambda_1 L_I + \lambda_2 L_P - \lambda_3 L_{E1} - \lambda_4 L_{E2} \tag{15}

Paper: https://arxiv.org/abs/2501.03584 - Code: https://github.com/YZH0905/AECL-STC

Departure: the entropies have the signs of the code; those of the print would undo what the text wants of them. Texts
are filed beside stored training texts, not beside what they come with; until the head chooses all groups, by centers.
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
from coterie.heads.attention import SampleAttention
from coterie.heads.classifier import Classifier
from coterie.heads.precise import in_double
from coterie.heads.projection import WIDTH, projection
from coterie.heads.taught import TaughtObjective
from coterie.hyper import hyper
from coterie.losses.balance import imbalance, pull_to_even, row_entropy
from coterie.losses.contrastive import cluster_contrast
from coterie.losses.similarity import Form, View, by_confidence, confident, similarity_contrast
from coterie.training.seeding import n_batches


class AECL(DeepClusterer, name="aecl"):
    """Sample-level attention, similarity-guided contrast and pseudo-labels, in three stages."""

    epochs: int = hyper(8, "stretches of `epoch_steps`, or passes over the texts", ge=0)
    epoch_steps: int | None = hyper(25, "steps of an epoch; none: as many as see every text once", ge=1)
    max_steps: int | None = hyper(None, "end after so many steps even if epochs are left; none: no limit", ge=0)
    head_lr: float = hyper(3e-3, "learning rate of everything but the encoder", ge=0)
    instance_weight: float = hyper(10.0, "weight of the instance loss", symbol="λ1", eq="15", ge=0)
    pseudo_weight: float = hyper(5.0, "weight of the pseudo-labels; 0: No PG", symbol="λ2", eq="15", ge=0)
    unsure_weight: float = hyper(0.01, "what undecided rows earn; 0: No RC", symbol="λ3", eq="15", ge=0)
    balance_weight: float | None = hyper(None, "what even clusters earn; none: by rule", symbol="λ4", eq="15", ge=0)
    contrast_epochs: int | None = hyper(None, "stage 1, L_I alone; 0: No Stage 1; none: by rule", symbol="E1", ge=0)
    teach_epochs: int | None = hyper(None, "stage 2, G_p learns; 0: No Stage 2; none: by rule", symbol="E2", ge=0)
    temperature: float | None = hyper(None, "of L_I; none: the variant's", symbol="τ_I", eq="6", ge=0.05)
    cluster_temperature: float | None = hyper(None, "of L_C; none: the variant's", symbol="τ_C", eq="10", gt=0)
    threshold: float = hyper(0.95, "how sure the head must be of a pseudo-label", eq="4", ge=0, le=1)
    positives: Literal["attention", "confidence", "none"] = hyper("attention", "Eq. 7; or CCSSL's; none: No IC")
    first_groups: Literal["pseudo", "head"] = hyper("pseudo", "Λ before stage 3; head: as printed, of an untaught head")
    first_labels: Literal["start", "kmeans"] = hyper("start", "pseudo-labels of stage 2; kmeans: anew in stage 1")
    filed_beside: Literal["reference", "batch"] = hyper("reference", "what a filed text attends to; batch: as printed")
    reference_size: int = hyper(400, "how many texts that are", symbol="R", ge=1)
    variant: Literal["paper", "code"] = hyper("paper", "losses as printed, or as in the authors' release")

    def build_objective(self, encoder: Network) -> Objective:
        """Return the AECL objective."""
        return AECLObjective(self, encoder)


class AECLObjective(TaughtObjective):
    """G_z, G_h (heads/attention.py), G_p (the classifier) and Eq. 1-15."""

    n_augmented = 1

    def __init__(self, hp: AECL, encoder: Network) -> None:
        super().__init__(encoder, hp.n_clusters, Classifier(WIDTH, hp.n_clusters, width=max(encoder.dim, 256)))
        self.hp, self.code, self.anew = hp, hp.variant == "code", hp.first_labels == "kmeans"
        self.g_z, self.g_h = projection(encoder.dim), SampleAttention(WIDTH)
        self.together = hp.reference_size if hp.filed_beside == "batch" else None
        self.tau_i = hp.temperature or (0.5 if self.code else 1.0)  # print and release have exchanged them
        self.tau_c = hp.cluster_temperature or (1.0 if self.code else 0.5)

    def start(self, corpus: Corpus, seed: int | None) -> None:
        """Take the first grouping, and by rule what nobody has set: from N, K and how even the groups are."""
        super().start(corpus, seed)
        hp, steps = self.hp, self.hp.epoch_steps or n_batches(len(corpus.h), self.hp.batch_size)
        teach = 50 if hp.n_clusters < 50 else 125  # steps; many clusters take longer to learn
        self.e_1 = math.ceil(25 / steps) if hp.contrast_epochs is None else hp.contrast_epochs
        self.e_2 = math.ceil(teach / steps) if hp.teach_epochs is None else hp.teach_epochs
        self.lambda_4 = pull_to_even(corpus.sizes(hp.n_clusters)) if hp.balance_weight is None else hp.balance_weight

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return the three stages; the third has what the others leave."""
        e_1 = min(self.e_1, epochs)
        e_2 = min(self.e_2, epochs - e_1)
        return [
            Stage("contrast", e_1, self.contrast, before_epoch=self.regroup if self.anew else None),
            Stage("teach", e_2, self.teach, before=self.begin_to_teach),
            Stage("refine", epochs - e_1 - e_2, self.refine, before=self.begin_to_teach),
        ]

    def contrast(self, batch: Batch) -> Terms:
        """Return the terms of stage 1."""
        return self._early(batch)[0]

    def teach(self, batch: Batch) -> Terms:
        """Return the terms of stage 2, Eq. 14."""
        terms, log_q_1 = self._early(batch)
        return terms | {"pseudo": self.hp.pseudo_weight * F.nll_loss(log_q_1, self.groups[batch.rows])}  # Eq. 12

    def _early(self, batch: Batch) -> tuple[Terms, Tensor]:
        views, (log_q_0, log_q_1) = self.look(batch)
        y = self.groups[batch.rows] if self.hp.first_groups == "pseudo" else log_q_0.argmax(dim=1)
        return self._instance(views, log_q_0, y), log_q_1

    def refine(self, batch: Batch) -> Terms:
        """Return the terms of stage 3, Eq. 15."""
        views, (log_q_0, log_q_1) = self.look(batch)
        sure, y = confident(log_q_0, self.hp.threshold), log_q_0.argmax(dim=1)  # Eq. 4
        uneven = imbalance(log_q_0) + imbalance(log_q_1)  # Eq. 13 averages them, the release adds them
        return self._instance(views, log_q_0, y) | {
            "cluster": cluster_contrast(log_q_0.exp(), log_q_1.exp(), tau=self.tau_c, positive_inside=self.code),
            "pseudo": self.hp.pseudo_weight * (sure * F.nll_loss(log_q_1, y, reduction="none")).mean(),  # Eq. 12
            "unsure": -self.hp.unsure_weight * row_entropy(log_q_0),  # Eq. 5
            "balance": self.lambda_4 * (uneven if self.code else uneven / 2),
        }

    def look(self, batch: Batch) -> tuple[list[View], list[Tensor]]:
        """Return both views and log q (B, K) of each, Eq. 1-3."""
        z = [self.g_z(h) for h in self.encoder(batch.original, *batch.augmented)]
        views = [View(z_v, *self.g_h(z_v)) for z_v in z]
        return views, [self.classifier(view.c).log_softmax(dim=1) for view in views]

    def _instance(self, views: list[View], log_q_0: Tensor, y: Tensor) -> Terms:
        same = (y[:, None] == y).float()  # (B, B), j in Λ_i
        if self.hp.positives == "confidence":
            views = [view._replace(s=by_confidence(same, log_q_0, self.hp.threshold)) for view in views]
        form: Form = "alone" if self.hp.positives == "none" else self.hp.variant
        return {"instance": self.hp.instance_weight * similarity_contrast(views, same, tau=self.tau_i, form=form)}

    def finish(self, corpus: Corpus, seed: int | None) -> None:
        """Store texts to attend to, then decide who files texts."""
        order = torch.randperm(len(corpus.h), generator=torch.Generator().manual_seed(0))
        self.g_h.remember(in_double(self.g_z, corpus.h[order[: self.hp.reference_size]].to(self.centers.device)))
        super().finish(corpus, seed)

    def logits(self, h: Tensor) -> Tensor:
        """Return what G_p says (B, K) of texts beside the stored ones, or as printed beside each other."""
        c, _ = in_double(self.g_h, in_double(self.g_z, h), alone=not self.together)
        return in_double(self.classifier, c)  # type: ignore[no-any-return]

    def inside(self, h: Tensor) -> dict[str, Tensor]:
        """Return z (B, d) and S (B, B), Eq. 2."""
        z = in_double(self.g_z, h)
        return {"z": z, "s": in_double(self.g_h, z)[1]}
