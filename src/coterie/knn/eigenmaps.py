"""Laplacian eigenmaps: coordinates in which nearest neighbors are close together (Belkin and Niyogi, 2003)."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags_array
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from coterie.contracts import Vectors
from coterie.errors import InputError
from coterie.knn.graph import knn_graph

_WEAK = 1e-6  # weight of a link between rows that need not be similar
_DENSE = 200  # rows up to which all eigenvectors are computed
_MOST_DENSE = 4000  # rows up to which they are computed where Lanczos' method does not find the largest
_RESTARTS = 500  # of Lanczos' method for so few rows; for more rows scipy's own limit


def laplacian_eigenmaps(x: Vectors, n_coordinates: int, *, n_neighbors: int, seed: int) -> NDArray[np.float64]:
    r"""Return D^{-1/2} v (N, n) for the eigenvectors v of L = I - D^{-1/2} W D^{-1/2} with the smallest eigenvalues.

    W connects each row of ``x`` (N, D), of unit length, with its nearest neighbors. The first coordinate is constant.
    The eigenvectors are those of D^{-1/2} W D^{-1/2} with the largest eigenvalues, which Lanczos' method finds by
    products with W alone.
    """
    w = _neighbor_weights(x, n_neighbors)
    scale = 1 / np.sqrt(np.asarray(w.sum(axis=1)).ravel())  # (N,)
    smooth = (diags_array(scale) @ w @ diags_array(scale)).tocsr()
    start = np.random.default_rng(seed).uniform(-1, 1, len(x))
    return np.asarray(scale[:, None] * _largest_eigenvectors(smooth, n_coordinates, start)[:, ::-1])


def _largest_eigenvectors(a: csr_matrix, n_vectors: int, start: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the eigenvectors (N, n) of ``a`` (N, N) with the largest eigenvalues, in ascending order."""
    n = a.shape[0]
    if n > max(_DENSE, n_vectors + 1):
        n_basis, restarts = min(n, max(2 * n_vectors + 1, 40)), _RESTARTS if n <= _MOST_DENSE else None
        with suppress(ArpackNoConvergence):  # eigenvalues may be nearly equal, which this method does not tell apart
            return np.asarray(eigsh(a, n_vectors, which="LA", v0=start, ncv=n_basis, maxiter=restarts)[1])
    if n > _MOST_DENSE:
        raise InputError(
            f"The neighbor graph of these {n:,} items has no clear structure: its eigenvectors were not found. Many "
            "items may be alike. Use another method, such as kmeans or neighbors."
        )
    return np.asarray(np.linalg.eigh(a.toarray())[1][:, -n_vectors:])


def _neighbor_weights(x: Vectors, n_neighbors: int) -> csr_matrix:
    """Return the symmetric weights W (N, N)."""
    n = len(x)
    near = knn_graph(x, min(n_neighbors, n - 1)).indices
    rows = np.repeat(np.arange(n), near.shape[1])
    w = csr_matrix((np.ones(near.size), (rows, near.ravel())), shape=(n, n))
    chain = diags_array(np.full(n - 1, _WEAK), offsets=1)  # a graph in one piece, so that eigenvalues are distinct
    w = w + chain
    return csr_matrix((w + w.T) / 2)
