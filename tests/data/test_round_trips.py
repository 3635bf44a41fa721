import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.data.files import Table, dump_table, read_table, write_table

SAFE = st.characters(exclude_categories=["Cs"], exclude_characters="\0\r")
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n;\t|\ufeff"), max_size=5)


def tables(alphabet):
    """Tables of strings: 1 to 3 columns, 0 to 5 rows."""
    cells = st.text(alphabet, max_size=8)
    return st.lists(NAMES, min_size=1, max_size=3, unique=True).flatmap(
        lambda names: st.integers(0, 5).flatmap(
            lambda n: st.fixed_dictionaries({name: st.lists(cells, min_size=n, max_size=n) for name in names})
        )
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("round")


def write_and_read(table, folder, **options):
    write_table(table, folder / f"t{table.suffix}")
    return read_table(folder / f"t{table.suffix}", **options)


@settings(deadline=None, max_examples=50)
@given(columns=tables(SAFE), delimiter=st.sampled_from(",;\t|"), gzipped=st.booleans())
def test_any_table_of_strings_survives_csv(folder, columns, delimiter, gzipped):
    table = Table(columns, "csv", delimiter, gzipped)
    assert write_and_read(table, folder, delimiter=delimiter, header=True) == table


@settings(deadline=None, max_examples=50)
@given(columns=tables(SAFE))
def test_any_table_of_strings_survives_csv_with_a_guessed_delimiter(folder, columns):
    table = Table(columns, "csv")
    assert write_and_read(table, folder, header=True) == table


@settings(deadline=None, max_examples=50)
@given(columns=tables(st.characters(exclude_categories=["Cs"])), gzipped=st.booleans())
def test_any_table_of_strings_survives_jsonl(folder, columns, gzipped):
    table = Table(columns, "jsonl", gzipped=gzipped)
    expected = columns if table.n_rows else {}
    assert write_and_read(table, folder).columns == expected


@settings(deadline=None, max_examples=30)
@given(columns=tables(st.characters(exclude_categories=["Cs"])))
def test_any_table_of_strings_survives_parquet(folder, columns):
    table = Table(columns, "parquet")
    assert write_and_read(table, folder).columns == columns


@settings(deadline=None, max_examples=50)
@given(lines=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n\ufeff"))))
def test_any_lines_survive_as_texts(folder, lines):
    (folder / "t.txt").write_bytes("".join(f"{line}\n" for line in lines).encode())
    table = read_table(folder / "t.txt")
    assert table.columns == {"text": lines}
    assert write_and_read(table, folder, header=True).columns == {"text": lines}


@pytest.mark.parametrize("names", [["a"], ["a", "b"]])
def test_a_bare_carriage_return_survives_csv(folder, names):
    table = Table({name: ["x\ry", "z"] for name in names}, "csv")
    assert write_and_read(table, folder) == table


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_a_lone_surrogate_from_json_can_be_written(folder, kind):
    (folder / "half.jsonl").write_text('{"text": "half \\ud83d"}\n')
    texts = read_table(folder / "half.jsonl").columns
    assert b"half" in dump_table(Table(texts, kind, "\t" if kind == "tsv" else ","))


def test_a_blank_line_is_a_blank_text_if_there_is_one_column(folder):
    (folder / "one.csv").write_text("text\na\n\nb\n")
    assert read_table(folder / "one.csv").columns == {"text": ["a", "", "b"]}


def test_a_blank_line_is_skipped_if_there_are_several_columns(folder):
    (folder / "two.csv").write_text("id,text\n1,a\n\n2,b\n\n")
    assert read_table(folder / "two.csv").columns == {"id": ["1", "2"], "text": ["a", "b"]}


def test_new_columns_come_last_and_replace_columns_of_the_same_name():
    table = Table({"cluster": ["old"], "text": ["a"]}, "csv").with_columns(cluster=[1], confidence=[0.5])
    assert list(table.columns.items()) == [("text", ["a"]), ("cluster", [1]), ("confidence", [0.5])]
    assert dump_table(table) == b"text,cluster,confidence\na,1,0.5\n"


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_none_is_written_as_an_empty_cell(kind):
    mark = "\t" if kind == "tsv" else ","
    assert dump_table(Table({"a": [None], "b": [1]}, kind, mark)) == f"a{mark}b\n{mark}1\n".encode()


def test_gzip_stores_no_date_so_that_equal_tables_have_equal_bytes(folder):
    write_table(Table({"a": ["x"]}, "csv", gzipped=True), folder / "dated.csv.gz")
    assert (folder / "dated.csv.gz").read_bytes()[4:8] == bytes(4)
