import codecs
import gzip
import io
import sys
from dataclasses import replace

import pytest

from coterie.data.files import Table, dump_table, read_table, write_table
from coterie.data.text_column import text_column
from coterie.errors import InputError

ROWS = {"id": ["007", "1e3", ""], "text": ["plain", 'a "quoted", comma; tab\t|', "two\nlines, é 中 👍\u2028"]}
TABLES = {
    "csv": Table(ROWS, "csv"),
    "tsv": Table(ROWS, "tsv", "\t"),
    "jsonl": Table(ROWS | {"n": [1, None, {"deep": [2.5, True]}]}, "jsonl"),
    "parquet": Table(ROWS | {"n": [1, None, 3]}, "parquet"),
}


def put(folder, name, data):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def check_error(path, *messages, **options):
    with pytest.raises(InputError) as error:
        read_table(path, **options)
    for message in messages:
        assert message in str(error.value)


@pytest.mark.parametrize("gzipped", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize("kind", TABLES)
def test_a_table_comes_back_as_it_was_written(tmp_path, kind, gzipped):
    table = replace(TABLES[kind], gzipped=gzipped)
    write_table(table, tmp_path / f"t{table.suffix}")
    assert (tmp_path / f"t{table.suffix}").read_bytes().startswith(b"\x1f\x8b") == gzipped
    assert table.suffix == f".{kind}" + ".gz" * gzipped
    assert read_table(tmp_path / f"t{table.suffix}") == table


@pytest.mark.parametrize("kind", TABLES)
def test_gzip_is_detected_without_its_suffix(tmp_path, kind):
    path = put(tmp_path, f"t.{kind}", gzip.compress(dump_table(TABLES[kind])))
    assert read_table(path) == replace(TABLES[kind], gzipped=True)


@pytest.mark.parametrize("name", ["t.txt", "t.txt.gz", "t.text"])
def test_plain_text_is_written_as_csv_with_the_same_texts(tmp_path, name):
    data = "first, one\n\n last \u2028one\r\nend".encode()
    read = read_table(put(tmp_path, name, gzip.compress(data) if name.endswith(".gz") else data))
    assert read.columns == {"text": ["first, one", "", " last \u2028one", "end"]}
    write_table(read, tmp_path / f"again{read.suffix}")
    assert read.suffix == (".csv.gz" if name.endswith(".gz") else ".csv")
    assert read_table(tmp_path / f"again{read.suffix}").columns == read.columns


@pytest.mark.parametrize(
    ("name", "expected"),
    [("t.CSV", "csv"), ("t.tab", "tsv"), ("t.ndjson", "jsonl"), ("t.pq", "parquet"), ("t.b.TSV.GZ", "tsv")],
)
def test_the_suffix_determines_the_format(tmp_path, name, expected):
    path = put(tmp_path, name, dump_table(TABLES[expected]))
    assert read_table(path).format == expected


def test_an_explicit_format_overrides_the_suffix(tmp_path):
    path = put(tmp_path, "t.csv", "a, b\nc\n")
    assert read_table(path, file_format="txt").columns == {"text": ["a, b", "c"]}


@pytest.mark.parametrize("encoding", ["utf-8", "UTF8", "utf_8"])
def test_a_bom_is_not_part_of_the_first_column(tmp_path, encoding):
    path = put(tmp_path, "t.csv", codecs.BOM_UTF8 + b"text,n\na,1\n")
    assert list(read_table(path, encoding=encoding).columns) == ["text", "n"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_all_line_endings_are_read(tmp_path, end):
    path = put(tmp_path, "t.csv", end.join(["a,b", "1,2", "3,4"]) + end)
    assert read_table(path).columns == {"a": ["1", "3"], "b": ["2", "4"]}


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_and_kept(tmp_path, mark):
    path = put(tmp_path, "t.csv", f"id{mark}text\n1{mark}x\n")
    table = read_table(path)
    assert table == Table({"id": ["1"], "text": ["x"]}, "csv", mark)
    assert dump_table(table) == path.read_bytes()


def test_an_explicit_delimiter_overrides_the_guess(tmp_path):
    path = put(tmp_path, "t.csv", "a,b;c\n1,2;3\n")
    assert read_table(path, delimiter=";").columns == {"a,b": ["1,2"], "c": ["3"]}


@pytest.mark.parametrize(
    ("data", "names"),
    [('"a, b";c\nx;y\n', ["a, b", "c"]), (dump_table(Table({"a;b": ["x"]}, "csv")), ["a;b"])],
)
def test_a_delimiter_inside_a_column_name_is_ignored(tmp_path, data, names):
    assert list(read_table(put(tmp_path, "t.csv", data)).columns) == names


def test_a_delimiter_of_several_characters_is_an_error(tmp_path):
    check_error(put(tmp_path, "t.csv", "a,b\n"), "delimiter", delimiter="::")


def test_a_tab_delimiter_can_be_written_as_backslash_t(tmp_path):
    assert list(read_table(put(tmp_path, "t.csv", "a,b\tc\n"), delimiter="\\t").columns) == ["a,b", "c"]


@pytest.mark.parametrize(
    ("bom", "byte", "line"),
    [
        (b"", 8, 2),
        (codecs.BOM_UTF8, 11, 2),
    ],
)
def test_the_position_of_a_byte_that_is_not_utf8_is_reported(tmp_path, bom, byte, line):
    path = put(tmp_path, "t.csv", bom + b"text\ncaf\xe9\n")
    check_error(path, f"byte {byte} (line {line}) is 0xe9", "--encoding latin-1", encoding="utf-8")


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "shift_jis"])
def test_other_encodings_are_read_when_named(tmp_path, encoding):
    word = "ｶﾌｪ" if encoding == "shift_jis" else "café"
    path = put(tmp_path, "t.csv", f"text,n\n{word},1\n".encode(encoding))
    assert read_table(path, encoding=encoding).columns == {"text": [word], "n": ["1"]}


