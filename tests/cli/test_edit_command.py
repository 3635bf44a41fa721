"""`coterie edit`: clusters are merged and renamed, and everything that is written follows."""

import csv
import json
import re

import pytest


@pytest.fixture(scope="module")
def folder(invoke, topics, tmp_path_factory):
    """An output folder of `coterie cluster`; the user has a column that is called cluster, too."""
    base = tmp_path_factory.mktemp("edit")
    lines = [f'"{text}",{("red", "blue")[i % 2]}' for i, text in enumerate(topics[0])]
    (base / "tickets.csv").write_text("\n".join(["text,cluster", *lines]) + "\n")
    invoke(
        "cluster", base / "tickets.csv", "-c", "text", "-k", 4, "-m", "kmeans", "-e", "tfidf", "--out", base / "four"
    )
    return base / "four"


def read(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_new_folder_has_the_edited_clusters_everywhere(invoke, folder, tmp_path):
    before = read(folder / "assignments.csv")
    out = tmp_path / "new"
    command = ["edit", folder, "-c", "text", "--merge", "1,3", "--rename", "0=Ball games", "--out", out, "--json"]
    table = json.loads(invoke(*command).stdout)
    after = read(out / "assignments.csv")
    assert list(after[0]) == list(before[0])
    assert [row["cluster"] for row in after] == ["red", "blue"] * 45
    expected = [row["cluster_2"].replace("3", "1") for row in before]
    assert [row["cluster_2"] for row in after] == expected
    assert {row["cluster_name_2"] for row in after if row["cluster_2"] == "0"} == {"Ball games"}
    assert sorted(row["cluster"] for row in table) == [0, 1, 2]
    assert sorted(row["cluster"] for row in read(out / "clusters.csv")) == ["0", "1", "2"]
    page = re.search(r'id="data">(.*?)</script>', (out / "report.html").read_text(encoding="utf-8"), flags=re.S)
    shown = json.loads(page[1])
    assert {card["cluster"]: card["size"] for card in shown["clusters"]} == {
        row["cluster"]: row["size"] for row in table
    }
    assert [column["name"] for column in shown["points"]["columns"]] == ["cluster"]  # the user's own
    assigned = invoke("assign", out, folder / "assignments.csv", "-c", "text", "--json").stdout.splitlines()
    assert [str(json.loads(line)["cluster_3"]) for line in assigned] == expected
    assert re.search(r"merged +1 \+ 3", invoke("info", out).stdout)
    assert "Ball games" in invoke("tree", out).stdout


def test_a_model_alone_can_be_edited_without_its_texts(invoke, folder, tmp_path):
    (tmp_path / "alone").mkdir()
    (folder / "model").rename(tmp_path / "alone" / "model")
    try:
        said = invoke("edit", tmp_path / "alone" / "model", "--merge", "0,1", "--rename", "0=Genes and shares").stderr
    finally:
        (tmp_path / "alone" / "model").rename(folder / "model")
    assert "Written to the folder model-edited." in said
    assert "Genes and shares" in invoke("assign", "model-edited", "-", stdin="gene cell protein virus\n").stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "nothing to edit. For example: coterie edit MODEL --merge 3,7"),
        (["--merge", "1"], "--merge 1: write the numbers of at least two clusters"),
        (["--merge", "1,x"], "--merge 1,x: write the numbers"),
        (["--merge", "1,9"], "no cluster 9"),
        (["--merge", "1," + "9" * 5_000], "write the numbers of at least two clusters"),
        (["--rename", "9" * 5_000 + "=x"], "write the number of a cluster and its name"),
        (["--rename", "Billing"], "--rename Billing: write the number of a cluster and its name"),
        (["--rename", "1=a", "--rename", "1=b"], "names cluster 1 twice"),
        (["--rename", "1= "], "not blank"),
        (["--merge", "1,2", "--rename", "2=x"], "merged into 1"),
    ],
)
def test_a_wrong_edit_is_refused_and_nothing_is_written(invoke, folder, tmp_path, options, message):
    said = invoke("edit", folder, "-c", "text", *options, "--out", tmp_path / "new", code=2).stderr
    assert message in " ".join(said.split())
    assert not (tmp_path / "new").exists()


def test_a_file_of_other_rows_is_refused(invoke, folder, tmp_path):
    (tmp_path / "new.txt").write_text("goal match team\ngene cell dna\n")
    said = invoke("edit", folder, tmp_path / "new.txt", "--merge", "0,1", "--out", tmp_path / "new", code=2).stderr
    assert "new.txt has 2 rows, but the model was fitted to 90" in said
