r"""k-means: the baseline of every table (Lloyd, IEEE Trans. Inf. Theory 1982; k-means++, SODA 2007).

The encoder is not trained. The centers minimize the squared distance of each text to its nearest center.

.. math:: \min_{\mu} \sum_j \min_k \|h_j - \mu_k\|^2, \qquad q_{jk} \propto \exp(-\|h_j - \mu_k\|^2 / s)

Paper: https://doi.org/10.1109/TIT.1982.1056489 - Code: scikit-learn

Departure: q is our addition, to have a confidence. s is half the median of the gap between the squared distances to
the nearest and the second nearest center.
"""

from __future__ import annotations

from torch import Tensor

from coterie.clusterer import Clusterer
from coterie.clustering.kmeans import NearestCenter, kmeans_centers
from coterie.contracts import Corpus, Network, Objective
from coterie.hyper import hyper


class KMeans(Clusterer, name="kmeans"):
    """k-means on the encoder's vectors; nothing is trained."""

    n_init: int = hyper(10, "random initializations; the one with the least squared distance is kept", ge=1)

    def build_objective(self, network: Network) -> Objective:
        """Return an objective whose centers are not placed yet."""
        return KMeansObjective(self, network)


class KMeansObjective(Objective):
    """The centers μ, and the scale s of the confidence."""

    def __init__(self, hp: KMeans, network: Network) -> None:
        super().__init__(network)
        self.hp = hp
        self.nearest = NearestCenter(hp.n_clusters, network.dim)

    @property
    def centers(self) -> Tensor:
        """The centers μ (K, D)."""
        return self.nearest.mu

    @property
    def assigned_by(self) -> str:
        """Return ``kmeans``."""
        return "kmeans"

    def initialize(self, corpus: Corpus, seed: int | None) -> None:
        """Run k-means on the corpus, and compute s."""
        mu = kmeans_centers(corpus.h, corpus.counts, self.hp.n_clusters, n_init=self.hp.n_init, seed=seed)
        self.nearest.place(mu, corpus.h)

    def assign(self, h: Tensor) -> Tensor:
        """Return q (B, K) of h (B, D)."""
        q: Tensor = self.nearest(h)
        return q
