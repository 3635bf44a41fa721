"""Files that libraries have no answer for: a sentence, or a column of texts with a warning."""

import datetime
import encodings
import pkgutil
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coterie.data.files import Table, read_table, write_table
from coterie.errors import ChangedTypeWarning, InputError

CODECS = sorted(module.name for module in pkgutil.iter_modules(encodings.__path__))


@pytest.mark.parametrize("data", [b"text\nabc\n", b"text\n+caf\xe9 \xff+", b"+", b"\xff\xfe"], ids=ascii)
def test_every_codec_reads_a_file_or_is_an_error(tmp_path, data):
    (tmp_path / "t.csv").write_bytes(data)
    n_read = 0
    for codec in CODECS:
        with suppress(InputError):
            n_read += bool(read_table(tmp_path / "t.csv", encoding=codec).columns)
    assert n_read > 10


def test_dates_that_python_cannot_hold_are_read_as_text(tmp_path):
    table = pa.table(
        {
            "text": ["a", "b"],
            "day": pa.array([10**8, 3], pa.date32()),
            "when": pa.array([10**18, 5], pa.timestamp("us")),
            "fine": pa.array([0, 1], pa.date32()),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.warns(ChangedTypeWarning, match="column '(day|when)' has dates that Python cannot hold"):
        columns = read_table(tmp_path / "t.parquet").columns
    assert columns["day"][1] == "1970-01-04"
    assert all(isinstance(cell, str) for name in ("day", "when") for cell in columns[name])
    assert columns["fine"] == [datetime.date(1970, 1, 1), datetime.date(1970, 1, 2)]


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ([1, "x", None, {"a": [2]}], ["1", "x", None, '{"a": [2]}']),
        ([10**30, 1], [str(10**30), "1"]),
        ([2**64, -1], [str(2**64), "-1"]),
        ([[1], "x"], ["[1]", "x"]),
    ],
    ids=["mixed", "large", "beyond-64-bits", "list"],
)
def test_a_column_that_parquet_has_no_type_for_is_written_as_text(tmp_path, values, written):
    with pytest.warns(ChangedTypeWarning, match="The column 'n' has values of several types"):
        write_table(Table({"n": values}, "parquet"), tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").columns == {"n": written}
