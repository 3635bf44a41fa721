"""Wrong input that must end in one sentence and exit code 2."""

import datetime
import json
import os

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from coterie.data.files import Table, dump_table

TEXTS = ["reset my password", "forgot my password", "password reset", "printer jam", "paper jam", "printer paper"]
CLUSTER = ["cluster", "t.csv", "-k", "2", "-e", "tfidf"]
VECTORS = ["cluster", "t.csv", "-k", "2", "--vectors"]


@pytest.fixture(scope="module")
def made(tmp_path_factory, invoke):
    """A folder with right and wrong inputs, and two models: of texts, and of ready vectors."""
    folder = tmp_path_factory.mktemp("wrong")
    before = os.getcwd()
    os.chdir(folder)
    table = {"id": range(6), "text": TEXTS, "label": list("aaabbb")}
    (folder / "t.csv").write_bytes(dump_table(Table(table, "csv")))
    (folder / "blank.csv").write_text("id,text\n1,a\n2,\n3,b\n")
    (folder / "two.csv").write_text("note,remark\nsome words,more words\nother words,last words\n")
    (folder / "russian.csv").write_bytes(b"text\n\xef\xf0\xe8\xe2\xe5\xf2\n")
    (folder / "half.jsonl").write_text("".join(json.dumps({"text": f"{text} \ud83d"}) + "\n" for text in TEXTS))
    dated = pyarrow.table({"text": TEXTS, "when": [datetime.date(2020, 1, 2)] * 6})
    pyarrow.parquet.write_table(dated, folder / "dated.parquet")
    (folder / "full").mkdir()
    (folder / "full" / "kept").write_text("x")
    vectors = np.arange(18.0).reshape(6, 3) ** 2
    np.save("vectors.npy", vectors)
    np.save("five.npy", vectors[:5])
    np.save("wide.npy", np.ones((6, 4)))
    np.save("nan.npy", vectors * np.nan)
    np.save("words.npy", np.array([["a", "b"]] * 6))
    np.savez("many.npz", vectors)
    (folder / "empty.npy").write_bytes(b"")
    invoke(*CLUSTER, "-o", "output")
    invoke(*VECTORS, "vectors.npy", "-o", "own")
    os.chdir(before)
    return folder


