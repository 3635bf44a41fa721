r"""DEC: Unsupervised Deep Embedding for Clustering Analysis (Xie et al., ICML 2016).

An auto-encoder is trained on the embeddings. Then its decoder is dropped, and code and centers are trained together to
make confident assignments more confident:

.. math:: q_{jk} \propto (1 + \|h_j - \mu_k\|^2 / \alpha)^{-(\alpha+1)/2} \tag{1}

.. math:: L_c = KL(p \| q), \quad p_{jk} \propto q_{jk}^2 / f_k, \quad f_k = \sum_j q_{jk} \tag{2, 3}

Paper: https://arxiv.org/abs/1511.06335 - Code: https://github.com/piiswrong/dec

Departure: the auto-encoder is trained as a whole and without noise, not layer by layer as a denoising one.
Departure: the auto-encoder starts as a linear map to the principal directions of the embeddings.
Departure: labels by k-means that starts from the trained centers, so that no cluster is empty; ``assign_by="q"`` is the
paper.
"""

from __future__ import annotations

from coterie.autoencoder_clusterer import AutoEncoderClusterer
from coterie.contracts import Batch, Network, Objective, Terms
from coterie.encoders.networks.autoencoder import AutoEncoderNetwork
from coterie.objectives.autoencoder import AutoEncoderObjective


class DEC(AutoEncoderClusterer, name="dec"):
    """Self-training on the code of an auto-encoder above fixed embeddings."""

    def build_objective(self, network: Network) -> Objective:
        """Return the DEC objective."""
        assert isinstance(network, AutoEncoderNetwork)
        return DECObjective(network, self.plan())


class DECObjective(AutoEncoderObjective):
    """Eq. 1-3."""

    def cluster(self, batch: Batch) -> Terms:
        """Return the term of Eq. 2."""
        (h,) = self.network(batch.original)
        return {"cluster": self.cluster_loss(h, batch)}
