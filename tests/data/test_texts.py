import time
import unicodedata

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.data.texts import check_texts, nfc
from coterie.errors import InputError

TWO = ["one fish", "two fish"]
FRAME = {"id": [1, 2], "note": TWO}


def check_two(texts, column=None):
    got = check_texts(texts, column)
    assert got.unique == TWO
    assert got.inverse.tolist() == [0, 1]
    assert got.counts.tolist() == [1, 1]


@pytest.mark.parametrize(
    "texts",
    [
        TWO,
        tuple(TWO),
        (text for text in TWO),
        dict.fromkeys(TWO).keys(),
        np.array(TWO),
        np.array(TWO, dtype=object),
        pd.Series(TWO),
        pd.Series(TWO, index=[7, 7]),
        pd.Series(TWO, dtype="string"),
        pd.Series(TWO, dtype="category"),
        pl.Series(TWO),
        pl.Series(TWO, dtype=pl.Categorical),
    ],
    ids=lambda texts: f"{type(texts).__module__}.{type(texts).__name__}-{getattr(texts, 'dtype', '')}",
)
def test_every_type_of_sequence_gives_the_same_texts(texts):
    check_two(texts)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_the_named_column_of_a_data_frame_is_used(frame):
    check_two(frame(FRAME), "note")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_data_frame_with_one_column_needs_no_name(frame):
    check_two(frame({"note": TWO}))


def test_the_texts_are_plain_strings_and_sorted():
    got = check_texts(np.array(["b", "a", "b"]))
    assert got.unique == ["a", "b"]
    assert (got.inverse.tolist(), got.counts.tolist()) == ([1, 0, 1], [1, 2])
    assert {type(text) for text in got.unique} == {str}
    assert (got.inverse.dtype, got.counts.dtype) == (np.int64, np.int64)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    ("column", "message"), [("nota", "no column 'nota'. Did you mean 'note'"), (None, "Which column")]
)
def test_the_error_of_a_missing_column_lists_the_columns(frame, column, message):
    with pytest.raises(InputError, match=message) as error:
        check_texts(frame({"id": ["1", "2"], "note": ["fish", "fowl"]}), column)
    assert "'id', 'note'" in str(error.value)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("column", ["Text", "remarks of customers"])
def test_the_text_column_of_a_data_frame_is_found_as_in_a_file(frame, column):
    check_two(frame({"id": [1, 2], column: TWO}))


def test_columns_without_names_are_numbers():
    check_two(pd.DataFrame([[1, text] for text in TWO]))


def test_a_column_without_a_data_frame_is_an_error():
    with pytest.raises(InputError, match="column='note' needs a data frame, got list"):
        check_texts(TWO, "note")


@pytest.mark.parametrize("none", [[], (), np.array([], dtype=str), iter(()), pd.Series([], dtype=str), pl.Series([])])
def test_no_texts_are_an_error(none):
    with pytest.raises(InputError, match="There are no texts"):
        check_texts(none)


@pytest.mark.parametrize("single", ["one fish", b"one fish", np.str_("one fish"), ""])
def test_a_single_string_is_an_error(single):
    with pytest.raises(InputError, match=r"single string.*\[text\]"):
        check_texts(single)


@pytest.mark.parametrize(
    "missing",
    [
        None,
        float("nan"),
        np.nan,
        np.float32("nan"),
        pd.NaT,
        pd.NA,
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_missing_text_is_blank(missing):
    assert check_texts(["a", "b", missing, "c", None]).inverse.tolist() == [0, 1, -1, 2, -1]
    with pytest.raises(InputError, match="Empty: 2 of 3 texts, the first in row 2"):
        check_texts(["a", missing, None], on_empty="error")


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(["a", None]),
        pd.Series(["a", None], dtype=object),
        pd.Series(["a", None], dtype="string"),
        pl.Series(["a", None]),
    ],
    ids=["pandas", "pandas-object", "pandas-string", "polars"],
)
def test_a_missing_value_in_a_series_is_a_blank_text(series):
    assert check_texts(series).inverse.tolist() == [0, -1]


@pytest.mark.parametrize(
    ("value", "type_name"),
    [
        (3, "int"),
        (2.5, "float"),
        (True, "bool"),
        (b"x", "bytes"),
        (["x"], "list"),
        (np.array(["x", "y"]), "ndarray"),
    ],
)
def test_the_error_of_another_type_has_the_type_and_the_row(value, type_name):
    with pytest.raises(InputError, match=rf"Row 2 is .*, a {type_name}, not a text"):
        check_texts(["a", value])


@pytest.mark.parametrize("shape", [(2, 3), (2, 1), (0, 4), ()])
def test_the_error_of_an_array_that_is_not_one_dimensional_has_its_shape(shape):
    with pytest.raises(InputError, match="precomputed") as error:
        check_texts(np.zeros(shape))
    assert str(shape) in str(error.value)


