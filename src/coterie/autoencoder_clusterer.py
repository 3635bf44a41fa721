"""The base class of methods that cluster the code of an auto-encoder above fixed embeddings."""

from __future__ import annotations

from typing import Literal

from coterie.contracts import Network
from coterie.deep import DeepClusterer
from coterie.encoders.encoder import Encoder
from coterie.encoders.networks.autoencoder import AutoEncoderNetwork
from coterie.hyper import hyper
from coterie.objectives.autoencoder import AutoEncoderPlan, Target


class AutoEncoderClusterer(DeepClusterer):
    """Trains an auto-encoder on the encoder's embeddings, which stay fixed, and clusters its code."""

    epochs: int = hyper(30, "passes over the texts, or multiples of `epoch_steps`, of both stages", ge=0)
    pretrain_epochs: int = hyper(15, "first epochs: reconstruction only; at most half of `epochs`", ge=0)
    max_steps: int | None = hyper(600, "stop after this many steps even if epochs are left; none: no limit", ge=0)
    patience: int | None = hyper(None, "as of all methods; none by default, because the score rises slowly", ge=1)
    batch_size: int = hyper(256, "texts of a batch", symbol="B", ge=2)
    encoder_lr: float = hyper(1e-3, "learning rate of the auto-encoder's first half", ge=0)
    n_neighbors: int = hyper(0, "unused: there are no views", symbol="k", ge=0)
    latent_dim: int | None = hyper(None, "width of the code; none: K + 1", symbol="d", ge=1)
    width: int = hyper(500, "of the first two hidden layers; the third is four times as wide", ge=2)
    degrees_of_freedom: float = hyper(1.0, "of the Student-t kernel", symbol="α", gt=0)
    target: Target = hyper("corpus", "target p from the cluster sizes of all texts, or of the batch", symbol="p")
    n_init: int = hyper(10, "restarts of k-means on the code, if `init` is kmeans", ge=1)
    assign_by: Literal["kmeans", "q"] = hyper("kmeans", "labels by k-means on the code, or by the largest q")

    def build_network(self, encoder: Encoder) -> Network:
        """Return an auto-encoder above the encoder with frozen weights."""
        return AutoEncoderNetwork(encoder.frozen_network(), self.latent_dim or self._k + 1, self.width)

    def plan(self) -> AutoEncoderPlan:
        """Return the settings of the objective."""
        return AutoEncoderPlan(
            n_clusters=self._k,
            pretrain_epochs=self.pretrain_epochs,
            target=self.target,
            n_init=self.n_init,
            from_labels=self.init != "kmeans",
            degrees_of_freedom=self.degrees_of_freedom,
            assign_by=self.assign_by,
        )

    @property
    def _k(self) -> int:
        assert isinstance(self.n_clusters, int)  # chosen before the network is built
        return self.n_clusters
