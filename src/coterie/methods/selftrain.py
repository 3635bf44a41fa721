r"""Self-Train: A Self-Training Approach for Short Text Clustering (Hadifar et al., RepL4NLP 2019).

DEC on SIF embeddings: an auto-encoder, k-means on its code, then code and centers trained on targets that are computed
from all texts at intervals:

.. math:: L = KL(p \| q), \quad p_{jk} \propto q_{jk}^2 / f_k, \quad f_k = \sum_j q_{jk} \tag{1-3}

Paper: https://aclanthology.org/W19-4322 - Code: https://github.com/hadifar/stc_clustering

Departure: those of DEC (methods/dec.py); the target is updated every epoch, with Adam instead of SGD.
Departure: word vectors are trained on the texts, by PPMI; the paper's are word2vec's, of more texts of the domain.
Departure: embeddings are scaled by one factor, not each dimension to 0..1. All texts are used, not 90 % of them.
"""

from __future__ import annotations

from coterie.autoencoder_clusterer import AutoEncoderClusterer
from coterie.contracts import Network, Objective
from coterie.encoders.encoder import EncoderLike
from coterie.encoders.networks.autoencoder import AutoEncoderNetwork
from coterie.hyper import hyper
from coterie.methods.dec import DECObjective


class SelfTrain(AutoEncoderClusterer, name="selftrain"):
    """DEC on weighted means of word vectors."""

    encoder: EncoderLike = hyper("sif:ppmi", "encoder of the items: a name, name:value, name(setting=value), or object")
    latent_dim: int | None = hyper(20, "width of the code; none: K + 1", symbol="d", ge=1)

    def build_objective(self, network: Network) -> Objective:
        """Return the objective of DEC."""
        assert isinstance(network, AutoEncoderNetwork)
        return DECObjective(network, self.plan())
