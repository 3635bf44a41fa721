r"""HAC-SD: hierarchical clustering of sparsified similarities (Rakib et al., NLDB 2020).

Of all pairs of texts only the N^2 / K - N most similar ones are kept, by how much their similarity stands out among the
similarities of either text. Ward's linkage of what is kept gives K clusters:

.. math:: d_{ij} = 1 - \cos(h_i, h_j) \text{ if kept, else } 100

Optionally the clusters are improved by iterative classification: per cluster an isolation forest removes outliers, and
a logistic regression trained on a part of the rest labels all other texts anew.

Paper: https://arxiv.org/abs/2001.11631 - Code: https://github.com/rashadulrakib/short-text-clustering-enhancement

Departure: equal texts are one item. Ward's linkage is our reading: the paper does not name the linkage.
Departure: new texts are assigned by their nearest training texts; the paper has no predictions.
Departure: iterations end when cluster sizes change by less than 5 % of N / K on average.
"""

from __future__ import annotations

from scipy.cluster.hierarchy import cut_tree, linkage

from coterie.clustering.iterative_classification import classify_iteratively
from coterie.clustering.sparsified import sparsified_distances
from coterie.contracts import Corpus, Labels
from coterie.hyper import hyper
from coterie.partition_clusterer import PartitionClusterer, unit_vectors


class HACSD(PartitionClusterer, name="hacsd"):
    """Ward's linkage of the most similar pairs of texts; all pairs are compared."""

    iterations: int = hyper(0, "rounds of iterative classification at most; 0: the clusters of linkage", ge=0)

    def partition(self, corpus: Corpus, seed: int) -> Labels:
        """Return the clusters of Ward's linkage, perhaps improved."""
        k, n = self.n_clusters, len(corpus.h)
        assert isinstance(k, int)
        e = unit_vectors(corpus)
        distance = sparsified_distances(e, n * n // k - n)
        labels: Labels = cut_tree(linkage(distance, "ward"), k).ravel()
        return classify_iteratively(corpus.items, e, labels, k, self.iterations, seed) if self.iterations else labels

    @property
    def is_random(self) -> bool:
        """Only iterative classification draws texts at random."""
        return self.iterations > 0

    def bytes_needed(self, n: int) -> float:
        """Return the memory of all pairs: their distances in float64, and scipy's copy."""
        return 8.0 * n * (n - 1)
