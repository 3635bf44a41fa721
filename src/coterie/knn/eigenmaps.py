"""Laplacian eigenmaps: coordinates in which nearest neighbors are close together (Belkin and Niyogi, 2003)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags_array
from scipy.sparse.linalg import eigsh

from coterie.contracts import Vectors
from coterie.knn.graph import knn_graph

_WEAK = 1e-6  # weight of a link between rows that need not be similar
_DENSE = 200  # rows up to which all eigenvectors are computed


def laplacian_eigenmaps(x: Vectors, n_coordinates: int, *, n_neighbors: int, seed: int) -> NDArray[np.float64]:
    r"""Return D^{-1/2} v (N, n) for the eigenvectors v of L = I - D^{-1/2} W D^{-1/2} with the smallest eigenvalues.

    W connects each row of ``x`` (N, D), of unit length, with its nearest neighbors. The first coordinate is constant.
    The eigenvectors are those of D^{-1/2} W D^{-1/2} with the largest eigenvalues, which Lanczos' method finds by
    products with W alone.
    """
    w = _neighbor_weights(x, n_neighbors)
    scale = 1 / np.sqrt(np.asarray(w.sum(axis=1)).ravel())  # (N,)
    smooth = (diags_array(scale) @ w @ diags_array(scale)).tocsr()
    n = len(x)
    if n <= max(_DENSE, n_coordinates + 1):
        vectors = np.linalg.eigh(smooth.toarray())[1]
    else:
        start = np.random.default_rng(seed).uniform(-1, 1, n)
        vectors = eigsh(smooth, n_coordinates, which="LA", v0=start, ncv=min(n, max(2 * n_coordinates + 1, 40)))[1]
    return np.asarray(scale[:, None] * vectors[:, ::-1][:, :n_coordinates])


def _neighbor_weights(x: Vectors, n_neighbors: int) -> csr_matrix:
    """Return the symmetric weights W (N, N)."""
    n = len(x)
    near = knn_graph(x, min(n_neighbors, n - 1)).indices
    rows = np.repeat(np.arange(n), near.shape[1])
    w = csr_matrix((np.ones(near.size), (rows, near.ravel())), shape=(n, n))
    chain = diags_array(np.full(n - 1, _WEAK), offsets=1)  # a graph in one piece, so that eigenvalues are distinct
    w = w + chain
    return csr_matrix((w + w.T) / 2)
