r"""STCC: Self-Taught Convolutional Neural Networks for Short Text Clustering (Xu et al., Neural Networks 2017), STC2.

The words of a text give it a binary code: Laplacian eigenmaps of TF-IDF, cut at their medians. A convolutional network
on word vectors learns to predict the code, and k-means clusters its last hidden layer:

.. math:: L = -\frac{1}{B} \sum_i \sum_l b_{il} \log \sigma(o_{il}) + (1 - b_{il}) \log (1 - \sigma(o_{il})), \quad
          o_i = W h_i \tag{10}

Paper: https://arxiv.org/abs/1701.00185 - Code: https://github.com/jacoxu/STC2

Departure: word vectors are trained on the texts, by PPMI, and stay fixed; those of the official code are word2vec's, of
more texts of the domain, and are trained further.
Departure: neighbors of the eigenmaps are those by 100 latent dimensions of TF-IDF, with equal weights.
Departure: Adam instead of AdaGrad. k-means starts from the initial clusters; ``kmeans_restarts`` draws starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from coterie.arrays import unit_rows
from coterie.contracts import Batch, Corpus, Network, Objective, Stage, Terms, Vectors
from coterie.deep import DeepClusterer
from coterie.encoders.encoder import EncoderLike
from coterie.hyper import hyper
from coterie.knn.eigenmaps import laplacian_eigenmaps
from coterie.losses.reconstruction import code_cross_entropy
from coterie.objectives.final_kmeans import FinalKMeansObjective
from coterie.words.tfidf_svd import tfidf_svd

_LATENT = 100  # dimensions of TF-IDF by which neighbors are found


class STCC(DeepClusterer, name="stcc"):
    """A network that learns binary codes of the words, and k-means on its embeddings."""

    encoder: EncoderLike = hyper("cnn:ppmi", "encoder of the items: a name, name:value, name(setting=value), or object")
    assign_by: Literal["method", "mixture"] = hyper(
        "method", "labels by k-means, or by a mixture over the trained vectors as in `neighbors`"
    )
    epochs: int = hyper(15, "passes over the texts, or multiples of `epoch_steps`", ge=0)
    max_steps: int | None = hyper(600, "stop after this many steps even if epochs are left; none: no limit", ge=0)
    patience: int | None = hyper(None, "as of all methods; none by default, because the score rises slowly", ge=1)
    encoder_lr: float = hyper(1e-3, "learning rate of the encoder", ge=0)
    n_neighbors: int = hyper(0, "unused: there are no views", symbol="k", ge=0)
    n_bits: int = hyper(30, "bits of the code", symbol="L", ge=1)
    reduction: Literal["eigenmaps", "lsa"] = hyper(
        "eigenmaps", "what becomes the code: Laplacian eigenmaps, or latent dimensions of TF-IDF themselves"
    )
    graph_neighbors: int = hyper(15, "nearest neighbors of each text in the graph of the eigenmaps", ge=1)
    dropout: float = hyper(0.5, "of the embedding before the code is predicted", ge=0, lt=1)
    kmeans_restarts: int = hyper(0, "random starts of the final k-means; 0: it starts from the initial clusters", ge=0)

    def build_objective(self, network: Network) -> Objective:
        """Return the STCC objective."""
        return STCCObjective(self, network)


class STCCObjective(FinalKMeansObjective):
    """The codes b, the output layer W, and Eq. 10."""

    transient = FinalKMeansObjective.transient | {"codes", "output"}

    codes: Tensor  # (N, L) b

    def __init__(self, hp: STCC, network: Network) -> None:
        super().__init__(network, hp.n_clusters, restarts=hp.kmeans_restarts)
        self.hp = hp
        self.output = nn.Sequential(nn.Dropout(hp.dropout), nn.Linear(network.dim, hp.n_bits))
        self.register_buffer("codes", torch.zeros(0, hp.n_bits, dtype=torch.bool))

    def initialize(self, corpus: Corpus, seed: int) -> None:
        """Take the initial labels, and compute the codes."""
        super().initialize(corpus, seed)
        codes = binary_codes(self.reduced(corpus, seed))
        self.codes = self.codes.new_zeros(len(codes), self.hp.n_bits)
        self.codes[:, : codes.shape[1]] = torch.from_numpy(codes)  # few texts have fewer dimensions

    def reduced(self, corpus: Corpus, seed: int) -> Vectors:
        """Return at most n_bits dimensions (N, L) of the words of a corpus."""
        x = _features(corpus, seed)
        if self.hp.reduction == "lsa":
            return x[:, : self.hp.n_bits]
        n = min(self.hp.n_bits, len(x) - 1)
        y = laplacian_eigenmaps(x, n + 1, n_neighbors=self.hp.graph_neighbors, seed=seed)
        return y[:, 1:].astype(np.float32)  # the first is constant

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return one stage."""
        return [Stage("codes", epochs, self.learn_codes)]

    def learn_codes(self, batch: Batch) -> Terms:
        """Return the term of Eq. 10."""
        (h,) = self.network(batch.original)
        return {"code": code_cross_entropy(self.output(h), self.codes[batch.rows])}


def binary_codes(y: Vectors) -> np.ndarray:
    """Return the codes (N, L) of y (N, L): whether a value is above the median of its dimension."""
    return np.asarray(y > np.median(y, axis=0))


def _features(corpus: Corpus, seed: int) -> Vectors:
    """Return rows of unit length: latent dimensions of TF-IDF for texts that share words, else numbers of the items."""
    items = corpus.items
    if not isinstance(items, np.ndarray):
        words = tfidf_svd(list(items), n_components=_LATENT, seed=seed)
        return unit_rows(corpus.h.numpy()) if words is None else words
    return unit_rows(items.reshape(len(items), -1).astype(np.float32))
