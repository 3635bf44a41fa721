r"""ClusterBERT: Multi-Stage Fine-Tuning of Transformers for Deep Text Clustering (ICLR 2023 submission).

A denoising auto-encoder adapts to the texts; then a linear head also learns groups, first those of k-means, then its
own predictions, made harder:

.. math:: L_{full} = \lambda L_{cl} + (1 - \lambda) L_{rec} \tag{4}

Paper: https://openreview.net/forum?id=oja19FZn5Y - Code: none

Symbols: z = h, p = q (what the head says), q = p (its target).
Departure: new labels of k-means are matched to the head's, which the paper leaves open. The head sees h times
``scale``, because h has length one. The decoder is that of our TSDAE.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from coterie.contracts import Batch, Corpus, Network, Objective, Stage, Terms
from coterie.heads.classifier import Classifier
from coterie.heads.matching import renumbered
from coterie.heads.precise import in_double
from coterie.heads.taught import TaughtObjective
from coterie.hyper import hyper
from coterie.losses.assignment import sharpen
from coterie.methods.tsdae import TSDAE


class ClusterBERT(TSDAE, name="clusterbert"):
    """Domain adaptation, clustering and hardening above one denoising auto-encoder."""

    epochs: int = hyper(8, "stretches of `epoch_steps`, or passes over the texts; stage 2 has what is left", ge=0)
    adapt_epochs: int = hyper(1, "stage 1, reconstruction alone", ge=0)
    harden_epochs: int = hyper(2, "stage 3, targets from the head's own predictions", eq="5", ge=0)
    reclusterings: int = hyper(1, "how often stage 2 makes its groups anew", symbol="R", ge=1)
    cluster_weight: float = hyper(0.8, "of the cluster loss in stage 2; 1: no reconstruction", symbol="λ", ge=0, le=1)
    harden_weight: float = hyper(0.75, "the same in stage 3", symbol="λ", eq="4", ge=0, le=1)
    scale: float = hyper(20.0, "what vectors are multiplied by for the head; 1 for vectors of any length", gt=0)
    first_labels: Literal["start", "kmeans"] = hyper("start", "groups of stage 2; kmeans: on what stage 1 has made")
    head_start: Literal["random", "means"] = hyper("random", "weights of the head: any, or the groups' mean directions")
    assign_by: Literal["kmeans", "head"] = hyper("kmeans", "labels by k-means on what was learnt, or by the head")

    def build_objective(self, encoder: Network) -> Objective:
        """Return the ClusterBERT objective."""
        return ClusterBERTObjective(self, encoder)


class ClusterBERTObjective(TaughtObjective):
    """Decoder, linear head (Eq. 2), the targets of all texts, and Eq. 1-5."""

    n_augmented = 1
    scratch = TaughtObjective.scratch | {"decoder", "targets"}

    targets: Tensor  # (N, K) p, what the head is to say

    def __init__(self, hp: ClusterBERT, encoder: Network) -> None:
        super().__init__(encoder, hp.n_clusters, Classifier(encoder.dim, hp.n_clusters, width=None))
        self.hp = hp
        self.decoder = encoder.decoder(hp.decoder_layers, tied=hp.tied, words=hp.words)
        self.register_buffer("targets", torch.zeros(0, hp.n_clusters))

    def start(self, corpus: Corpus, seed: int | None) -> None:
        """Take the first grouping, and let the decoder count words."""
        super().start(corpus, seed)
        self._aim(self.groups)
        self.decoder.begin(corpus.items)

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return the three stages; the second, once for every clustering, has what the others leave."""
        hp = self.hp
        first = min(hp.adapt_epochs, epochs)
        last = min(hp.harden_epochs, max(epochs - first - 1, 0))  # what has not been taught is not hardened
        rounds = [part.numel() for part in torch.arange(epochs - first - last).tensor_split(hp.reclusterings)]
        return [
            Stage("adapt", first, self.adapt),
            *(
                Stage("cluster", n, self.cluster, before=self.recluster if r else self.group)
                for r, n in enumerate(rounds)
            ),
            Stage("harden", last, self.harden, before_epoch=self.sharpen),
        ]

    def adapt(self, batch: Batch) -> Terms:
        """Return L_rec, Eq. 1."""
        (h,) = self.encoder(*batch.augmented)
        return {"reconstruction": self.decoder(h, batch.original)}

    def cluster(self, batch: Batch) -> Terms:
        """Return the terms of Eq. 4 in stage 2."""
        return self._full(batch, self.hp.cluster_weight)

    def harden(self, batch: Batch) -> Terms:
        """Return the terms of Eq. 4 in stage 3."""
        return self._full(batch, self.hp.harden_weight)

    def _full(self, batch: Batch, weight: float) -> Terms:
        (h,) = self.encoder(*batch.augmented)  # one pass over the perturbed texts for both losses
        logits = self.classifier(self.hp.scale * h)  # (B, K)
        terms = {"cluster": weight * F.cross_entropy(logits, self.targets[batch.rows])}  # Eq. 2-3
        if weight < 1:
            terms["reconstruction"] = (1 - weight) * self.decoder(h, batch.original)
        return terms

    def group(self, corpus: Corpus) -> None:
        """Make the groups that the head learns first."""
        if self.hp.first_labels == "kmeans":
            self.regroup(corpus)
        if self.hp.head_start == "means":
            head, mu = self.classifier.layers[-1], replace(corpus, labels=self.groups.cpu()).means(self.n_clusters)
            head.load_state_dict({"weight": F.normalize(mu, dim=1), "bias": torch.zeros(self.n_clusters)})
        self._teach(self.groups)

    def recluster(self, corpus: Corpus) -> None:
        """Make groups anew, under the numbers that the head has learnt."""
        said = self._said(corpus).argmax(dim=1)
        self.regroup(corpus)
        self.groups.copy_(renumbered(self.groups.cpu(), said, corpus.counts, self.n_clusters))
        self._teach(self.groups)

    def sharpen(self, corpus: Corpus) -> None:
        """Aim at what the head says of the clean texts, all of them, made harder: Eq. 5."""
        self.targets.copy_(sharpen(self._said(corpus)))

    def _teach(self, groups: Tensor) -> None:
        self._aim(groups)
        self.taught.fill_(self.hp.assign_by == "head")  # else the nearest center files texts to the end

    def _aim(self, groups: Tensor) -> None:
        self.targets = F.one_hot(groups, self.n_clusters).float()

    def _said(self, corpus: Corpus) -> Tensor:
        return self.in_parts(self.logits, corpus.h, 8192).log_softmax(dim=1)  # (N, K)

    @torch.no_grad()
    def logits(self, h: Tensor) -> Tensor:
        """Return what the head says (B, K) of clean texts."""
        return in_double(self.classifier, self.hp.scale * h)  # type: ignore[no-any-return]
