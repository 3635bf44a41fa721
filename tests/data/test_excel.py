import datetime
import io
import zipfile
from dataclasses import replace

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.data.files import Table, convert_for, dump_table, read_table, write_table
from coterie.errors import ChangedTypeWarning, InputError

TEXTS = ["plain", "=1+1", "@A1", "#N/A", "two\nlines é 👍", " spaces ", "'quoted", "007"]
CELLS = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"), min_size=1, max_size=8
)


def book(path, **sheets):
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


def test_a_workbook_comes_back_as_it_was_written(tmp_path):
    day, time = datetime.datetime(2020, 1, 2), datetime.datetime(2020, 1, 2, 3, 4, 5)
    table = Table({"text": TEXTS, "n": [1, 2.5, True, None, -3, 0, day, time]}, "xlsx")
    write_table(table, tmp_path / f"t{table.suffix}")
    assert table.suffix == ".xlsx"
    assert read_table(tmp_path / "t.xlsx") == table
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").active
    assert {cell.data_type for cell in sheet["A"]} == {"s"}  # no formula


@settings(deadline=None, max_examples=20)
@given(st.lists(CELLS, min_size=1, max_size=5))
def test_any_texts_survive(tmp_path_factory, cells):
    path = tmp_path_factory.mktemp("excel") / "t.xlsx"
    write_table(Table({"text": cells}, "xlsx"), path)
    assert read_table(path).columns == {"text": cells}


def test_what_excel_has_no_type_for_is_written_as_text(tmp_path):
    zone = datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC)
    values = [10**20, {"a": [1]}, zone, datetime.date(1, 1, 1), float("nan"), "bell\x07", "half \ud83d"]
    write_table(Table({"v": values, "text": ["x"] * 7}, "xlsx"), tmp_path / "t.xlsx")
    expected = [str(10**20), '{"a": [1]}', str(zone), "0001-01-01", None, "bell\ufffd", "half \ufffd"]
    assert read_table(tmp_path / "t.xlsx").columns["v"] == expected


def test_a_text_that_excel_cannot_hold_is_cut_with_a_warning(tmp_path):
    with pytest.warns(ChangedTypeWarning, match="32,767 characters in a cell: 1 cell cut"):
        write_table(Table({"text": ["x" * 40_000, "short"]}, "xlsx"), tmp_path / "t.xlsx")
    assert [len(text) for text in read_table(tmp_path / "t.xlsx").columns["text"]] == [32_767, 5]


def test_gaps_and_empty_columns_of_a_sheet_are_left_out(tmp_path):
    rows = [[], [None, "id", None, "text"], [None, 1, None, "a"], [], [None, 2, None, "b", None, "note"], []]
    table = read_table(book(tmp_path / "t.xlsx", Data=rows))
    assert table.columns == {"id": [1, None, 2], "text": ["a", None, "b"], "column_3": [None, None, "note"]}


def test_the_first_sheet_is_read_unless_another_is_named(tmp_path):
    path = book(tmp_path / "t.xlsx", One=[["text"], ["a"]], Two=[["text"], ["b"]])
    assert read_table(path).columns == {"text": ["a"]}
    assert read_table(path).notes == (f"{path} has 2 sheets; 'One' was read. Name another with --sheet.",)
    assert read_table(path, sheet="Two").columns == {"text": ["b"]}
    with pytest.raises(InputError, match=r"no sheet 'Tow'. Did you mean 'Two'\? The sheets are: 'One', 'Two'"):
        read_table(path, sheet="Tow")


def test_a_sheet_of_a_csv_file_is_an_error(tmp_path):
    (tmp_path / "t.csv").write_text("text\na\n")
    with pytest.raises(InputError, match="--sheet is for Excel files"):
        read_table(tmp_path / "t.csv", sheet="One")


def damaged(name):
    """Return a workbook in which one part is something else."""
    source = zipfile.ZipFile(io.BytesIO(dump_table(Table({"text": ["a"]}, "xlsx"))))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as target:
        for part in source.namelist():
            target.writestr(part, b"<!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>" if name in part else source.read(part))
    return stream.getvalue()


@pytest.mark.parametrize(
    "data",
    [b"", b"text\na\n", dump_table(Table({"text": ["a"]}, "xlsx"))[:-30], damaged("sheet1"), damaged("workbook.xml")],
    ids=["empty", "csv", "cut", "sheet", "book"],
)
def test_a_damaged_workbook_is_an_error(tmp_path, data):
    (tmp_path / "t.xlsx").write_bytes(data)
    with pytest.raises(InputError, match=r"t.xlsx is not a complete Excel file"):
        read_table(tmp_path / "t.xlsx")


def test_a_workbook_above_the_limits_is_an_error(monkeypatch, tmp_path):
    path = book(tmp_path / "t.xlsx", One=[["text"], *[["a"]] * 20])
    for variable, value in (("COTERIE_MAX_ROWS", "10"), ("COTERIE_MAX_BYTES", "6000")):
        monkeypatch.setenv(variable, value)
        with pytest.raises(InputError, match=rf"t.xlsx has more than [\d,]+ (rows|bytes).*{variable}"):
            read_table(path)
        monkeypatch.delenv(variable)


def test_a_table_that_is_too_long_for_a_sheet_is_an_error_before_the_work(tmp_path):
    table = Table({"text": ["a"]}, "csv")
    long = replace(table, columns={"text": ["a"] * 1_048_576})
    assert convert_for(table, tmp_path / "t.xlsx").format == "xlsx"
    with pytest.raises(InputError, match="at most 1,048,576 rows"):
        convert_for(long, tmp_path / "t.xlsx")
