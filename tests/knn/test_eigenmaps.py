"""Eigenmaps where eigenvalues are nearly equal, which Lanczos' method does not tell apart."""

import numpy as np
import pytest

from coterie.errors import InputError
from coterie.knn import eigenmaps
from coterie.knn.eigenmaps import laplacian_eigenmaps


def alike(n=300):
    """Rows of unit length in two directions, with small differences between neighbors in the order of the rows."""
    x = np.repeat(np.eye(30)[:2], n // 2, axis=0)
    x[np.arange(n), 2 + np.arange(n) % 26] = 0.01 * (1 + np.arange(n) // 26)
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def no_convergence(monkeypatch):
    def never(*_, **__):
        raise eigenmaps.ArpackNoConvergence("%s", np.empty(0), np.empty((0, 0)))

    monkeypatch.setattr(eigenmaps, "eigsh", never)


def test_eigenvectors_that_lanczos_does_not_find_are_those_of_the_dense_matrix(no_convergence, monkeypatch):
    found = laplacian_eigenmaps(alike(), 3, n_neighbors=15, seed=0)
    monkeypatch.undo()
    expected = laplacian_eigenmaps(alike(), 3, n_neighbors=15, seed=0)
    for column in range(3):
        np.testing.assert_allclose(np.abs(found[:, column]), np.abs(expected[:, column]), atol=1e-6)


def test_of_many_rows_that_is_an_input_error(no_convergence, monkeypatch):
    monkeypatch.setattr(eigenmaps, "_MOST_DENSE", 299)
    with pytest.raises(InputError, match="neighbor graph of these 300 items has no clear structure"):
        laplacian_eigenmaps(alike(), 30, n_neighbors=15, seed=0)
