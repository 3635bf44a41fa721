import hashlib

import numpy as np
import pytest

from coterie.data.texts import check_texts
from coterie.data.vectors import VectorRows

H = np.array([[0.5, 1.0], [2.0, 3.0], [0.5, 1.0]], dtype=np.float32)


def test_vectors_are_sorted_and_not_deduplicated():
    rows = VectorRows(H[[1, 0, 2]])
    np.testing.assert_array_equal(rows.unique[rows.inverse], H[[1, 0, 2]])
    np.testing.assert_array_equal(rows.unique, VectorRows(H).unique)
    assert rows.counts.tolist() == [1, 1, 1]
    assert (rows.n_rows, rows.n_distinct, rows.n_blank, rows.noun) == (3, 3, 0, "vectors")


@pytest.mark.parametrize(
    "values", [H, np.array([0, 1, 0]), np.array([0.5, 0.25, 1.0])], ids=["float32", "int", "float"]
)
def test_expand_returns_the_values_of_the_rows(values):
    rows = VectorRows(H[[1, 0, 2]])
    expanded = rows.expand(values, np.nan)
    assert expanded.dtype == values.dtype
    np.testing.assert_array_equal(expanded, values[rows.inverse])


def test_the_hash_is_that_of_the_bytes_in_row_order():
    expected = hashlib.sha256(H.tobytes()).hexdigest()
    assert VectorRows(H).sha256() == expected
    assert VectorRows(np.asfortranarray(H)).sha256() == expected
    assert VectorRows(H[[1, 0, 2]]).sha256() != expected


def test_the_message_for_too_few_items_names_what_is_missing():
    assert VectorRows(H).too_few_message(4) == "n_clusters=4 is more than n_samples=3. Use fewer clusters."
    message = check_texts(["a", "", "a"]).too_few_message(2)
    assert message.startswith("2 clusters need at least 2 distinct texts, but there is 1 (of 3 rows, 1 of them blank)")
    assert "(of" not in check_texts(["a", "b"]).too_few_message(3)
