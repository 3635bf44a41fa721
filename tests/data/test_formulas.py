import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.data.files import Table
from coterie.data.files.formulas import is_formula, without_formulas

FORMULAS = ["=1+1", "+SUM(A1)", "-2+3+cmd|' /C calc'!A0", "@A1", "\t=1", "\r=1", " =1", "＝1", "=", "-a", "- item"]  # noqa: RUF001
HARMLESS = ["", "a", "'=1", "a=b", "-5", "-5.3", "+49 170 12", "1e-5", "-1e-5", "-3 %", "-", "--", "3-4", None, -5, 2.5]


@pytest.mark.parametrize("cell", FORMULAS, ids=ascii)
def test_a_formula_gets_an_apostrophe(cell):
    table, n = without_formulas(Table({"text": [cell, "a"], cell: ["b", cell]}, "csv"))
    assert table.columns == {"text": [f"'{cell}", "a"], f"'{cell}": ["b", f"'{cell}"]}
    assert n == 3


@pytest.mark.parametrize("cell", HARMLESS, ids=repr)
def test_other_cells_stay_as_they_are(cell):
    table = Table({"text": [cell]}, "csv")
    assert without_formulas(table) == (table, 0)


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_formats_with_types_stay_as_they_are(kind):
    table = Table({"text": ["=1"]}, kind)
    assert without_formulas(table) == (table, 0)


@given(st.lists(st.text(max_size=5) | st.sampled_from(FORMULAS), max_size=5))
def test_no_formula_is_left(cells):
    table, _ = without_formulas(Table({"text": cells}, "csv"))
    assert not any(map(is_formula, table.columns["text"]))
