import pytest

from coterie.data.files import read_table

NAMED = {
    "usual": "id,text\n1,I forgot my password\n2,the printer is on fire\n",
    "other-names": "nummer,nachricht\n1,I forgot my password\n2,the printer is on fire\n",
    "survey": "Answer date,What do you like about us?\n2020-01-02,it is very fast\n2020-01-03,you are all kind\n",
    "one-column-survey": "What do you like about our service?\nit is very fast\nyou are all kind\n",
    "years": "land,2019,2020\nA,1,2\nB,3,4\nland use,5,6\n",
    "short-words": "foo,bar\nx,y\nz,w\n",
    "only-header": "17,I forgot my password\n",
}
UNNAMED = {
    "id-and-text": "17,I forgot my password\n18,the printer is on fire\n19,where is my invoice\n",
    "dates": "2019-12-31,open,no sound at all\n2020-01-01,open,I forgot it again\n2020-01-02,closed,it is on fire\n",
    "one-column": "I forgot my password\nthe printer is on fire\nwhere is my invoice\n",
    "one-column-short": "forgot my password\nprinter fire\nmissing invoice\nslow printer again\n",
    "twice": "1,1,a b\n2,2,c d\n3,3,e f\n",
}


@pytest.mark.parametrize("name", NAMED)
def test_a_header_is_recognized(tmp_path, name):
    (tmp_path / "t.csv").write_text(NAMED[name])
    table = read_table(tmp_path / "t.csv")
    assert ",".join(table.columns) == NAMED[name].splitlines()[0]
    assert table.notes == ()


@pytest.mark.parametrize(
    ("name", "header"), [*((name, None) for name in UNNAMED), *((name, False) for name in [*UNNAMED, "only-header"])]
)
def test_without_a_header_no_row_is_lost(tmp_path, name, header):
    text = (UNNAMED | NAMED)[name]
    (tmp_path / "t.csv").write_text(text)
    table = read_table(tmp_path / "t.csv", header=header)
    assert table.n_rows == len(text.splitlines())
    names = [f"column_{i}" for i in range(1, len(table.columns) + 1)]
    assert list(table.columns) == (names if len(names) > 1 else ["text"])
    assert [cells[0] for cells in table.columns.values()] == text.splitlines()[0].split(",")
    assert [("looks like data" in note, "--header" in note) for note in table.notes] == [(True, True)] * (
        header is None
    )


def test_a_header_can_be_insisted_on(tmp_path):
    (tmp_path / "t.csv").write_text(UNNAMED["one-column"])
    table = read_table(tmp_path / "t.csv", header=True)
    assert list(table.columns) == ["I forgot my password"]
    assert table.notes == ()
