r"""Agglomerative clustering: Ward, average or complete linkage (Ward, JASA 1963).

Every text starts as a cluster of its own. Again and again the two nearest clusters are merged, until K are left. With
Ward's linkage these are the two whose merger increases the squared distance to the cluster means least:

.. math:: \Delta(A, B) = \frac{|A| |B|}{|A| + |B|} \|\mu_A - \mu_B\|^2

Paper: https://doi.org/10.1080/01621459.1963.10500845 - Code: scikit-learn

Departure: equal texts are one item. New texts are assigned by their nearest training texts.
"""

from __future__ import annotations

from typing import Literal

from sklearn.cluster import AgglomerativeClustering

from coterie.contracts import Corpus, Labels
from coterie.hyper import hyper
from coterie.partition_clusterer import PartitionClusterer


class Agglomerative(PartitionClusterer, name="agglomerative"):
    """Hierarchical clustering of the embeddings by scikit-learn; all pairs are compared."""

    linkage: Literal["ward", "average", "complete", "single"] = hyper("ward", "which clusters are nearest")

    def partition(self, corpus: Corpus, seed: int) -> Labels:
        """Return the clusters that are left."""
        model = AgglomerativeClustering(self.n_clusters, linkage=self.linkage)
        labels: Labels = model.fit_predict(corpus.h.numpy()).astype("int64")
        return labels

    @property
    def is_random(self) -> bool:
        """The nearest clusters are merged, whatever the seed."""
        return False

    def bytes_needed(self, n: int) -> float:
        """Return the memory of the distances of all pairs in float64, and scipy's copy."""
        return 8.0 * n * (n - 1)
