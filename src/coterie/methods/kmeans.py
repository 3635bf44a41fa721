r"""k-means: the baseline of every table (Lloyd, IEEE Trans. Inf. Theory 1982; k-means++, SODA 2007).

The encoder stays as it is; texts are grouped around the centers that leave the least squared distance.

.. math:: \min_{\mu} \sum_j \min_k \|h_j - \mu_k\|^2, \qquad q_{jk} \propto \exp(-\|h_j - \mu_k\|^2 / s)

Paper: https://doi.org/10.1109/TIT.1982.1056489 - Code: scikit-learn

Departure: q is ours, so that there is a confidence. With s half the median of how much farther (squared) the
second center is, the mean confidence is close to the accuracy (docs/methods/kmeans.md).
"""

from __future__ import annotations

from torch import Tensor

from coterie.clusterer import Clusterer
from coterie.contracts import Corpus, Network, Objective
from coterie.heads.centers import NearestCenter, kmeans_centers
from coterie.hyper import hyper


class KMeans(Clusterer, name="kmeans"):
    """k-means on the encoder's vectors; nothing is trained."""

    n_init: int = hyper(10, "starts, of which the one with the least squared distance is kept", ge=1)

    def build_objective(self, encoder: Network) -> Objective:
        """Return centers that are still to be placed."""
        return KMeansObjective(self, encoder)


class KMeansObjective(Objective):
    """Centers μ and the scale s of a confidence."""

    def __init__(self, hp: KMeans, encoder: Network) -> None:
        super().__init__(encoder)
        self.hp = hp
        self.nearest = NearestCenter(hp.n_clusters, encoder.dim)

    @property
    def centers(self) -> Tensor:
        """Return μ."""
        return self.nearest.mu

    def start(self, corpus: Corpus, seed: int | None) -> None:
        """Place the centers and measure s."""
        mu = kmeans_centers(corpus.h, corpus.counts, self.hp.n_clusters, n_init=self.hp.n_init, seed=seed)
        self.nearest.place(mu, corpus.h)

    def assign(self, h: Tensor) -> Tensor:
        """Return q (B, K)."""
        q: Tensor = self.nearest(h)
        return q