@pytest.fixture
def folder(made, monkeypatch):
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def check_error(invoke):
    def check(arguments, message, stdin=None):
        result = invoke(*arguments, code=2, stdin=stdin)
        assert message in result.stderr
        assert result.stdout == ""

    return check


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cluster", "none.csv", "-k", "2"], "There is no file none.csv"),
        (["cluster", "none", "-k", "2"], "There is no file or folder none."),
        (["cluster", "russian.csv", "-k", "2"], "--encoding latin-1"),
        (
            ["cluster", "t.csv", "-k", "2", "-c", "txt"],
            "'txt'. Did you mean 'text'? The columns are: 'id', 'text', 'label'",
        ),
        (["cluster", "two.csv", "-k", "2"], "--column, in Python column=): 'note', 'remark'"),
        (["cluster", "full", "-k", "2"], "There are no text files (.txt) in the folder full"),
        ([*CLUSTER, "--on-empty", "maybe"], "maybe"),
        ([*CLUSTER, "-e", "tfdif"], "Did you mean 'tfidf'?"),
        ([*CLUSTER, "-k", "0"], "n_clusters"),
        ([*CLUSTER, "-k", "60-5"], "a range (5-60), or auto"),
        ([*CLUSTER, "-k", "lots"], "a range (5-60), or auto"),
        ([*CLUSTER, "-k", "two"], "-k"),
        ([*CLUSTER, "--set", "n_init"], "write NAME=VALUE"),
        ([*CLUSTER, "--set", "n_int=3"], "no such setting. Did you mean 'n_init'? The method 'neighbors' has"),
        ([*CLUSTER, "--set", "n_init=few"], "--set n_init=few: must be a whole number"),
        ([*CLUSTER, "--set", "n_init=0"], "`n_init` must be a whole number and >= 1, got 0"),
        ([*CLUSTER, "-o", "t.csv"], "t.csv is a file, not a folder"),
        ([*CLUSTER, "-o", "none/output"], "the folder none does not exist"),
        ([*CLUSTER, "-o", "full"], "The folder full is not empty"),
        (["cluster", "blank.csv", "-k", "2", "-e", "tfidf", "--on-empty", "error"], "the first in row 2"),
        ([*VECTORS, "five.npy"], "five.npy has shape (5, 3); expected one row for each of the 6 texts"),
        ([*VECTORS, "t.csv"], "t.csv is not an array saved by numpy.save"),
        ([*VECTORS, "none.npy"], "none.npy"),
        (["assign", "none", "t.csv"], "There is no model folder none"),
        (["assign", "full", "t.csv"], "Is full a coterie model folder?"),
        (["assign", "output/model", "t.csv", "--vectors", "vectors.npy"], "(6, 3)"),
        (["assign", "output/model", "t.csv", "-o", "none/x.csv"], "the folder none does not exist"),
        (["assign", "output/model", "dated.parquet"], "Parquet cannot be printed"),
        (["evaluate", "t.csv"], "--truth"),
        (["evaluate", "t.csv", "-t", "label"], "no column 'cluster'"),
        (["evaluate", "output/assignments.csv", "-t", "truth"], "no column 'truth'"),
        (["info", "none"], "There is no model folder none"),
        (["methods", "kmean"], "Did you mean 'kmeans'?"),
        (["encoders", "tfid"], "Did you mean 'tfidf'?"),
        (["datasets", "tickets"], "helpdesk"),
        (["datasets", "helpdsk"], "Did you mean 'helpdesk'?"),
        (["clutser", "t.csv"], "clutser"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_input_is_an_error(check_error, folder, arguments, message):
    check_error(arguments, message)
    assert [path.name for path in (folder / "full").iterdir()] == ["kept"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*CLUSTER, "--set", "n_clusters=3"], "-k"),
        ([*CLUSTER, "--set", "encoder=bow"], "--encoder"),
        ([*CLUSTER, "--seed", "-1"], "-1"),
        ([*CLUSTER, "--seed", "4294967296"], "4294967296"),
        ([*CLUSTER, "--delimiter", "::"], "delimiter"),
        ([*CLUSTER[:-1], "precomputed"], "--vectors"),
        ([*VECTORS, "nan.npy"], "NaN"),
        ([*VECTORS, "words.npy"], "words.npy"),
        ([*VECTORS, "many.npz"], "many.npz"),
        ([*VECTORS, "empty.npy"], "empty.npy"),
        (["assign", "own/model", "t.csv"], "--vectors"),
        (["assign", "own/model", "t.csv", "--vectors", "wide.npy"], "4"),
        (["evaluate", "t.csv", "--model", "own/model"], "vectors"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_wrong_input_that_a_library_would_report_is_an_error(check_error, arguments, message):
    check_error(arguments, message)


@pytest.mark.usefixtures("folder")
def test_dates_of_a_parquet_file_can_be_printed_as_json(invoke):
    lines = invoke("assign", "output/model", "dated.parquet", "--json", "-q").stdout.splitlines()
    assert [json.loads(line)["when"] for line in lines] == ["2020-01-02"] * 6


@pytest.mark.parametrize(
    "arguments",
    [
        ["cluster", "half.jsonl", "-k", "2", "-e", "tfidf"],
        ["cluster", "half.jsonl", "-k", "2", "-e", "tfidf", "-o", "half"],
        ["assign", "output/model", "half.jsonl"],
    ],
    ids=["shown", "written", "assigned"],
)
@pytest.mark.usefixtures("folder")
def test_a_lone_surrogate_is_not_an_error(invoke, arguments):
    invoke(*arguments)


def test_an_empty_stdin_is_an_error(check_error):
    check_error(["cluster", "-", "-k", "2", "-e", "tfidf", "-q"], "There are no texts", stdin="")
