"""Places items on a map: t-SNE of the neighbor graph (extra ``report``), or the first two principal components."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from coterie.arrays import unit_rows
from coterie.contracts import Vectors
from coterie.knn.graph import KNNGraph, knn_graph
from coterie.progress import track

_N_NEIGHBORS = 15
_MIN_ITEMS = 12  # fewer distinct items have no neighborhoods worth preserving
_EARLY = (150, 12.0, 0.5)  # iterations, exaggeration and momentum of the first phase of t-SNE
_LATE = (350, 3.0, 0.8)  # an exaggeration of 3 to 4 shows clusters as apart as UMAP does (Böhm et al., JMLR 2022)
_FFT_FROM = 6_000  # items from which interpolation is faster than Barnes-Hut
_STEP = 50  # iterations between two reports of progress


def layout(h: Vectors, *, seed: int = 0) -> tuple[NDArray[np.float32], str]:
    """Return the positions (N, 2) of the embeddings ``h`` (N, D), and the name of the algorithm.

    Equal embeddings get equal positions. The same input gives the same map.
    """
    _, first, inverse = np.unique(_as_keys(h), return_index=True, return_inverse=True)
    order = np.argsort(first)  # distinct rows in order of appearance
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    e = unit_rows(h[first[order]])
    if len(e) < _MIN_ITEMS or not has_tsne():
        return principal_components(e)[rank[inverse]], "PCA"
    xy = tsne(e, knn_graph(e, _N_NEIGHBORS), seed)
    return principal_components(xy)[rank[inverse]], "t-SNE"  # turned: maps are wider than high


def has_tsne() -> bool:
    """Return whether openTSNE is installed (extra ``report``)."""
    return find_spec("openTSNE") is not None


def _as_keys(h: Vectors) -> NDArray[np.void]:
    """Return each row as one value, so that rows can be compared quickly."""
    rows = np.ascontiguousarray(h)
    return rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()


def principal_components(e: Vectors) -> NDArray[np.float32]:
    """Return the first two principal components (N, 2); zeros where there are fewer. Signs do not depend on chance."""
    centered = e.astype(np.float64) - e.mean(axis=0)
    values, vectors = np.linalg.eigh(centered.T @ centered)  # ascending
    axes = vectors[:, ::-1][:, :2] * (values[::-1][:2] > 1e-12)
    axes *= np.where(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])] < 0, -1, 1)
    xy = np.zeros((len(e), 2), dtype=np.float32)
    xy[:, : axes.shape[1]] = centered @ axes
    return xy


def tsne(e: Vectors, graph: KNNGraph, seed: int) -> NDArray[np.float32]:
    """Return the t-SNE of a neighbor graph in which all neighbors weigh the same; one thread, so it is repeatable."""
    from openTSNE import TSNEEmbedding
    from openTSNE.affinity import Uniform
    from openTSNE.nearest_neighbors import PrecomputedNeighbors

    distances = np.sqrt(np.maximum(2 - 2 * graph.similarities.astype(np.float64), 0))
    neighbors = PrecomputedNeighbors(graph.indices, distances)
    affinities = Uniform(knn_index=neighbors, k_neighbors=graph.indices.shape[1], n_jobs=1)
    start = principal_components(e).astype(np.float64)
    embedding = TSNEEmbedding(
        start / (start[:, 0].std() or 1) * 1e-4, affinities, n_jobs=1, random_state=seed,
        negative_gradient_method="fft" if len(e) >= _FFT_FROM else "bh",
    )  # fmt: skip
    with track("Drawing the map", _EARLY[0] + _LATE[0]) as advance:
        for n_iter, exaggeration, momentum in (_EARLY, _LATE):
            for _ in range(0, n_iter, _STEP):
                embedding = embedding.optimize(n_iter=_STEP, exaggeration=exaggeration, momentum=momentum)
                advance(_STEP)
    return np.asarray(embedding, dtype=np.float32)
