r"""TSDAE: Transformer-based Sequential Denoising Auto-Encoder (Wang, Reimers and Gurevych, EMNLP Findings 2021).

The encoder reads a text with words deleted, and a decoder reconstructs the whole text from that embedding only:

.. math:: L_{rec} = \frac{1}{m} \sum_i CE(x_i, dec(enc(\tilde x_i)))

Paper: https://arxiv.org/abs/2104.06979 - Code: https://github.com/UKPLab/sentence-transformers

Departure: the decoder has as many layers as the encoder trains, and shares their weights.
Departure: the output vocabulary of the decoder is the tokens of the corpus.
Departure: vectors without tokens (tf-idf, precomputed) are reconstructed as vectors, by a linear layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from coterie.augmenters.augmenter import Augmenter
from coterie.contracts import Batch, Corpus, Network, Objective, OutputVocabulary, Stage, Terms
from coterie.deep import DeepClusterer
from coterie.hyper import hyper
from coterie.objectives.final_kmeans import FinalKMeansObjective


class TSDAE(DeepClusterer, name="tsdae"):
    """Adapts the encoder to the texts by denoising, then clusters by k-means."""

    assign_by: Literal["method", "mixture"] = hyper(
        "method", "labels by k-means, or by a mixture over the trained vectors as in `neighbors`"
    )
    epochs: int = hyper(4, "multiples of `epoch_steps`, or passes over the texts", ge=0)
    epoch_steps: int | None = hyper(25, "steps of an epoch; none: one pass over the texts", ge=1)
    max_steps: int | None = hyper(None, "stop after this many steps even if epochs are left; none: no limit", ge=0)
    augmenter: str | Augmenter = hyper("delete", "the noise: word deletion, delete:0.6, or another augmenter")
    resample_views: bool = hyper(True, "draw new noise in every epoch")
    n_neighbors: int = hyper(
        0, "noise is applied to one of the k nearest neighbors; 0: to the text itself", symbol="k", ge=0
    )
    decoder_layers: int | None = hyper(None, "layers of the decoder; none: as many as the encoder trains", ge=1)
    tie_decoder: bool = hyper(True, "share the weights of the encoder's layers; otherwise train copies of them")
    vocabulary: OutputVocabulary = hyper(
        "corpus", "output vocabulary of the decoder: tokens of the texts, or all of the encoder", symbol="V"
    )

    kmeans_restarts: int = hyper(
        0, "random starts of the final k-means, 10 in the paper; 0: it starts from the initial clusters", ge=0
    )

    def build_objective(self, network: Network) -> Objective:
        """Return the TSDAE objective."""
        return TSDAEObjective(self, network)


class TSDAEObjective(FinalKMeansObjective):
    """The decoder, and k-means on the embeddings of the texts without noise."""

    n_augmented = 1
    transient = FinalKMeansObjective.transient | {"decoder"}

    def __init__(self, hp: TSDAE, network: Network) -> None:
        super().__init__(network, hp.n_clusters, restarts=hp.kmeans_restarts)
        self.decoder = network.decoder(hp.decoder_layers, tied=hp.tie_decoder, vocabulary=hp.vocabulary)

    def initialize(self, corpus: Corpus, seed: int) -> None:
        """Take the initial labels, and collect the output vocabulary of the decoder."""
        super().initialize(corpus, seed)
        self.decoder.initialize(corpus.items)

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return one stage."""
        return [Stage("adapt", epochs, self.adapt)]

    def adapt(self, batch: Batch) -> Terms:
        """Return L_rec."""
        (h,) = self.network(*batch.augmented)
        return {"reconstruction": self.decoder(h, batch.original)}
