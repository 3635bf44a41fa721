r"""IDEC: Improved Deep Embedded Clustering with Local Structure Preservation (Guo et al., IJCAI 2017).

DEC that keeps its decoder: the code must still reconstruct the embedding while it is clustered.

.. math:: L = L_r + \gamma L_c \tag{5}

Paper: https://www.ijcai.org/proceedings/2017/243 - Code: https://github.com/XifengGuo/IDEC

Departure: those of DEC (methods/dec.py).
"""

from __future__ import annotations

from coterie.autoencoder_clusterer import AutoEncoderClusterer
from coterie.contracts import Batch, Network, Objective, Terms
from coterie.encoders.networks.autoencoder import AutoEncoderNetwork
from coterie.hyper import hyper
from coterie.objectives.autoencoder import AutoEncoderObjective


class IDEC(AutoEncoderClusterer, name="idec"):
    """DEC with reconstruction in both stages."""

    cluster_weight: float = hyper(0.1, "weight of the cluster loss", symbol="γ", eq="5", ge=0)

    def build_objective(self, network: Network) -> Objective:
        """Return the IDEC objective."""
        assert isinstance(network, AutoEncoderNetwork)
        return IDECObjective(self, network)


class IDECObjective(AutoEncoderObjective):
    """Eq. 5."""

    def __init__(self, hp: IDEC, network: AutoEncoderNetwork) -> None:
        super().__init__(network, hp.plan())
        self.cluster_weight = hp.cluster_weight

    def cluster(self, batch: Batch) -> Terms:
        """Return the terms of Eq. 5."""
        (h,) = self.network(batch.original)
        l_r = self.decoder(h, batch.original)
        l_c = self.cluster_weight * self.cluster_loss(h, batch)
        return {"reconstruction": l_r, "cluster": l_c}
