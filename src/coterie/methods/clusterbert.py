r"""ClusterBERT: Multi-Stage Fine-Tuning of Transformers for Deep Text Clustering (ICLR 2023 submission).

A denoising autoencoder adapts to the texts; then a linear head is also trained, first on labels of k-means, then on its
own sharpened predictions:

.. math:: L_{full} = \lambda L_{cl} + (1 - \lambda) L_{rec} \tag{4}

Paper: https://openreview.net/forum?id=oja19FZn5Y - Code: none

Symbols: z in the paper is h here, p is q (the prediction of the head), q is p (its target).
Departure: new labels of k-means are matched to those of the head, which the paper does not specify.
Departure: the head sees h times ``scale``, because h has unit length.
Departure: the decoder is that of our TSDAE.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from coterie.clustering.matching import match_labels
from coterie.contracts import Batch, Corpus, Network, Objective, Stage, Terms
from coterie.float64 import in_float64
from coterie.heads.classifier import Classifier
from coterie.hyper import hyper
from coterie.losses.assignment import sharpen
from coterie.methods.tsdae import TSDAE
from coterie.objectives.pseudo_label import PseudoLabelObjective


class ClusterBERT(TSDAE, name="clusterbert"):
    """Domain adaptation, clustering and hardening with one denoising autoencoder."""

    epochs: int = hyper(8, "multiples of `epoch_steps`, or passes over the texts, all stages included", ge=0)
    adapt_epochs: int = hyper(1, "epochs of stage 1, reconstruction only", ge=0)
    harden_epochs: int = hyper(2, "epochs of stage 3, targets from the head's own predictions", eq="5", ge=0)
    reclusterings: int = hyper(1, "how often stage 2 computes its labels", symbol="R", ge=1, le=1000)
    cluster_weight: float = hyper(
        0.8, "weight of the cluster loss in stage 2; 1: no reconstruction", symbol="λ", eq="4", ge=0, le=1
    )
    harden_weight: float = hyper(0.75, "weight of the cluster loss in stage 3", symbol="λ", eq="4", ge=0, le=1)
    scale: float = hyper(20.0, "factor of the head's input; 1 for vectors that are not unit length", gt=0)
    pseudo_labels: Literal["init", "kmeans"] = hyper(
        "init", "labels of stage 2: initial labels, or k-means after stage 1"
    )
    head_init: Literal["random", "centers"] = hyper(
        "random", "initial weights of the head: random, or the unit means of the pseudo-labels"
    )
    assign_by: Literal["kmeans", "head", "mixture"] = hyper(  # type: ignore[assignment]
        "kmeans", "labels by k-means on the trained vectors, by the head, or by a mixture as in `neighbors`"
    )

    def build_objective(self, network: Network) -> Objective:
        """Return the ClusterBERT objective."""
        return ClusterBERTObjective(self, network)


class ClusterBERTObjective(PseudoLabelObjective):
    """Decoder, linear head (Eq. 2), the targets of all texts, and Eq. 1-5."""

    n_augmented = 1
    transient = PseudoLabelObjective.transient | {"decoder", "targets"}

    targets: Tensor  # (N, K) p, the targets of the head

    def __init__(self, hp: ClusterBERT, network: Network) -> None:
        super().__init__(network, hp.n_clusters, Classifier(network.dim, hp.n_clusters, width=None))
        self.hp = hp
        self.recluster_labels = hp.pseudo_labels == "kmeans"
        self.use_head = hp.assign_by == "head"
        self.kmeans_restarts = hp.kmeans_restarts
        self.decoder = network.decoder(hp.decoder_layers, tied=hp.tie_decoder, vocabulary=hp.vocabulary)
        self.register_buffer("targets", torch.zeros(0, hp.n_clusters))

    def initialize(self, corpus: Corpus, seed: int) -> None:
        """Take the initial labels, and collect the output vocabulary of the decoder."""
        super().initialize(corpus, seed)
        self._set_targets()
        self.decoder.initialize(corpus.items)

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return the three stages; the second, once for every clustering, gets the epochs that the others leave."""
        n_adapt = min(self.hp.adapt_epochs, epochs)
        n_harden = min(self.hp.harden_epochs, max(epochs - n_adapt - 1, 0))  # never harden an untrained head
        n_cluster = epochs - n_adapt - n_harden
        stages = [Stage("adapt", n_adapt, self.adapt)]
        for number in range(n := self.hp.reclusterings):  # parts of nearly equal length, the longer ones first
            before = self.recluster_and_match if number else self.start_clustering
            stages.append(Stage("cluster", n_cluster // n + (number < n_cluster % n), self.cluster, before=before))
        stages.append(Stage("harden", n_harden, self.harden, before_epoch=self.sharpen_targets))
        return stages

    def adapt(self, batch: Batch) -> Terms:
        """Return L_rec, Eq. 1."""
        (h,) = self.network(*batch.augmented)
        return {"reconstruction": self.decoder(h, batch.original)}

    def cluster(self, batch: Batch) -> Terms:
        """Return the terms of Eq. 4 in stage 2."""
        return self._full_loss(batch, self.hp.cluster_weight)

    def harden(self, batch: Batch) -> Terms:
        """Return the terms of Eq. 4 in stage 3."""
        return self._full_loss(batch, self.hp.harden_weight)

    def _full_loss(self, batch: Batch, weight: float) -> Terms:
        (h,) = self.network(*batch.augmented)  # both losses use the texts with noise
        logits = self.classifier(self.hp.scale * h)  # (B, K), Eq. 2
        terms = {"cluster": weight * F.cross_entropy(logits, self.targets[batch.rows])}  # Eq. 3
        if weight < 1:
            terms["reconstruction"] = (1 - weight) * self.decoder(h, batch.original)
        return terms

    def start_clustering(self, corpus: Corpus, seed: int) -> None:
        """Compute the first labels of stage 2, and initialize the head."""
        self.start_pseudo_labeling(corpus, seed)
        if self.hp.head_init == "centers":
            mu = replace(corpus, labels=self.pseudo_labels.cpu()).means(self.n_clusters)
            weights = {"weight": F.normalize(mu, dim=1), "bias": torch.zeros(self.n_clusters)}
            self.classifier.layers[-1].load_state_dict(weights)
        self._set_targets()

    def recluster_and_match(self, corpus: Corpus, seed: int) -> None:
        """Compute new labels by k-means, numbered as the head predicts them."""
        predictions = self._log_q(corpus).argmax(dim=1)  # (N,)
        self.recluster(corpus, seed)
        matched = match_labels(self.pseudo_labels.cpu(), predictions, corpus.counts, self.n_clusters)
        self.pseudo_labels.copy_(matched)
        self._set_targets()

    def sharpen_targets(self, corpus: Corpus, seed: int) -> None:
        """Set the targets to the sharpened predictions for all texts without noise, Eq. 5."""
        self.targets.copy_(sharpen(self._log_q(corpus)))

    def _set_targets(self) -> None:
        self.targets = F.one_hot(self.pseudo_labels, self.n_clusters).float()

    def _log_q(self, corpus: Corpus) -> Tensor:
        return self.in_chunks(self.logits, corpus.h, 8192).log_softmax(dim=1)  # (N, K)

    @torch.no_grad()
    def logits(self, h: Tensor) -> Tensor:
        """Return the logits of the head (B, K) in float64."""
        return in_float64(self.classifier, self.hp.scale * h)  # type: ignore[no-any-return]
