"""Neighbor graph of a corpus before training, by the embeddings and, where they agree, by the words of the texts."""

from __future__ import annotations

import numpy as np

from coterie.arrays import unit_rows
from coterie.contracts import Items, Labels, Vectors
from coterie.knn.graph import KNNGraph, knn_graph
from coterie.knn.mutual_information import neighbor_mutual_information
from coterie.words.tfidf_svd import fuse, tfidf_svd

WORD_WEIGHT = 0.3  # weight of the words in the fused similarity
WORD_AGREEMENT = 0.45  # least mutual information of the graph by words, relative to that of the graph by embeddings
_COMPARED_NEIGHBORS = 10  # neighbors by which the two graphs are compared
_COMPARED_ROWS = 8192  # rows of them at most


def word_features(items: Items, n_clusters: int, *, seed: int | None) -> Vectors | None:
    """Return TF-IDF features (N, 100 to 300) of the texts; None if the items are not texts or share no words."""
    if not isinstance(items, list):
        return None
    n_components = int(np.clip(2 * n_clusters, 100, 300))
    return tfidf_svd(items, n_components=n_components, seed=seed)


def words_agree(
    e: Vectors, words: Vectors, graph: KNNGraph, labels: Labels, n_clusters: int, *, min_ratio: float
) -> bool:
    """Return whether neighbors by ``words`` (N, W) predict ``labels`` (N,) nearly as well as neighbors by embeddings.

    That is, whether the mutual information of the graph by words is at least ``min_ratio`` times that of ``graph``,
    the graph of the unit embeddings ``e`` (N, D). Many rows are subsampled.
    """
    if len(e) > _COMPARED_ROWS:
        rows = np.linspace(0, len(e) - 1, _COMPARED_ROWS).astype(int)
        graph = knn_graph(e[rows], _COMPARED_NEIGHBORS)
        words = words[rows]
        labels = labels[rows]
    by_words = neighbor_mutual_information(knn_graph(words, _COMPARED_NEIGHBORS), labels, n_clusters)
    by_embeddings = neighbor_mutual_information(graph.first(_COMPARED_NEIGHBORS), labels, n_clusters)
    return by_words >= min_ratio * by_embeddings


def neighbor_graph(h: Vectors, items: Items, labels: Labels, n_clusters: int, *, k: int, seed: int | None) -> KNNGraph:
    """Return the ``k`` nearest neighbors of each item, by the embeddings ``h`` (N, D) and possibly by words.

    Words are used if :func:`words_agree` on the clusters ``labels`` (N,).
    """
    e = unit_rows(h)
    graph = knn_graph(e, max(k, _COMPARED_NEIGHBORS))
    words = word_features(items, n_clusters, seed=seed)
    if words is None or not words_agree(e, words, graph, labels, n_clusters, min_ratio=WORD_AGREEMENT):
        return graph.first(k)
    return knn_graph(fuse(e, words, WORD_WEIGHT), k)
