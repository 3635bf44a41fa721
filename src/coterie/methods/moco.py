r"""MoCo + k-means: Momentum Contrast for Unsupervised Visual Representation Learning (He et al., CVPR 2020).

A view of an item is contrasted with another view, encoded by a moving average of the network, against a queue of past
items. Then k-means clusters the embeddings:

.. math:: L = -\frac{1}{B} \sum_i \log \frac{\exp(z_i \hat z_i / \tau)}
                                           {\exp(z_i \hat z_i / \tau) + \sum_l \exp(z_i p_l / \tau)} \tag{1}

Paper: https://arxiv.org/abs/1911.05722 - Code: https://github.com/facebookresearch/moco

Departure: the projection is that of SimCLR, as in the second version of MoCo, and k-means clusters h, not z.
Departure: an item is not its own negative. k-means starts from the initial clusters; ``kmeans_restarts`` draws starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from torch import Tensor

from coterie.contracts import Batch, Corpus, Network, Objective, Stage, Terms
from coterie.deep import DeepClusterer
from coterie.heads.momentum import MomentumEncoder
from coterie.heads.projection import WIDTH, Projected, projection
from coterie.heads.queue import Queue, queue_size_for
from coterie.hyper import hyper
from coterie.losses.contrastive import queue_contrast
from coterie.objectives.final_kmeans import FinalKMeansObjective


class MoCo(DeepClusterer, name="moco"):
    """Contrast with a queue of past items, and k-means on the embeddings."""

    assign_by: Literal["method", "mixture"] = hyper(
        "method", "labels by k-means, or by a mixture over the trained vectors as in `neighbors`"
    )
    temperature: float = hyper(0.07, "temperature of the contrast", symbol="τ", eq="1", gt=0)
    momentum: float = hyper(0.99, "of the momentum encoder; 0.999 for thousands of steps", symbol="m", ge=0, le=1)
    queue_size: int | None = hyper(
        None, "items kept as negatives; none: half of the items, at most 16384", symbol="L", eq="1", ge=1
    )
    kmeans_restarts: int = hyper(0, "random starts of the final k-means; 0: it starts from the initial clusters", ge=0)

    def build_objective(self, network: Network) -> Objective:
        """Return the MoCo objective."""
        return MoCoObjective(self, network)


class MoCoObjective(FinalKMeansObjective):
    """Projection head g, momentum encoder, queue, and Eq. 1."""

    n_augmented = 2
    transient = FinalKMeansObjective.transient | {"g", "momentum_encoder", "past_items"}

    def __init__(self, hp: MoCo, network: Network) -> None:
        super().__init__(network, hp.n_clusters, restarts=hp.kmeans_restarts)
        self.hp = hp
        self.g = projection(network.dim)
        self.momentum_encoder = MomentumEncoder(self.student, hp.momentum)
        self.past_items = Queue(WIDTH)

    @property
    def student(self) -> Projected:
        """The network with its projection; not a submodule, because both parts are."""
        return Projected(self.network, self.g)

    def initialize(self, corpus: Corpus, seed: int) -> None:
        """Take the initial labels, and reset momentum encoder and queue."""
        super().initialize(corpus, seed)
        self.momentum_encoder.reset(self.student)
        self.past_items.reset(self.hp.queue_size or queue_size_for(len(corpus.h), self.hp.batch_size))

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return one stage."""
        return [Stage("contrast", epochs, self.contrast)]

    def contrast(self, batch: Batch) -> Terms:
        """Return the term of Eq. 1."""
        z = self.student(batch.augmented[0])
        z_hat = self.momentum_encoder(self.student, batch.augmented[1])
        queue, same = self.past_items.exchange(z_hat, *(batch.shown or (batch.rows, batch.rows)))
        return {"instance": queue_contrast(z, z_hat, queue, same, tau=self.hp.temperature)}

    def after_step(self) -> None:
        """Push the items of this step to the queue, and update the momentum encoder."""
        self.past_items.flush()
        self.momentum_encoder.update(self.student)

    def diagnostics(self, h: Tensor) -> dict[str, Tensor]:
        """Return z (B, d), the input of Eq. 1."""
        return {"z": self.g(h)}