@pytest.mark.parametrize("value", [3, None, {"a": "b"}])
def test_a_value_without_rows_is_an_error(value):
    with pytest.raises(InputError, match=f"Expected texts, got {type(value).__name__}"):
        check_texts(value)


BLANK = ["", " ", "\t\n", "\u00a0", "\u3000", "\u200b", "\u200b \ufeff\u200d", "\u2028", "\x00", "\x07 \x1b"]


@pytest.mark.parametrize("blank", BLANK, ids=ascii)
def test_a_blank_text_keeps_its_row_and_has_the_position_minus_one(blank):
    got = check_texts(["a", blank, "b", blank])
    assert got.unique == ["a", "b"]
    assert got.inverse.tolist() == [0, -1, 1, -1]
    assert got.counts.tolist() == [1, 1]
    assert (got.n_rows, got.n_blank) == (4, 2)


@pytest.mark.parametrize("visible", [".", "?", "0", "👍", "\u200bx", "é", "中", "€"])
def test_a_text_of_one_visible_character_is_not_blank(visible):
    assert check_texts([visible]).n_blank == 0


def test_on_empty_error_reports_the_first_blank_row():
    with pytest.raises(InputError, match="Empty: 2 of 4 texts, the first in row 2"):
        check_texts(["a", "\t", "b", ""], on_empty="error")


def test_on_empty_error_accepts_texts_that_are_not_blank():
    assert check_texts(["a", "b"], on_empty="error").n_rows == 2


def test_only_blank_texts_are_an_error_even_if_blank_texts_are_kept():
    with pytest.raises(InputError, match="All 2 texts are empty"):
        check_texts(["", " "])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("caf\u00e9", "cafe\u0301"),
        ("\u212b", "\u00c5"),
        ("a b", "  a \t\n b "),
        ("a b", "a\u00a0b"),
        ("a b", "a\u3000b"),
        ("한", unicodedata.normalize("NFD", "한")),
    ],
    ids=ascii,
)
def test_texts_that_look_equal_are_one_text_counted_twice(one, other):
    got = check_texts([one, "!", other])
    assert got.inverse.tolist() == [1, 0, 1]
    assert got.counts.tolist() == [1, 2]


@pytest.mark.parametrize(("one", "other"), [("a b", "ab"), ("Fish", "fish"), ("é", "e"), ("ﬁ", "fi")])
def test_different_texts_are_not_merged(one, other):
    assert check_texts([one, other]).unique == sorted([one, other])


@pytest.mark.parametrize("text", ["\ud800", "half an emoji \ud83d", "\udcff tail"], ids=ascii)
def test_a_lone_surrogate_is_replaced_so_that_the_text_can_be_encoded(text):
    got = check_texts([text, "!"])
    assert got.inverse.tolist() == [1, 0]
    assert got.unique[1].encode("utf-8")


@pytest.mark.parametrize(
    ("values", "blank", "expected"),
    [
        (np.array([5, 6]), -1, [5, -1, 6, 5]),
        (np.array([0.5, 0.25]), np.nan, [0.5, np.nan, 0.25, 0.5]),
        (np.array([5, 6]), np.nan, [5, np.nan, 6, 5]),
        (np.eye(2), np.nan, [[1, 0], [np.nan, np.nan], [0, 1], [1, 0]]),
    ],
)
def test_expand_gives_each_row_the_value_of_its_text(values, blank, expected):
    np.testing.assert_array_equal(check_texts(["a", "", "b", "a"]).expand(values, blank), expected)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.text(st.characters(), max_size=6) | st.sampled_from([*BLANK, "a", "a ", "\ud800"]), max_size=12))
def test_any_texts_are_an_error_or_deduplicated(texts):
    try:
        got = check_texts(texts)
    except InputError:
        kinds = {unicodedata.category(char) for text in texts for char in text}
        assert all(kind[0] in "CZ" and kind != "Cs" for kind in kinds)
        return
    assert got.n_rows == len(texts)
    assert len(set(got.unique)) == len(got.unique) == len(got.counts)
    assert got.counts.min() >= 1
    assert got.counts.sum() == got.n_rows - got.n_blank
    for text, row in zip(texts, got.expand(np.array(got.unique, dtype=object), ""), strict=True):
        assert row == "" or row == check_texts([text]).unique[0]
        assert (row == "") == (check_texts([text, "x"]).n_blank == 1)
    assert check_texts(got.unique).unique == got.unique


def test_the_accents_of_one_letter_are_sorted_in_linear_time():
    accents = "".join(np.random.default_rng(0).choice(list("\u0301\u0316\u0344\u0323\u0345"), 600))
    assert nfc(f"a{accents} e\u0301") == unicodedata.normalize("NFC", f"a{accents} e\u0301")
    start = time.process_time()
    nfc("a" + "\u0301\u0316" * 100_000)
    assert time.process_time() - start < 10  # about a minute by insertion
