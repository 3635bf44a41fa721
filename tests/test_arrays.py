import numpy as np
import pytest

from coterie import arrays


def test_subsample_is_all_rows_up_to_the_limit_and_a_fixed_sample_above(monkeypatch):
    monkeypatch.setattr(arrays, "EXACT_LIMIT", 300)
    np.testing.assert_array_equal(arrays.subsample(300), np.arange(300))
    sample = arrays.subsample(301)
    assert len(np.unique(sample)) == 300
    assert (np.diff(sample) > 0).all()
    np.testing.assert_array_equal(arrays.subsample(301), sample)


def test_factor_raises_the_limit_and_the_size_of_the_sample(monkeypatch):
    monkeypatch.setattr(arrays, "EXACT_LIMIT", 100)
    assert not arrays.is_large(400, factor=4)
    assert arrays.is_large(401, factor=4)
    assert len(arrays.subsample(401, factor=4)) == 400


@pytest.mark.parametrize("n", [0, 63, 64, 1000])
def test_row_chunks_cover_every_row_once(monkeypatch, n):
    monkeypatch.setattr(arrays, "_CHUNK_ROWS", 64)
    covered = [i for rows in arrays.row_chunks(n) for i in range(n)[rows]]
    assert covered == list(range(n))


def test_unit_rows_have_length_one_or_zero(monkeypatch):
    monkeypatch.setattr(arrays, "_CHUNK_ROWS", 7)
    x = np.random.default_rng(0).normal(size=(20, 5))
    x[3] = 0
    unit = arrays.unit_rows(x)
    assert unit.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), np.arange(20) != 3, atol=1e-6)
    np.testing.assert_allclose(unit * np.linalg.norm(x, axis=1, keepdims=True), x, atol=1e-5)


def test_unit_rows_can_overwrite_their_input():
    x = np.random.default_rng(0).normal(size=(20, 5)).astype(np.float32)
    expected = arrays.unit_rows(x)
    assert arrays.unit_rows(x, out=x) is x
    np.testing.assert_array_equal(x, expected)
