r"""TSDAE: Transformer-based Sequential Denoising Auto-Encoder (Wang, Reimers and Gurevych, EMNLP Findings 2021).

The encoder reads what word deletion leaves of a text, and a decoder must tell the whole text from that vector alone:

.. math:: L_{rec} = \frac{1}{m} \sum_i CE(x_i, dec(enc(\tilde x_i)))

Paper: https://arxiv.org/abs/2104.06979 - Code: https://github.com/UKPLab/sentence-transformers

Departure: the decoder has as many layers as learn, tied to the encoder's, and tells only tokens of the texts apart.
Vectors without tokens (tf-idf, the caller's own) are reconstructed as vectors, by a linear layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from coterie.augmenters.augmenter import Augmenter
from coterie.contracts import Batch, Corpus, Network, Objective, Stage, Terms, Words
from coterie.deep import DeepClusterer
from coterie.heads.centers import NearestCenter, kmeans_centers
from coterie.hyper import hyper


class TSDAE(DeepClusterer, name="tsdae"):
    """Adapts the encoder to the texts by denoising, then k-means."""

    epochs: int = hyper(4, "stretches of `epoch_steps`, or passes over the texts", ge=0)
    epoch_steps: int | None = hyper(25, "steps of an epoch; none: as many as see every text once", ge=1)
    max_steps: int | None = hyper(None, "end after so many steps even if epochs are left; none: no limit", ge=0)
    augmenter: str | Augmenter = hyper("delete", "the noise: word deletion, delete:0.6, or another augmenter")
    fresh_views: bool = hyper(True, "other noise in every epoch")
    n_neighbours: int = hyper(0, "noise is of one of so many nearest texts; 0: of the text itself", symbol="k", ge=0)
    decoder_layers: int | None = hyper(None, "layers of the decoder; none: as many as learn", ge=1)
    tied: bool = hyper(True, "whether the decoder's layers are the encoder's, or copies that learn for themselves")
    words: Words = hyper("corpus", "tokens that are told apart: those of the texts, or all there are", symbol="V")

    def build_objective(self, encoder: Network) -> Objective:
        """Return the TSDAE objective."""
        return TSDAEObjective(self, encoder)


class TSDAEObjective(Objective):
    """The decoder, and k-means on what the encoder makes of whole texts."""

    n_augmented = 1
    scratch = frozenset({"decoder", "groups"})

    groups: Tensor  # (N,) the first grouping

    def __init__(self, hp: TSDAE, encoder: Network) -> None:
        super().__init__(encoder)
        self.hp = hp
        self.decoder = encoder.decoder(hp.decoder_layers, tied=hp.tied, words=hp.words)
        self.nearest = NearestCenter(hp.n_clusters, encoder.dim)
        self.register_buffer("groups", torch.zeros(0, dtype=torch.long))

    def start(self, corpus: Corpus, seed: int | None) -> None:
        """Take the first grouping, and let the decoder count words."""
        self.groups = torch.as_tensor(corpus.labels, device=self.nearest.mu.device).clone()
        self.decoder.begin(corpus.items)

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return one stage."""
        return [Stage("adapt", epochs, self.adapt)]

    def adapt(self, batch: Batch) -> Terms:
        """Return L_rec."""
        (h,) = self.encoder(*batch.augmented)
        return {"reconstruction": self.decoder(h, batch.original)}

    def finish(self, corpus: Corpus, seed: int | None) -> None:
        """Place the centers by k-means from the means of the first groups."""
        start = replace(corpus, labels=self.groups.cpu()).means(self.hp.n_clusters)
        mu = kmeans_centers(corpus.h, corpus.counts, self.hp.n_clusters, seed=0, start=start)
        self.nearest.place(mu, corpus.h)

    @property
    def centers(self) -> Tensor:
        """Return the centers that assign texts."""
        return self.nearest.mu

    def assign(self, h: Tensor) -> Tensor:
        """Return q (B, K)."""
        q: Tensor = self.nearest(h)
        return q
