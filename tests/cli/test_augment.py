import csv
import json
import runpy
from pathlib import Path

import pytest

from coterie.augmenters.columns import deduplicate_views
from coterie.data.texts import check_texts

TEXTS = [
    "reset my password", "forgot my password, again", "password reset link is broken", "", "printer out of paper",
    'printer says "paper jam"', "paper jam in the printer", "reset my password",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """The working folder: a table of tickets, and a small WordNet."""
    tiny = runpy.run_path(str(Path(__file__).parents[1] / "augmenters" / "tiny.py"))
    monkeypatch.setenv("COTERIE_WORDNET", str(tiny["small_wordnet"](tmp_path / "wordnet")))
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "tickets.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("id", "text"), *((f"{i:03}", text) for i, text in enumerate(TEXTS))])


def rows(path):
    with Path(path).open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_views_are_written_in_columns_and_depend_only_on_the_seed(invoke):
    command = ("augment", "tickets.csv", "--augment", "chain(wordnet:0.2,chars:0.2)", "--out")
    message = invoke(*command, "views.csv").stderr
    table = rows("views.csv")
    assert list(table[0]) == ["id", "text", "text1", "text2"]
    assert [row["text"] for row in table] == TEXTS
    assert all(bool(row["text1"]) == bool(row["text"]) for row in table)  # a blank text has blank views
    assert table[0]["text1"] == table[-1]["text1"] != table[0]["text"]  # equal texts have equal views
    assert "12 views of 6 texts written to views.csv; unchanged: 0" in message
    assert "--augment columns -k K" in message
    invoke(*command, "again.csv", "--quiet")
    assert Path("again.csv").read_bytes() == Path("views.csv").read_bytes()
    invoke(*command, "other.csv", "--seed", 1)
    assert rows("other.csv") != table


def test_the_augmenter_columns_reads_the_file(invoke):
    invoke("augment", "tickets.csv", "-a", "delete:0.3", "--views", 3, "-o", "views.jsonl")
    table = [json.loads(line) for line in Path("views.jsonl").read_text().splitlines()]
    texts = check_texts([row["text"] for row in table])
    views = deduplicate_views([[row[f"text{i}"] for row in table] for i in (1, 2, 3)], texts, 3)
    assert views[0][texts.inverse[0]] == table[0]["text1"]
    assert [len(view) for view in views] == [6, 6, 6]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tickets.csv", "-a", "edda", "-o", "x.csv"), "Did you mean 'eda'"),
        (("tickets.csv", "-a", "eda:2", "-o", "x.csv"), "`strength` must be"),
        (("tickets.csv", "-a", "columns", "-o", "x.csv"), "needs views"),
        (("tickets.csv", "-a", "eda", "-o", "x.txt"), "plain text has no columns"),
        (("tickets.csv", "-a", "eda(wordnet_folder=/nowhere)", "-o", "x.csv"), "apt-get install wordnet-base"),
        (("existing.csv", "-a", "chars", "-o", "x.csv", "-c", "text"), "already has a column 'text1'"),
    ],
)
def test_wrong_arguments_are_an_error(invoke, arguments, message):
    Path("existing.csv").write_text("text,text1\na,b\n")
    assert message in invoke("augment", *arguments, code=2).stderr
    assert not Path("x.csv").exists()


def test_augmenters_are_listed_with_their_settings(invoke):
    names = {row["name"] for row in json.loads(invoke("augmenters", "--json").stdout)}
    assert {"eda", "wordnet", "contextual", "chain", "columns"} <= names
    settings = json.loads(invoke("augmenters", "contextual", "--json").stdout)["settings"]
    assert {"strength", "model", "top_k"} <= {row["setting"] for row in settings}
