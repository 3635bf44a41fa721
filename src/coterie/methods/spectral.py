r"""Spectral clustering: k-means on eigenvectors of the neighbor graph (Ng, Jordan and Weiss, NIPS 2001).

Texts are connected with their nearest neighbors. The first K eigenvectors of the normalized Laplacian of that graph are
constant on its parts, so that k-means on them finds the parts:

.. math:: L = I - D^{-1/2} W D^{-1/2}

Paper: https://papers.nips.cc/paper/2092-on-spectral-clustering-analysis-and-an-algorithm - Code: none

Departure: W has a one for each of the nearest neighbors, not a Gaussian of all distances.
Departure: equal texts are one item. New texts are assigned by their nearest training texts.
"""

from __future__ import annotations

import torch

from coterie.arrays import unit_rows
from coterie.clustering.kmeans import kmeans_labels
from coterie.contracts import Corpus, Labels
from coterie.hyper import hyper
from coterie.knn.eigenmaps import laplacian_eigenmaps
from coterie.partition_clusterer import PartitionClusterer, unit_vectors


class Spectral(PartitionClusterer, name="spectral"):
    """k-means on eigenvectors of the graph of nearest neighbors."""

    graph_neighbors: int = hyper(15, "nearest neighbors that each text is connected with", ge=1)
    n_init: int = hyper(10, "restarts of k-means on the eigenvectors", ge=1)

    def partition(self, corpus: Corpus, seed: int) -> Labels:
        """Return the parts of the graph."""
        assert isinstance(self.n_clusters, int)
        vectors = laplacian_eigenmaps(
            unit_vectors(corpus), self.n_clusters, n_neighbors=self.graph_neighbors, seed=seed
        )
        rows = unit_rows(vectors)  # (N, K), step 4 of the paper
        return kmeans_labels(rows, torch.ones(len(rows)), self.n_clusters, n_init=self.n_init, seed=seed)