@pytest.mark.parametrize(
    ("data", "message"),
    [("text\nx\n".encode("utf-16"), "byte 0"), ("text\nx\n".encode("utf-16-le"), "zero byte at character 1")],
)
def test_utf16_is_suggested_where_it_is_likely(tmp_path, data, message):
    check_error(put(tmp_path, "t.csv", data), message, "--encoding utf-16", encoding="utf-8")


@pytest.mark.parametrize("encoding", ["nope", "base64"])
def test_an_unknown_encoding_is_an_error(tmp_path, encoding):
    check_error(put(tmp_path, "t.csv", "a"), f"no encoding called '{encoding}'", encoding=encoding)


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "txt"])
def test_the_position_of_a_zero_byte_is_reported(tmp_path, kind):
    check_error(put(tmp_path, f"t.{kind}", b"ab\0c\n"), "zero byte at character 2")


@pytest.mark.parametrize(
    ("name", "data", "messages"),
    [
        ("t.csv", "a,b\n1,2\n1,2,3\n", ["line 3: 3 fields", "header has 2 ('a', 'b')", "--delimiter"]),
        ("t.csv", "a,b\n1,2\n\n1\n", ["line 4: 1 fields"]),
        ("t.csv", 'a,b\n"x\ny",2\n1\n', ["line 4: 1 fields"]),
        ("t.tsv", "a\tb\n1\n", ["line 2: 1 fields", "'\\t'"]),
        ("t.csv", 'a,b\n1,"2\n1,2\n', ["line 3", "quote left open"]),
        ("t.csv", 'a,b\n1,"2"x\n', ["line 2", "quote left open"]),
        ("t.csv", "a,b,a\n1,2,3\n", ["column name 'a' occurs twice"]),
        ("t.jsonl", '{"a": 1}\n\n{"a":\n', ["line 3: not valid JSON"]),
        ("t.jsonl", '{"a": 1}\n[2]\n', ["line 2: expected an object or a string", "'[2]'"]),
        ("t.jsonl", "3\n", ["line 1: expected an object or a string"]),
        ("t.parquet", b"", ["not a complete Parquet file"]),
        ("t.parquet", dump_table(TABLES["parquet"])[:-3], ["not a complete Parquet file"]),
        ("t.parquet", b"text\nx\n" * 9, ["not a complete Parquet file"]),
        ("t.csv.gz", gzip.compress(b"text\nx\n", mtime=0)[:-3], ["not a complete gzip file"]),
        ("t.csv", gzip.compress(b"text\nx\n", mtime=0)[:4], ["not a complete gzip file"]),
        ("t.csv.gz", gzip.compress(b"text\nx\n", mtime=0) + b"rest", ["not a complete gzip file"]),
        ("t.xyz", "a", ["unknown file name suffix", "--format: csv, tsv, jsonl, parquet, xlsx, txt"]),
        ("t", "a", ["unknown file name suffix"]),
        ("t.gz", "a", ["unknown file name suffix"]),
    ],
)
def test_the_error_of_a_broken_file_names_file_and_line(tmp_path, name, data, messages):
    path = put(tmp_path, name, data)
    check_error(path, str(path), *messages)


def flip_byte(data, position):
    return data[:position] + bytes([data[position] ^ 0xFF]) + data[position + 1 :]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("t.csv.gz", gzip.compress(b"text\nx\n", mtime=0)[:10] + b"\x07" * 20),  # a block type that does not exist
        ("t.parquet", flip_byte(dump_table(Table({"text": ["a b c", "d"] * 99}, "parquet")), 12)),
        ("t.jsonl", "[" * 100_000),
    ],
    ids=["zlib", "snappy", "depth"],
)
def test_a_corrupt_file_is_an_error(tmp_path, name, data):
    check_error(put(tmp_path, name, data), name)


def test_a_missing_file_is_an_error(tmp_path):
    check_error(tmp_path / "none.csv", f"There is no file {tmp_path / 'none.csv'}")


def test_a_folder_without_text_files_is_an_error(tmp_path):
    (tmp_path / "t.csv").mkdir()
    check_error(tmp_path / "t.csv", "There are no text files (.txt) in the folder")


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_an_empty_file_has_no_text_column(tmp_path, kind):
    table = read_table(put(tmp_path, f"t.{kind}", ""))
    assert table.n_rows == 0
    with pytest.raises(InputError, match="The file is empty"):
        text_column(table.columns)


def test_an_empty_text_file_has_no_lines(tmp_path):
    assert read_table(put(tmp_path, "t.txt", "")).columns == {"text": []}


def test_json_strings_and_objects_with_different_keys_make_a_table(tmp_path):
    path = put(tmp_path, "t.jsonl", '"a"\n{"text": "b", "n": 1}\n{"m": null}\n')
    assert read_table(path).columns == {"text": ["a", "b", None], "n": [None, 1, None], "m": [None] * 3}


def test_a_dash_reads_plain_text_from_stdin_unless_another_format_is_set(monkeypatch):
    for options, expected in [({}, {"text": ["a,b", "1,2"]}), ({"file_format": "csv"}, {"a": ["1"], "b": ["2"]})]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n")))
        assert read_table("-", **options).columns == expected
