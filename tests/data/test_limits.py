"""Small files that hold much: each limit has its sentence, and an environment variable that raises it."""

import gzip
import itertools
import json

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coterie.data.files import Table, dump_table, excel, read_table
from coterie.data.limits import BYTES, CELLS, COLUMNS, PIXELS, ROWS
from coterie.errors import InputError


def parquet(table, path):
    pq.write_table(table, path, compression="zstd")


def repeated(text, n):
    """Return one text ``n`` times, of which Parquet stores one."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, dtype=np.int32)), pa.array([text]))


FILES = {
    ("rows", "lines.txt"): lambda path: path.write_text("a\n" * 11),
    ("rows", "rows.csv"): lambda path: path.write_text("text\n" + "a\n" * 11),
    ("rows", "rows.jsonl"): lambda path: path.write_text('"a"\n' * 11),
    ("rows", "rows.parquet"): lambda path: parquet(pa.table({"text": repeated("a", 11)}), path),
    ("columns", "columns.csv"): lambda path: path.write_text(",".join(f"c{i}" for i in range(11)) + "\n"),
    ("columns", "fields.csv"): lambda path: path.write_text("a,b\n" + "," * 11 + "\n"),
    ("columns", "columns.jsonl"): lambda path: path.write_text(json.dumps({f"c{i}": i for i in range(11)})),
    ("columns", "columns.parquet"): lambda path: parquet(pa.table({f"c{i}": [1] for i in range(11)}), path),
    ("cells", "cells.csv"): lambda path: path.write_text("a,b,c\n" + "1,2,3\n" * 9),
    ("cells", "keys.jsonl"): lambda path: path.write_text("".join(f'{{"c{i}": 0}}\n' for i in range(9))),
    ("cells", "list.jsonl"): lambda path: path.write_text('{"a": [' + "0," * 30 + "0]}"),
    ("cells", "list.parquet"): lambda path: parquet(pa.table({"a": [[0] * 30]}), path),
    ("bytes", "bytes.txt"): lambda path: path.write_bytes(b"a" * 20_001),
    ("bytes", "bytes.csv.gz"): lambda path: path.write_bytes(gzip.compress(b"text\n" + b"a" * 20_000)),
    ("bytes", "strings.parquet"): lambda path: parquet(pa.table({"a": repeated("x" * 4_000, 6)}), path),
    ("bytes", "string_lists.parquet"): lambda path: parquet(pa.table({"a": pa.array([["x" * 5_000] * 5])}), path),
}


@pytest.mark.parametrize(("noun", "name"), FILES)
def test_a_file_above_a_limit_is_an_error_and_is_read_when_the_limit_is_raised(monkeypatch, tmp_path, noun, name):
    FILES[noun, name](tmp_path / name)
    for limit, value in ((ROWS, 10), (COLUMNS, 10), (CELLS, 24), (BYTES, 20_000)):
        monkeypatch.setenv(limit.variable, str(value))
    with pytest.raises(InputError, match=rf"{name} has more than [\d,]+ {noun}.* raise the limit .* COTERIE_MAX_"):
        read_table(tmp_path / name)
    for limit in (ROWS, COLUMNS, CELLS, BYTES):
        monkeypatch.delenv(limit.variable)
    if name != "fields.csv":  # has more fields than its header
        assert read_table(tmp_path / name).columns


@pytest.mark.parametrize("value", ["many", "0", "-1", "1e9"])
def test_a_limit_that_is_no_number_is_an_error(monkeypatch, value):
    monkeypatch.setenv("COTERIE_MAX_ROWS", value)
    with pytest.raises(InputError, match=r"COTERIE_MAX_ROWS is .* whole number above 0"):
        ROWS.check(1, "t.csv")


def test_very_many_columns_take_linear_time(monkeypatch, tmp_path):
    monkeypatch.setenv("COTERIE_MAX_COLUMNS", "100000")
    table = Table({f"c{i}": ["x"] for i in range(60_000)}, "csv")
    (tmp_path / "wide.csv").write_bytes(dump_table(table))
    assert len(read_table(tmp_path / "wide.csv").columns) == 60_000  # took minutes when it was quadratic


def test_a_parquet_file_of_every_type_is_read(tmp_path):
    frame = pl.DataFrame(
        {
            "text": ["a", None, "a"],
            "bytes": [b"a", b"b", None],
            "kind": pl.Series(["x", "y", "x"], dtype=pl.Categorical),
            "n": [1, 2, 3],
            "tags": [["a", "b"], [], None],
        }
    )
    frame.write_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").columns == frame.to_dict(as_series=False)
    pq.write_table(frame.to_arrow(), tmp_path / "groups.parquet", row_group_size=1)
    assert read_table(tmp_path / "groups.parquet").columns == frame.to_dict(as_series=False)


def test_an_image_above_the_limit_gets_no_cluster(monkeypatch, tmp_path):
    from PIL import Image

    from coterie.data.images import check_images

    for name, side in (("small.png", 8), ("large.png", 101)):
        Image.new("L", (side, side)).save(tmp_path / name)
    monkeypatch.setenv(PIXELS.variable, "10000")
    images = check_images(tmp_path)
    assert images.inverse.tolist() == [-1, 0]
    assert "large.png (it has more than 10,000 pixels. Make it smaller, or raise the limit" in images.blank_message
    monkeypatch.setenv(PIXELS.variable, "10201")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)  # Pillow's own limit would not be raised
    assert check_images(tmp_path).n_blank == 0


def test_a_folder_of_gzipped_texts_is_limited_by_what_they_unpack_to(tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_MAX_BYTES", "250000")
    for number in range(3):
        (tmp_path / f"{number}.txt").write_bytes(gzip.compress(b"x" * 100_000))
    with pytest.raises(InputError, match="more than 250,000 bytes"):
        read_table(tmp_path)


def test_lists_and_objects_in_json_count_as_several_cells(tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_MAX_CELLS", "1000")
    (tmp_path / "t.jsonl").write_text('{"text": [' + ",".join(["[]"] * 300) + "]}\n")
    with pytest.raises(InputError, match="more than 1,000 cells"):
        read_table(tmp_path / "t.jsonl")


def test_a_sheet_of_empty_rows_is_not_read_without_end(monkeypatch):
    monkeypatch.setattr(excel, "MAX_ROWS", 100)
    with pytest.raises(InputError, match="more rows than a sheet can have"):
        excel._columns((() for _ in itertools.count()), "t.xlsx")
