import csv
import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

COTERIE = Path(sys.executable).parent / "coterie"
TEXTS = [
    "reset my password", "forgot my password, again", "password reset link is broken", "", "printer out of paper",
    'printer says "paper jam"', "paper jam in the printer", "reset my password",
]  # fmt: skip


@pytest.fixture
def run(tmp_path, monkeypatch):
    tiny = runpy.run_path(str(Path(__file__).parents[1] / "augmenters" / "tiny.py"))
    monkeypatch.setenv("COTERIE_WORDNET", str(tiny["small_wordnet"](tmp_path / "wordnet")))
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "tickets.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("id", "text"), *((f"{i:03}", text) for i, text in enumerate(TEXTS))])

    def coterie(*arguments, code=0):
        done = subprocess.run([COTERIE, *map(str, arguments)], capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == code, done.stderr
        return done

    return coterie


def rows(path):
    with Path(path).open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_views_stand_beside_the_texts_and_one_seed_gives_one_file(run):
    said = run("augment", "tickets.csv", "--augment", "chain(wordnet:0.2,chars:0.2)", "--out", "views.csv").stderr
    table = rows("views.csv")
    assert list(table[0]) == ["id", "text", "text1", "text2"]
    assert [row["text"] for row in table] == TEXTS
    assert all(bool(row["text1"]) == bool(row["text"]) for row in table)  # a blank text has blank views
    assert table[0]["text1"] == table[-1]["text1"] != table[0]["text"]  # equal texts have equal views
    assert "12 views of 6 texts written to views.csv; 0 are the text itself" in said
    run("augment", "tickets.csv", "-a", "chain(wordnet:0.2,chars:0.2)", "-o", "again.csv", "--quiet")
    assert Path("again.csv").read_bytes() == Path("views.csv").read_bytes()
    run("augment", "tickets.csv", "-a", "chain(wordnet:0.2,chars:0.2)", "-o", "other.csv", "--seed", 1)
    assert rows("other.csv") != table


def test_the_augmenter_given_reads_the_file_back(run):
    from coterie.augmenters.given import from_rows
    from coterie.data.texts import check_texts

    run("augment", "tickets.csv", "-a", "delete:0.3", "--views", 3, "-o", "views.jsonl")
    table = [json.loads(line) for line in Path("views.jsonl").read_text().splitlines()]
    texts = check_texts([row["text"] for row in table])
    views = from_rows([[row[f"text{i}"] for row in table] for i in (1, 2, 3)], texts, 3)
    assert views[0][0] == table[0]["text1"]
    assert [len(view) for view in views] == [6, 6, 6]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tickets.csv", "-a", "edda", "-o", "x.csv"), "Did you mean 'eda'"),
        (("tickets.csv", "-a", "eda:2", "-o", "x.csv"), "`strength` must be"),
        (("tickets.csv", "-a", "given", "-o", "x.csv"), "needs views"),
        (("tickets.csv", "-a", "eda", "-o", "x.txt"), "plain text has no room"),
        (("tickets.csv", "-a", "eda(folder=/nowhere)", "-o", "x.csv"), "apt-get install wordnet-base"),
        (("taken.csv", "-a", "chars", "-o", "x.csv", "-c", "text"), "already has a column 'text1'"),
    ],
)
def test_mistakes_are_said_in_a_sentence(run, arguments, message):
    Path("taken.csv").write_text("text,text1\na,b\n")
    assert message in run("augment", *arguments, code=2).stderr
    assert not Path("x.csv").exists()


def test_augmenters_lists_them_and_shows_one(run):
    listed = json.loads(run("augmenters", "--json").stdout)
    assert {"eda", "wordnet", "contextual", "chain", "given"} <= {row["name"] for row in listed}
    one = json.loads(run("augmenters", "contextual", "--json").stdout)
    assert {"strength", "model", "top_k"} <= {row["setting"] for row in one["settings"]}
