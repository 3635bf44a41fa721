import unicodedata

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.data.texts import check_texts
from coterie.errors import InputError

TWO = ["one fish", "two fish"]
FRAME = {"id": [1, 2], "note": TWO}


def same(texts, column=None):
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
def test_every_kind_of_sequence_gives_the_same_texts(texts):
    same(texts)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_gives_the_column_asked_for(frame):
    same(frame(FRAME), "note")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_of_one_column_needs_no_name(frame):
    same(frame({"note": TWO}))


def test_the_texts_are_plain_strings_in_the_order_of_their_first_row():
    got = check_texts(np.array(["b", "a", "b"]))
    assert got.unique == ["b", "a"]
    assert {type(text) for text in got.unique} == {str}
    assert (got.inverse.dtype, got.counts.dtype) == (np.int64, np.int64)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(("column", "said"), [("nota", "no column 'nota'"), (None, "Name the text column")])
def test_a_missing_column_lists_the_columns(frame, column, said):
    with pytest.raises(InputError, match=said) as error:
        check_texts(frame(FRAME), column)
    assert "'id', 'note'" in str(error.value)


def test_a_column_without_a_frame_is_refused():
    with pytest.raises(InputError, match="column='note' needs a data frame, got list"):
        check_texts(TWO, "note")


@pytest.mark.parametrize("none", [[], (), np.array([], dtype=str), iter(()), pd.Series([], dtype=str), pl.Series([])])
def test_no_texts_are_refused(none):
    with pytest.raises(InputError, match="There are no texts"):
        check_texts(none)


@pytest.mark.parametrize("single", ["one fish", b"one fish", np.str_("one fish"), ""])
def test_one_string_is_not_a_list_of_its_letters(single):
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
        pytest.param(pd.NA),
    ],
    ids=lambda value: f"{type(value).__name__}",
)
def test_a_missing_text_is_named_by_its_row(missing):
    with pytest.raises(InputError, match="Row 3 is missing"):
        check_texts(["a", "b", missing, "c", None])


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(["a", None]),
        pd.Series(["a", None], dtype=object),
        pytest.param(
            pd.Series(["a", None], dtype="string"),
        ),
        pl.Series(["a", None]),
    ],
    ids=["pandas", "pandas-object", "pandas-string", "polars"],
)
def test_a_hole_in_a_series_is_named_by_its_row(series):
    with pytest.raises(InputError, match="Row 2 is missing"):
        check_texts(series)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (3, "int"),
        (2.5, "float"),
        (True, "bool"),
        (b"x", "bytes"),
        (["x"], "list"),
        pytest.param(
            np.array(["x", "y"]),
            "ndarray",
        ),
    ],
)
def test_what_is_not_a_text_is_named_with_its_kind_and_row(value, kind):
    with pytest.raises(InputError, match=rf"Row 2 is .*, a {kind}, not a text"):
        check_texts(["a", value])


@pytest.mark.parametrize("shape", [(2, 3), (2, 1), (0, 4), ()])
def test_an_array_that_is_not_a_row_of_texts_is_refused_with_its_shape(shape):
    with pytest.raises(InputError, match="precomputed") as error:
        check_texts(np.zeros(shape))
    assert str(shape) in str(error.value)


@pytest.mark.parametrize("thing", [3, None, 2.5, object()])
def test_what_has_no_rows_is_refused(thing):
    with pytest.raises(InputError, match=f"Expected texts, got {type(thing).__name__}"):
        check_texts(thing)


BLANK = ["", " ", "\t\n", "\u00a0", "\u3000", "\u200b", "\u200b \ufeff\u200d", "\u2028", "\x00", "\x07 \x1b"]


@pytest.mark.parametrize("blank", BLANK, ids=ascii)
def test_a_blank_text_keeps_its_row_and_gets_no_place(blank):
    got = check_texts(["a", blank, "b", blank])
    assert got.unique == ["a", "b"]
    assert got.inverse.tolist() == [0, -1, 1, -1]
    assert got.counts.tolist() == [1, 1]
    assert (got.n_rows, got.n_blank) == (4, 2)


@pytest.mark.parametrize("visible", [".", "?", "0", "👍", "\u200bx", "é", "中", "€"])
def test_a_text_of_one_visible_character_is_not_blank(visible):
    assert check_texts([visible]).n_blank == 0


@pytest.mark.parametrize("blank", BLANK, ids=ascii)
def test_on_empty_error_names_the_first_blank_row(blank):
    with pytest.raises(InputError, match="2 of 4 texts are empty, the first in row 2"):
        check_texts(["a", blank, "b", blank], on_empty="error")


def test_on_empty_error_lets_full_texts_pass():
    assert check_texts(["a", "b"], on_empty="error").n_rows == 2


def test_only_blank_texts_are_refused_even_when_blanks_are_kept():
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
    got = check_texts([one, "x", other])
    assert got.inverse.tolist() == [0, 1, 0]
    assert got.counts.tolist() == [2, 1]


@pytest.mark.parametrize(("one", "other"), [("a b", "ab"), ("Fish", "fish"), ("é", "e"), ("ﬁ", "fi")])
def test_texts_that_read_differently_stay_apart(one, other):
    assert check_texts([one, other]).unique == [one, other]


@pytest.mark.parametrize("text", ["\ud800", "half an emoji \ud83d", "\udcff tail"], ids=ascii)
def test_a_lone_surrogate_becomes_a_text_that_can_be_encoded(text):
    got = check_texts([text, "b"])
    assert got.inverse.tolist() == [0, 1]
    assert got.unique[0].encode("utf-8")


@pytest.mark.parametrize(
    ("values", "blank", "expected"),
    [
        (np.array([5, 6]), -1, [5, -1, 6, 5]),
        (np.array([0.5, 0.25]), np.nan, [0.5, np.nan, 0.25, 0.5]),
        (np.array([5, 6]), np.nan, [5, np.nan, 6, 5]),
        (np.eye(2), np.nan, [[1, 0], [np.nan, np.nan], [0, 1], [1, 0]]),
    ],
)
def test_spread_gives_each_row_the_value_of_its_text(values, blank, expected):
    np.testing.assert_array_equal(check_texts(["a", "", "b", "a"]).spread(values, blank), expected)


@settings(deadline=None)
@given(st.lists(st.text(st.characters(), max_size=6) | st.sampled_from([*BLANK, "a", "a ", "\ud800"]), max_size=12))
def test_any_texts_are_refused_or_accounted_for(texts):
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
    for text, row in zip(texts, got.spread(np.array(got.unique, dtype=object), ""), strict=True):
        assert row == "" or row == check_texts([text]).unique[0]
        assert (row == "") == (check_texts([text, "x"]).n_blank == 1)
    assert check_texts(got.unique).unique == got.unique
