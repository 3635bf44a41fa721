"""Divide one cluster further: k-means on its embeddings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from coterie.arrays import unit_rows
from coterie.clustering.kmeans import kmeans_labels
from coterie.clustering.silhouette import cosine_silhouette
from coterie.contracts import Labels, Vectors
from coterie.describe.cluster_table import cluster_table
from coterie.describe.tree import TreeNode
from coterie.errors import InputError
from coterie.wording import count

_MAX_PARTS = 6  # where the number of parts is chosen
_MIN_ITEMS = 4


def cluster_parts(h: Vectors, texts: Sequence[str], n_parts: int | None, cluster: int) -> list[TreeNode]:
    """Return the parts of ``cluster``, whose items have embeddings h (N, D) and perhaps ``texts`` (N).

    Without ``n_parts`` it is the number from 2 to 6 with the largest silhouette.
    """
    if n_parts is not None and n_parts < 2:
        raise InputError(f"A cluster is divided into at least 2 parts, not {n_parts}.")
    if len(h) < max(n_parts or 0, _MIN_ITEMS):
        raise InputError(f"Cluster {cluster} has {count(len(h), 'items')} here, too few to divide it.")
    e = unit_rows(h)
    n_distinct = len(np.unique(e, axis=0))
    if n_distinct < max(n_parts or 0, 2):
        raise InputError(f"Cluster {cluster} has {count(n_distinct, 'distinct items')} here, too few to divide it.")
    candidates = [n_parts] if n_parts else range(2, min(_MAX_PARTS, len(h) // 2, n_distinct) + 1)
    labels = max((_divide(e, k) for k in candidates), key=lambda found: cosine_silhouette(e, found))
    k = int(labels.max()) + 1
    centers = unit_rows(np.stack([e[labels == part].mean(axis=0) for part in range(k)]))
    typicality = np.einsum("ij,ij->i", e, centers[labels]).astype(np.float64)
    table = cluster_table(texts, labels, typicality, k, with_keywords=bool(len(texts)))
    name = "Part {}".format
    parts = [TreeNode(row.name if texts else name(row.cluster), row.size, row.keywords) for row in table]
    return sorted(parts, key=lambda part: (-part.size, part.name))  # parts of equal size in a fixed order


def _divide(e: Vectors, k: int) -> Labels:
    return kmeans_labels(e, torch.ones(len(e)), k, n_init=10, seed=0)
