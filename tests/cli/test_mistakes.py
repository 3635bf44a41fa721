"""Mistakes that must end in one sentence and exit code 2; inside this process, because there are many."""

import datetime
import json
import os

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from coterie.cli.main import app
from coterie.data.files import Table, dump_table

TEXTS = ["reset my password", "forgot my password", "password reset", "printer jam", "paper jam", "printer paper"]
CLUSTER = ["cluster", "t.csv", "-k", "2", "-e", "tfidf"]
OWN = ["cluster", "t.csv", "-k", "2", "--vectors"]


def run(*arguments, stdin=None):
    result = CliRunner().invoke(app, list(arguments), input=stdin)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception  # what the user would see as a traceback
    return result


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with inputs good and bad, and two models: of texts, and of the caller's vectors."""
    folder = tmp_path_factory.mktemp("mistakes")
    before = os.getcwd()
    os.chdir(folder)
    table = {"id": range(6), "text": TEXTS, "label": list("aaabbb")}
    (folder / "t.csv").write_bytes(dump_table(Table(table, "csv")))
    (folder / "blank.csv").write_text("id,text\n1,a\n2,\n3,b\n")
    (folder / "two.csv").write_text("note,remark\nsome words,more words\nother words,last words\n")
    (folder / "latin.csv").write_bytes(b"text\ncaf\xe9\n")
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
    assert run(*CLUSTER, "-o", "groups").exit_code == 0
    assert run(*OWN, "vectors.npy", "-o", "own").exit_code == 0
    os.chdir(before)
    return folder


@pytest.fixture
def inside(made, monkeypatch):
    monkeypatch.chdir(made)
    return made


def is_refused(result, said):
    assert said in result.stderr
    assert result.exit_code == 2
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cluster", "none.csv", "-k", "2"], "There is no file none.csv"),
        (["cluster", "latin.csv", "-k", "2"], "--encoding latin-1"),
        (["cluster", "t.csv", "-k", "2", "-c", "txt"], "no column 'txt'. The columns are: 'id', 'text', 'label'"),
        (["cluster", "two.csv", "-k", "2"], "--column: 'note', 'remark'"),
        (["cluster", "full", "-k", "2"], "--format"),
        ([*CLUSTER, "--on-empty", "maybe"], "maybe"),
        ([*CLUSTER, "-e", "tfdif"], "Did you mean 'tfidf'?"),
        ([*CLUSTER, "-k", "0"], "n_clusters"),
        ([*CLUSTER, "-k", "two"], "-k"),
        ([*CLUSTER, "--set", "n_init"], "write NAME=VALUE"),
        ([*CLUSTER, "--set", "n_init=few"], "--set n_init=few: must be a whole number"),
        ([*CLUSTER, "--set", "n_init=0"], "`n_init` must be a whole number and >= 1, got 0"),
        ([*CLUSTER, "-o", "t.csv"], "t.csv is a file; --out names a folder"),
        ([*CLUSTER, "-o", "none/groups"], "the folder none does not exist"),
        ([*CLUSTER, "-o", "full"], "The folder full is not empty"),
        (["cluster", "blank.csv", "-k", "2", "-e", "tfidf", "--on-empty", "error"], "the first in row 2"),
        ([*OWN, "five.npy"], "five.npy has shape (5, 3); expected one row for each of the 6 texts"),
        ([*OWN, "t.csv"], "t.csv is not an array saved by numpy.save"),
        ([*OWN, "none.npy"], "none.npy"),
        (["assign", "none", "t.csv"], "There is no model folder none"),
        (["assign", "groups", "t.csv"], "Is groups a coterie model folder?"),
        (["assign", "groups/model", "t.csv", "--vectors", "vectors.npy"], "(6, 3)"),
        (["assign", "groups/model", "t.csv", "-o", "none/x.csv"], "the folder none does not exist"),
        (["assign", "groups/model", "dated.parquet"], "Parquet cannot go to the terminal"),
        (["evaluate", "t.csv"], "--truth"),
        (["evaluate", "t.csv", "-t", "label"], "no column 'cluster'"),
        (["evaluate", "groups/assignments.csv", "-t", "truth"], "no column 'truth'"),
        (["info", "none"], "There is no model folder none"),
        (["methods", "kmean"], "Did you mean 'kmeans'?"),
        (["encoders", "tfid"], "Did you mean 'tfidf'?"),
        (["datasets", "tickets"], "helpdesk"),
        (["clutser", "t.csv"], "clutser"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_told_and_ends_with_code_2(inside, arguments, said):
    is_refused(run(*arguments), said)
    assert [path.name for path in (inside / "full").iterdir()] == ["kept"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([*CLUSTER, "--set", "n_clusters=3"], "-k"),
        ([*CLUSTER, "--set", "encoder=bow"], "--encoder"),
        ([*CLUSTER, "--seed", "-1"], "-1"),
        ([*CLUSTER, "--seed", "4294967296"], "4294967296"),
        ([*CLUSTER, "--delimiter", "::"], "delimiter"),
        ([*CLUSTER[:-1], "precomputed"], "--vectors"),
        ([*OWN, "nan.npy"], "NaN"),
        ([*OWN, "words.npy"], "words.npy"),
        ([*OWN, "many.npz"], "many.npz"),
        ([*OWN, "empty.npy"], "empty.npy"),
        (["assign", "own/model", "t.csv"], "--vectors"),
        (["assign", "own/model", "t.csv", "--vectors", "wide.npy"], "4"),
        (["evaluate", "t.csv", "--model", "own/model"], "vectors"),
    ],
)
def test_a_mistake_that_libraries_see_first_is_told_too(inside, arguments, said):
    is_refused(run(*arguments), said)


def test_dates_of_a_parquet_file_can_go_out_as_json(inside):
    lines = run("assign", "groups/model", "dated.parquet", "--json", "-q").stdout.splitlines()
    assert [json.loads(line)["when"] for line in lines] == ["2020-01-02"] * 6


@pytest.mark.parametrize(
    "arguments",
    [
        ["cluster", "half.jsonl", "-k", "2", "-e", "tfidf"],
        ["cluster", "half.jsonl", "-k", "2", "-e", "tfidf", "-o", "half"],
        ["assign", "groups/model", "half.jsonl"],
    ],
    ids=["shown", "written", "assigned"],
)
def test_half_an_emoji_does_not_stop_a_run(inside, arguments):
    assert run(*arguments).exit_code == 0


def test_texts_in_a_column_called_cluster_are_not_lost(inside):
    (inside / "named.csv").write_text("cluster,n\n" + "".join(f"{text},1\n" for text in TEXTS))
    result = run("assign", "groups/model", "named.csv", "-c", "cluster")
    assert result.exit_code == 2 or TEXTS[0] in result.stdout


def test_an_empty_stdin_is_refused():
    is_refused(run("cluster", "-", "-k", "2", "-e", "tfidf", "-q", stdin=""), "There are no texts")


def test_methods_and_encoders_list_their_settings_as_json():
    assert "kmeans" in [row["name"] for row in json.loads(run("methods", "--json").stdout)]
    told = json.loads(run("methods", "kmeans", "--json").stdout)
    assert {row["setting"] for row in told["settings"]} >= {"n_clusters", "n_init", "random_state"}
    assert {"tfidf", "bundled"} <= {row["name"] for row in json.loads(run("encoders", "--json").stdout)}


def test_the_demo_set_can_be_written_and_read(inside):
    assert run("datasets", "helpdesk", "-o", "demo.csv", "-q").exit_code == 0
    assert (inside / "demo.csv").read_text().startswith("text,label\n")
