r"""Spectral clustering: k-means on eigenvectors of the neighbor graph (Ng, Jordan and Weiss, NIPS 2001).

Texts are connected with their nearest neighbors. The first K eigenvectors of the normalized Laplacian of that graph are
constant on its parts, so that k-means on them finds the parts:

.. math:: L = I - D^{-1/2} W D^{-1/2}

Paper: https://papers.nips.cc/paper/2092-on-spectral-clustering-analysis-and-an-algorithm - Code: scikit-learn

Departure: equal texts are one item. New texts are assigned by their nearest training texts.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix, diags_array
from sklearn.cluster import SpectralClustering

from coterie.contracts import Corpus, Labels
from coterie.hyper import hyper
from coterie.knn.graph import knn_graph
from coterie.partition_clusterer import PartitionClusterer, unit_vectors

_WEAK = 1e-6  # weight of a link between texts that need not be similar


class Spectral(PartitionClusterer, name="spectral"):
    """k-means on eigenvectors of the graph of nearest neighbors, by scikit-learn."""

    graph_neighbors: int = hyper(15, "nearest neighbors that each text is connected with", ge=1)
    n_init: int = hyper(10, "restarts of k-means on the eigenvectors", ge=1)

    def partition(self, corpus: Corpus, seed: int) -> Labels:
        """Return the parts of the graph."""
        n = len(corpus.h)
        near = knn_graph(unit_vectors(corpus), min(self.graph_neighbors, n - 1)).indices
        rows = np.repeat(np.arange(n), near.shape[1])
        w = csr_matrix((np.ones(near.size), (rows, near.ravel())), shape=(n, n))
        w = w + diags_array(np.full(n - 1, _WEAK), offsets=1)  # a graph in one piece, as the solver expects
        model = SpectralClustering(
            self.n_clusters, affinity="precomputed", n_init=self.n_init, assign_labels="kmeans", random_state=seed
        )
        labels: Labels = model.fit_predict((w + w.T) / 2).astype("int64")
        return labels
