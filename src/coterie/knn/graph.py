"""k-nearest-neighbor graph by cosine similarity: exact, or approximate for many rows."""

from __future__ import annotations

import warnings
from hashlib import sha256
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from coterie.arrays import is_large
from coterie.contracts import Vectors
from coterie.errors import SlowWarning, user_level
from coterie.knn.nn_descent import has_nn_descent, nn_descent
from coterie.progress import track
from coterie.remembered import memory

_BLOCK = 1024  # rows whose similarities to all rows are in memory at once
_SHARED = 15  # neighbors that are found at least in a fit: most of its steps need as many


class KNNGraph(NamedTuple):
    """The k nearest neighbors of each row, nearest first, and their cosine similarities: both (N, k)."""

    indices: NDArray[np.int64]
    similarities: NDArray[np.float32]

    def first(self, k: int) -> KNNGraph:
        """Return the graph of the ``k`` nearest neighbors of each row."""
        return KNNGraph(self.indices[:, :k], self.similarities[:, :k])

    def mutual(self) -> NDArray[np.int64]:
        """Return the neighbor indices (N, k), with i itself in place of each neighbor that does not have i as its own.

        Two rows are mutual neighbors if each is among the k nearest of the other.
        """
        own = np.arange(len(self.indices))[:, None]  # (N, 1)
        is_mutual = np.empty(self.indices.shape, dtype=bool)
        for j, near in enumerate(self.indices.T):  # not (N, k, k) at once
            is_mutual[:, j] = (self.indices[near] == own).any(axis=1)
        return np.where(is_mutual, self.indices, own)

    def weights(self, power: float) -> csr_matrix:
        """Return the sparse weight matrix (N, N): max(similarity, 0) ** power for each neighbor."""
        n, k = self.indices.shape
        values = np.clip(self.similarities, 0, None).ravel() ** power
        return csr_matrix((values, self.indices.ravel(), np.arange(n + 1) * k), shape=(n, n))


def knn_graph(x: Vectors, k: int, *, near: KNNGraph | None = None) -> KNNGraph:
    """Return the ``k`` nearest neighbors of each row of ``x`` (N, D), without the row itself.

    The rows must have unit length. The result is exact for up to 50,000 rows. For more rows it is approximate if the
    extra ``scale`` is installed (NN-descent), and exact but slow otherwise. NN-descent may begin from ``near``: rows
    that are near by other features. A fit searches equal rows once.
    """
    known, k = memory("graphs"), min(k, len(x) - 1)
    if known is None:
        return _find(x, k, near)
    key = x.shape, sha256(x.ravel().view(np.uint8).data).digest()
    if key not in known or known[key].indices.shape[1] < k:
        known[key] = _find(x, min(max(k, _SHARED), len(x) - 1), near)
    graph: KNNGraph = known[key]
    return graph.first(k)


def _find(x: Vectors, k: int, near: KNNGraph | None) -> KNNGraph:
    """Return the ``k`` nearest neighbors of each row of ``x`` (N, D), with k < N."""
    if not is_large(len(x)):
        return _exact_graph(x, k)
    if has_nn_descent():
        return KNNGraph(*nn_descent(x, k, near=None if near is None else near.indices))
    warnings.warn(
        f"Comparing all pairs of {len(x):,} items, which is slow. "
        "Much faster, with nearly the same result: pip install 'coterie[scale]'",
        SlowWarning,
        stacklevel=user_level(),
    )
    return _exact_graph(x, k)


def _exact_graph(x: Vectors, k: int) -> KNNGraph:
    base = torch.from_numpy(x)
    indices = torch.empty((len(x), k), dtype=torch.long)
    similarities = torch.empty((len(x), k))
    with track("Finding neighbors", len(x)) as advance:
        for start in range(0, len(x), _BLOCK):
            block = slice(start, start + _BLOCK)
            similarity = base[block] @ base.T  # (block, N)
            own = torch.arange(len(similarity))
            similarity[own, start + own] = -torch.inf
            similarities[block], indices[block] = similarity.topk(k, dim=1)
            advance(len(own))
    return KNNGraph(indices.numpy(), similarities.numpy())
