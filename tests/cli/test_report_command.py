"""`coterie report`, the page that `coterie cluster` writes, and `coterie compare`."""

import json
import re

import pytest


@pytest.fixture(scope="module")
def folders(invoke, topics, tmp_path_factory):
    """Two output folders of `coterie cluster` for the same texts, and the file of texts."""
    base = tmp_path_factory.mktemp("report")
    lines = [f'"{text}",{("red", "blue")[i % 2]}' for i, text in enumerate(topics[0])]
    (base / "tickets.csv").write_text("\n".join(["text,team", *lines]) + "\n")
    for k, name in ((3, "three"), (4, "four")):
        arguments = ["-k", k, "-m", "kmeans", "-e", "tfidf", "--out", base / name]
        said = invoke("cluster", base / "tickets.csv", *arguments).stderr
        assert f"Open {base / name / 'report.html'} in a browser " in said
    return base


def data(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), flags=re.S)[1])


def test_cluster_writes_a_page_about_the_file(folders, topics):
    shown = data(folders / "three" / "report.html")
    assert shown["title"] == "tickets.csv"
    assert shown["points"]["texts"] == topics[0]
    assert [column["name"] for column in shown["points"]["columns"]] == ["team"]


def test_the_page_is_made_again_from_the_folder(invoke, folders):
    written = (folders / "three" / "report.html").read_text(encoding="utf-8")
    page = folders / "three" / "report.html"
    invoke("report", folders / "three")
    again, before = data(page), json.loads(re.search(r'id="data">(.*?)</script>', written, flags=re.S)[1])
    assert again["points"] == before["points"]
    assert again["clusters"] == before["clusters"]
    assert again["title"] == "three"


def test_a_page_of_other_texts_goes_where_the_user_says(invoke, folders, tmp_path):
    (tmp_path / "new.txt").write_text("goal match team\n\ngene cell dna\n")
    said = invoke("report", folders / "three", tmp_path / "new.txt", "--out", tmp_path / "new.html")
    shown = data(tmp_path / "new.html")
    assert "1 of 3 texts" in said.stderr  # the warning about the blank one
    assert [shown["n_rows"], shown["n_blank"]] == [3, 1]
    assert sorted(card["size"] for card in shown["clusters"]) == [0, 1, 1]


def test_without_texts_the_page_has_none(invoke, folders, topics, tmp_path):
    invoke("report", folders / "three", "--no-texts", "--out", tmp_path / "private.html")
    page = (tmp_path / "private.html").read_text(encoding="utf-8")
    assert topics[0][0] not in page
    assert data(tmp_path / "private.html")["points"]["columns"] == []


def test_no_report_is_written_if_none_is_wanted(invoke, folders, tmp_path):
    invoke(
        "cluster",
        folders / "tickets.csv",
        "-k",
        3,
        "-m",
        "kmeans",
        "-e",
        "tfidf",
        "--no-report",
        "--out",
        tmp_path / "x",
    )
    assert not (tmp_path / "x" / "report.html").exists()


def test_a_page_that_is_not_ours_is_not_replaced(invoke, folders, tmp_path):
    (tmp_path / "mine.html").write_text("my notes")
    said = invoke("report", folders / "three", "--out", tmp_path / "mine.html", code=2).stderr
    assert "is not a page of coterie" in said
    assert (tmp_path / "mine.html").read_text() == "my notes"


def test_a_model_alone_needs_a_file(invoke, folders, tmp_path):
    import shutil

    shutil.copytree(folders / "three" / "model", tmp_path / "model")
    assert "Name the FILE" in invoke("report", tmp_path / "model", code=2).stderr


def test_compare_prints_the_agreement_and_writes_the_flow(invoke, folders, tmp_path):
    result = invoke("compare", folders / "three", folders / "four", "--out", tmp_path / "flow.html")
    assert re.search(
        r"\d+% of 90 items are in corresponding clusters, \d+% moved. Agreement: ARI 0\.\d+", result.stdout
    )
    assert "moved" in result.stdout
    assert "<svg" in (tmp_path / "flow.html").read_text(encoding="utf-8")


def test_a_model_and_its_assignments_are_equal(invoke, folders):
    shown = json.loads(invoke("compare", folders / "three", folders / "three" / "assignments.csv", "--json").stdout)
    assert (shown["ari"], shown["share_moved"]) == (1, 0)
    assert shown["pairs"] == [{"first": k, "second": k} for k in range(3)]


def test_models_of_other_texts_are_compared_on_a_file(invoke, folders, topics, tmp_path):
    (tmp_path / "part.txt").write_text("\n".join(topics[0][:60]) + "\n")
    invoke(
        "cluster",
        tmp_path / "part.txt",
        "-k",
        3,
        "-m",
        "kmeans",
        "-e",
        "tfidf",
        "--no-report",
        "--out",
        tmp_path / "part",
    )
    pair = (folders / "three", tmp_path / "part")
    assert "different texts" in invoke("compare", *pair, code=2).stderr
    shown = json.loads(invoke("compare", *pair, "--texts", folders / "tickets.csv", "--json").stdout)
    assert shown["n"] == 90
    assert shown["ari"] > 0.5


def test_a_file_without_clusters_is_refused_by_name(invoke, folders):
    said = invoke("compare", folders / "three", folders / "tickets.csv", code=2).stderr
    assert "has no column 'cluster'" in said
    by_team = invoke("compare", folders / "three", folders / "tickets.csv", "--cluster", "team").stdout
    assert "red" in by_team
