import gzip

import pytest

from coterie.data.files import Table, convert_for, read_table, write_table
from coterie.errors import InputError

TABLE = Table({"text": ["a", "b;c"], "cluster": [0, 1]}, "csv", ";")


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.jsonl", "x.parquet", "x.csv.gz", "x.jsonl.gz"])
def test_the_suffix_of_the_target_determines_the_format(tmp_path, name):
    write_table(convert_for(TABLE, tmp_path / name), tmp_path / name)
    assert read_table(tmp_path / name).columns["text"] == ["a", "b;c"]
    assert name.endswith(".gz") == ((tmp_path / name).read_bytes()[:2] == gzip.compress(b"")[:2])


def test_a_name_without_suffix_keeps_the_format(tmp_path):
    assert convert_for(TABLE, tmp_path / "result") == TABLE


def test_plain_text_is_an_error(tmp_path):
    with pytest.raises(InputError, match="plain text has no columns"):
        convert_for(TABLE, tmp_path / "x.txt")
