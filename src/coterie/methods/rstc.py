r"""RSTC: robust short text clustering by self-adaptive optimal transport (Zheng et al., ACL 2023).

A classifier P on the encoder learns pseudo-labels y, which optimal transport makes out of what it says of all texts:

.. math:: L = \eta L_I + CE(P(h_1), y) + CE(P(h_2), y), \qquad y_i = \arg\max_j \pi_{ij}

Paper: https://aclanthology.org/2023.acl-long.585 - Code: https://github.com/hmllmh/RSTC

Departure: b starts uniform and ends at the minimum; the release's update starts at random and may circle around it.
The classifier is asked without dropout, sees h times ``scale`` because h has length one, and leaves no group empty.
Labels are made and compared before every epoch, not at M growing distances and every 50 steps.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from coterie.contracts import Batch, Corpus, Network, Objective, Stage, Terms
from coterie.deep import DeepClusterer
from coterie.heads.centers import squared_distances
from coterie.heads.classifier import Classifier
from coterie.heads.precise import in_double
from coterie.heads.projection import projection
from coterie.heads.taught import TaughtObjective
from coterie.hyper import hyper
from coterie.losses.contrastive import nt_xent
from coterie.losses.transport import Marginal, adaptive_transport


class RSTC(DeepClusterer, name="rstc"):
    """Instance discrimination, and a classifier that learns labels by optimal transport."""

    epochs: int = hyper(8, "stretches of `epoch_steps`, those before transport included", ge=0)
    epoch_steps: int | None = hyper(25, "steps between two transports; none: as many as see every text once", ge=1)
    max_steps: int | None = hyper(None, "end after so many steps even if epochs are left; none: no limit", ge=0)
    instance_weight: float = hyper(10.0, "weight of the instance loss", symbol="η", ge=0)
    temperature: float = hyper(1.0, "sharpness of the instance loss", symbol="τ", gt=0)
    scale: float = hyper(20.0, "what vectors are multiplied by for the classifier; 1 for vectors of any length", gt=0)
    contrast_epochs: int = hyper(0, "first epochs with the instance loss alone, after which k-means groups anew", ge=0)
    warm_up: int = hyper(3, "next epochs with the first groups as labels; after them transport makes the labels", ge=0)
    epsilon: float = hyper(0.1, "how soft the transport is", symbol="ε", gt=0)
    balance_weight: float = hyper(0.1, "pull of the clusters to equal size, times K", symbol="K·ε₂/λ", gt=0)
    marginal: Marginal = hyper("barrier", "sizes of clusters: learnt (H1), average (H2), multiplicative (H3), or equal")
    tolerance: float = hyper(0.01, "end when fewer of the labels change in an epoch; 0: never", symbol="δ", ge=0, lt=1)

    def build_objective(self, encoder: Network) -> Objective:
        """Return the RSTC objective."""
        return RSTCObjective(self, encoder)


class RSTCObjective(TaughtObjective):
    """Projection head g, classifier P, and the pseudo-labels y that P is taught."""

    n_augmented = 2
    scratch = TaughtObjective.scratch | set("y predicted changed b g.0.weight g.0.bias g.2.weight g.2.bias".split())

    y: Tensor  # (N,)
    predicted: Tensor  # (N,) likeliest groups when P was last asked; -1 before
    changed: Tensor  # () share of them that were others the time before
    b: Tensor  # (K,)

    def __init__(self, hp: RSTC, encoder: Network) -> None:
        super().__init__(encoder, hp.n_clusters, Classifier(encoder.dim, hp.n_clusters, width=max(encoder.dim, 256)))
        self.hp, self.g = hp, projection(encoder.dim)
        for name in ("y", "predicted"):
            self.register_buffer(name, torch.zeros(0, dtype=torch.long))
        self.register_buffer("changed", torch.ones((), dtype=torch.float64))
        self.register_buffer("b", torch.full((hp.n_clusters,), 1 / hp.n_clusters, dtype=torch.float64))

    def start(self, corpus: Corpus, seed: int | None) -> None:
        """Take the first grouping as labels."""
        super().start(corpus, seed)
        self.y, self.predicted = self.groups.clone(), torch.full_like(self.groups, -1)

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return contrast alone, contrast and the first groups, contrast and the labels of transport."""
        alone = min(self.hp.contrast_epochs, epochs)
        warm = min(self.hp.warm_up, epochs - alone)
        return [
            Stage("contrast", alone, self.contrast),
            Stage("warm-up", warm, self.joint, before=self.regroup if alone else None),
            Stage("transport", epochs - alone - warm, self.joint, before_epoch=self.relabel),
        ]

    def contrast(self, batch: Batch) -> Terms:
        """Return the instance term alone."""
        return self._instance(*self.encoder(*batch.augmented))

    def joint(self, batch: Batch) -> Terms:
        """Return the terms of the loss above."""
        h_1, h_2 = self.encoder(*batch.augmented)
        y = self.y[batch.rows]  # (B,)
        p_1, p_2 = self.classifier(self.hp.scale * h_1), self.classifier(self.hp.scale * h_2)  # (B, K) logits
        return self._instance(h_1, h_2) | {"pseudo_label": F.cross_entropy(p_1, y) + F.cross_entropy(p_2, y)}

    def _instance(self, h_1: Tensor, h_2: Tensor) -> Terms:
        loss = 2 * nt_xent(self.g(h_1), self.g(h_2), tau=self.hp.temperature)  # L_I is a sum of both directions
        return {"instance": self.hp.instance_weight * loss}

    def regroup(self, corpus: Corpus) -> None:
        """Group anew what the instance loss alone has moved, by k-means from the first groups."""
        self.groups.copy_(squared_distances(corpus.h, self.from_groups(corpus)).argmin(dim=1))
        self.y.copy_(self.groups)

    def relabel(self, corpus: Corpus) -> None:
        """Make the labels of the coming epoch, and see how many texts P files otherwise than an epoch ago."""
        self.begin_to_teach(corpus)
        log_p, hp = self.in_parts(self.logits, corpus.h, 8192).log_softmax(dim=1), self.hp  # (N, K)
        weight, predicted = hp.balance_weight / hp.n_clusters, log_p.argmax(dim=1).to(self.y.device)
        plan = adaptive_transport(
            log_p.float(), epsilon=hp.epsilon, weight=weight, b=self.b.cpu(), marginal=hp.marginal
        )
        self.changed.copy_((predicted != self.predicted).double().mean())
        self.predicted.copy_(predicted)
        self.y.copy_(plan.labels)
        self.b.copy_(plan.b)

    @property
    def settled(self) -> bool:
        """Whether P hardly changes its mind any more."""
        return bool(self.changed < self.hp.tolerance)

    @torch.no_grad()
    def logits(self, h: Tensor) -> Tensor:
        """Return what P says (B, K) of clean texts."""
        return in_double(self.classifier, self.hp.scale * h)  # type: ignore[no-any-return]

    def inside(self, h: Tensor) -> dict[str, Tensor]:
        """Return z (B, d), what the instance loss contrasts."""
        return {"z": self.g(h)}
