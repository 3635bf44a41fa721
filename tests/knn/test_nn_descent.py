import sys
from contextlib import contextmanager

import numpy as np
import pytest

from coterie import arrays
from coterie.arrays import unit_rows
from coterie.data.user_cache import is_private
from coterie.knn.graph import KNNGraph, knn_graph
from coterie.knn.nn_descent import _kept_on_disk, _without_self, nn_descent
from coterie.knn.smoothing import smooth
from coterie.progress import listening

pytest.importorskip("pynndescent")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("nn_descent")]  # pynndescent is compiled first


@pytest.fixture(scope="module")
def x():
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(20, 24))
    return unit_rows(centers[rng.integers(20, size=3000)] + 0.5 * rng.normal(size=(3000, 24)))


def test_most_nearest_neighbors_are_found_and_never_the_row_itself(x):
    indices, similarities = nn_descent(x, 10)
    assert (indices != np.arange(len(x))[:, None]).all()
    assert (np.diff(similarities, axis=1) <= 0).all()
    np.testing.assert_allclose(similarities, np.einsum("bd,bkd->bk", x, x[indices]), atol=1e-5)
    exact = knn_graph(x, 10).indices
    recall = np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(indices, exact, strict=True)])
    assert recall > 0.9


def test_very_many_rows_are_not_copied_and_have_the_same_neighbors(x, monkeypatch):
    expected, similarities = nn_descent(x, 10)
    monkeypatch.setattr(arrays, "EXACT_LIMIT", 100)
    monkeypatch.setattr("pynndescent.pynndescent_.normalize", None)  # it makes the copy
    found, cosines = nn_descent(x, 10)
    assert (found == expected).mean() > 0.99
    np.testing.assert_allclose(cosines, similarities, atol=1e-3)
    np.testing.assert_allclose(cosines, np.einsum("bd,bkd->bk", x, x[found]), atol=1e-5)


def test_from_rows_that_are_near_by_other_features_as_many_are_found(x):
    near = knn_graph(unit_rows(x + 0.1 * np.random.default_rng(1).normal(size=x.shape)), 10).indices
    exact = knn_graph(x, 10).indices
    found = nn_descent(x, 10, near=near)[0]
    recall, before = (
        np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(g, exact, strict=True)]) for g in (found, near)
    )
    assert before < 0.8
    assert recall > 0.9
    np.testing.assert_array_equal(nn_descent(x, 10, near=near)[0], found)


def test_the_result_does_not_depend_on_the_number_of_threads(x):
    numba = pytest.importorskip("numba")
    n_threads = numba.get_num_threads()
    results = []
    try:
        for n in (1, n_threads):
            numba.set_num_threads(n)
            results.append(nn_descent(x, 5)[0])
    finally:
        numba.set_num_threads(n_threads)
    np.testing.assert_array_equal(results[1], results[0])


def test_rounds_are_reported_as_progress_and_nothing_is_printed(x, capsys):
    reports = []

    @contextmanager
    def listener(label, total):
        yield lambda done, note="": reports.append((label, total, done))

    with listening(listener):
        with_listener = nn_descent(x, 5)
    assert sum(done for *_, done in reports) >= 1
    assert {(label, total) for label, total, _ in reports} == {("Finding neighbors", 12)}
    np.testing.assert_array_equal(nn_descent(x, 5)[0], with_listener[0])
    assert capsys.readouterr() == ("", "")


def test_more_equal_rows_than_neighbors():
    x = unit_rows(np.repeat(np.eye(3, 16), [500, 500, 200], axis=0))
    indices, similarities = nn_descent(x, 15)
    assert (indices != np.arange(1200)[:, None]).all()
    np.testing.assert_allclose(similarities, 1, atol=1e-5)


def test_missing_neighbors_become_edges_without_weight(x):
    # the row itself may be absent from its neighbors, or not come first
    indices = np.array([[0, 2, 1], [3, 1, -1], [-1, -1, -1], [0, 1, 2]])
    similarities = np.array([[1.0, 0.9, 0.8], [0.7, 1.0, np.inf], [0, 0, 0], [0.6, 0.5, 0.4]], dtype=np.float32)
    indices, similarities = _without_self(indices, similarities, 2)
    np.testing.assert_array_equal(indices, [[2, 1], [3, 1], [2, 2], [0, 1]])
    np.testing.assert_array_equal(similarities, np.float32([[0.9, 0.8], [0.7, 0], [0, 0], [0.6, 0.5]]))
    assert np.isfinite(smooth(x[:4], KNNGraph(indices, similarities), rounds=2)).all()


def test_compiled_code_is_kept_in_the_users_cache(tmp_path, monkeypatch):
    numba = pytest.importorskip("numba")
    njit = numba.njit
    monkeypatch.delitem(sys.modules, "pynndescent")
    monkeypatch.delenv("COTERIE_CACHE_MB")
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path))
    with _kept_on_disk():
        double = numba.njit(lambda x: 2 * x)
    assert numba.njit is njit
    assert double(3) == 6
    assert list((tmp_path / "compiled").rglob("*.nbi"))


def test_code_is_not_kept_where_others_can_write(tmp_path):
    assert is_private(tmp_path / "own")
    (tmp_path / "own").chmod(0o777)
    assert not is_private(tmp_path / "own")
