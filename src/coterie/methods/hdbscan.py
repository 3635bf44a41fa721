r"""HDBSCAN: clusters as dense regions, of which there are as many as it finds (Campello et al., PAKDD 2013).

Single linkage of distances that are at least the distance to the ``min_samples``-th neighbor; of the tree of regions
the most stable ones are the clusters, and what belongs to none is an outlier. On UMAP coordinates this is what BERTopic
does.

.. math:: d_{mreach}(i, j) = \max(core_i, core_j, d(i, j))

Paper: https://doi.org/10.1007/978-3-642-37456-2_14 - Code: scikit-learn

Departure: an outlier goes with its nearest texts that are in a cluster, like a new text.
Departure: equal texts are one item.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn import cluster

from coterie.clustering.n_clusters import NClusters
from coterie.contracts import Corpus, Labels, Objective
from coterie.encoders.encoder import EncoderLike
from coterie.errors import InputError, NumberOfClustersWarning, user_level
from coterie.fitting import Fit
from coterie.hyper import hyper
from coterie.partition_clusterer import PartitionClusterer, PartitionObjective


class HDBSCAN(PartitionClusterer, name="hdbscan"):
    """Dense regions of UMAP coordinates, or of any embeddings; finds the number of clusters itself.

    After ``fit`` there is also ``n_outliers_``, the number of distinct items outside of all regions.
    """

    finds_n_clusters: ClassVar[bool] = True

    n_clusters: NClusters = hyper("auto", "not used: the number of clusters is found", symbol="K", ge=1)
    encoder: EncoderLike = hyper(
        "umap", "encoder of the items; umap needs the extra of that name, and umap:NAME reduces another encoder"
    )
    min_cluster_size: int = hyper(10, "texts of a cluster at least", ge=2)
    min_samples: int | None = hyper(None, "neighbors that make a text dense; none: min_cluster_size", ge=1)

    def partition(self, corpus: Corpus, seed: int) -> Labels:
        """Return the regions; one cluster of all items if there is none."""
        n = len(corpus.h)
        if self.min_samples is not None and self.min_samples > n:
            raise InputError(f"min_samples is {self.min_samples}, but there are {n:,} distinct items. Lower it.")
        size = min(self.min_cluster_size, max(n // 2, 2))
        model = cluster.HDBSCAN(min_cluster_size=size, min_samples=self.min_samples, copy=True)
        labels: Labels = model.fit_predict(corpus.h.numpy()).astype("int64") if n > 2 else np.full(n, -1)
        return labels if (labels >= 0).any() else np.zeros(n, dtype=np.int64)

    def _train(self, objective: Objective, corpus: Corpus, fit: Fit) -> Corpus:
        corpus = super()._train(objective, corpus, fit)
        assert isinstance(objective, PartitionObjective)
        self.n_outliers_ = objective.n_outliers
        self.n_clusters_ = objective.n_clusters
        if isinstance(self.n_clusters, int) and self.n_clusters != self.n_clusters_:
            warnings.warn(
                f"{self.n_clusters} clusters were requested, but hdbscan finds the number itself: {self.n_clusters_}. "
                "min_cluster_size changes it; for exactly so many clusters use another method.",
                NumberOfClustersWarning,
                stacklevel=user_level(),
            )
        return corpus

    def saved_notes(self) -> dict[str, Any]:
        """Return the number of outliers."""
        return {"n_outliers": self.n_outliers_}

    def restore_notes(self, notes: dict[str, Any]) -> None:
        """Load it."""
        self.n_outliers_ = notes["n_outliers"]
