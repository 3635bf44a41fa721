"""The tables that commands write, as people open them in a spreadsheet."""

import csv
import json

import pytest

TEXTS = ["reset my password", "forgot my password", "=cmd|' /C calc'!A0 password", "printer jam", "paper jam", "paper"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, invoke):
    folder = tmp_path_factory.mktemp("results")
    lines = ["id;text;cluster;wert", *(f"{i:03};{text};my {i};-{i},5" for i, text in enumerate(TEXTS))]
    (folder / "t.csv").write_bytes("\r\n".join([*lines, ""]).encode("utf-8-sig"))
    run = invoke("cluster", folder / "t.csv", "-k", 2, "-e", "tfidf", "-c", "text", "-o", folder / "out")
    (folder / "stderr").write_text(run.stderr)
    return folder


def read(path):
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream, delimiter=";"))


def test_a_formula_is_shown_and_not_run_unless_raw(invoke, folder):
    assert [row["text"] for row in read(folder / "out" / "assignments.csv")][2] == f"'{TEXTS[2]}"
    note = "1 cell that a spreadsheet would run as a formula got an apostrophe in front (--raw: none)."
    assert note in (folder / "stderr").read_text()
    assert not any(cell.startswith("=") for row in read(folder / "out" / "clusters.csv") for cell in row.values())
    command = ["assign", folder / "out", folder / "t.csv", "-c", "text"]
    assert f";'{TEXTS[2]};" in invoke(*command).stdout
    raw = invoke(*command, "--raw")
    assert f";{TEXTS[2]};" in raw.stdout
    assert "apostrophe" not in raw.stderr
    lines = invoke(*command, "--json").stdout.splitlines()
    assert json.loads(lines[2])["text"] == TEXTS[2]


def test_the_output_has_the_delimiter_and_the_byte_order_mark_of_the_input(folder):
    for name in ("assignments.csv", "clusters.csv"):
        data = (folder / "out" / name).read_bytes()
        assert data.startswith(b"\xef\xbb\xbf")
        assert b";" in data.splitlines()[0]


def test_a_column_of_the_user_is_kept_and_ours_is_called_otherwise(folder):
    rows = read(folder / "out" / "assignments.csv")
    new = ["cluster_2", "cluster_name_2", "confidence_2", "second_cluster_2", "margin_2"]
    assert list(rows[0]) == ["id", "text", "cluster", "wert", *new]
    assert [row["cluster"] for row in rows] == [f"my {i}" for i in range(6)]
    assert [row["wert"] for row in rows] == [f"-{i},5" for i in range(6)]
    note = "Your column 'cluster' is kept. The new columns are called 'cluster_2', 'cluster_name_2', 'confidence_2', "
    assert note in (folder / "stderr").read_text()


def test_a_text_column_called_cluster_can_be_clustered(invoke, tmp_path):
    (tmp_path / "t.csv").write_text("cluster,cluster_2\n" + "".join(f"{text},x\n" for text in TEXTS[3:] * 2))
    invoke("cluster", tmp_path / "t.csv", "-c", "cluster", "-k", 2, "-e", "tfidf", "-o", tmp_path / "out")
    header = (tmp_path / "out" / "assignments.csv").read_text().splitlines()[0]
    assert header.startswith("cluster,cluster_2,cluster_3,cluster_name_3,confidence_3,")


def test_the_table_of_clusters_suits_a_spreadsheet(folder):
    first = read(folder / "out" / "clusters.csv")[0]
    assert list(first)[:5] == ["cluster", "name", "size", "share", "confidence"]
    assert list(first)[-3:] == ["keywords", "example_1", "example_2"]
    assert all(len(first[name]) <= 6 for name in ("share", "confidence"))
    assert first["example_1"] in [text.lstrip("=") for text in TEXTS] or first["example_1"].startswith("'=")


def test_cells_of_the_table_of_clusters_have_one_line(invoke, tmp_path):
    import numpy as np

    texts = ["two\nlines", "one", "other\r\nlines", "end"]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    np.save(tmp_path / "v.npy", np.array([[0, 0.1], [9, 9], [0, 0.2], [9, 8]]))
    invoke(
        "cluster", tmp_path / "t.jsonl", "-k", 2, "--vectors", tmp_path / "v.npy", "-m", "kmeans", "-o", tmp_path / "o"
    )
    assert len((tmp_path / "o" / "clusters.csv").read_bytes().split(b"\n")) == 4  # a header, two clusters, the end
