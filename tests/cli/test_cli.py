import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

TICKETS = [
    ("007", "reset my password", "login"),
    ("008", "forgot my password, again", "login"),
    ("009", "password reset link is broken", "login"),
    ("010", "printer out of paper", "print"),
    ("011", 'printer says "paper jam"', "print"),
    ("012", "paper jam in the printer", "print"),
]


def rows(path_or_text):
    text = path_or_text.read_text() if isinstance(path_or_text, Path) else path_or_text
    return list(csv.reader(text.splitlines()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("cli")
    with (made / "tickets.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("id", "text", "label"), *TICKETS])
    return made


@pytest.fixture(scope="module")
def clustered(folder, execute):
    """The run whose results the other commands use."""
    return execute("cluster", folder / "tickets.csv", "-k", 2, "-e", "tfidf", "--out", folder / "output")


@pytest.fixture(scope="module")
def output(folder, clustered):
    return folder / "output"


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_cluster_shows_the_table_on_stdout_and_messages_on_stderr(folder, clustered):
    assert "password" in clustered.stdout
    assert "texts from" not in clustered.stdout
    assert "6 texts from column 'text'" in clustered.stderr
    assert f"coterie assign {folder}/output FILE" in clustered.stderr
    assert "printer" not in clustered.stderr


def test_without_a_number_of_clusters_one_is_chosen_and_said(folder, invoke):
    run = invoke("cluster", folder / "tickets.csv", "-e", "tfidf", "-m", "kmeans", "--json", "--no-save")
    chosen = len(json.loads(run.stdout))
    assert f"{chosen} clusters (middle; used), the best separated of the stable numbers: stability" in run.stderr


def test_cluster_keeps_the_columns_in_their_order_and_the_cells_as_they_were(output):
    header, *body = rows(output / "assignments.csv")
    assert header == ["id", "text", "label", "cluster", "cluster_name", "confidence", "second_cluster", "margin"]
    assert [tuple(row[:3]) for row in body] == TICKETS
    assert len({(row[2], row[3]) for row in body}) == len({row[3] for row in body}) == 2
    names = {row[3]: row[4] for row in body}
    assert sorted(names.values()) == ["Paper jam", "Password reset"]
    assert all(row[4] == names[row[3]] for row in body)
    assert all(0.5 <= float(row[5]) <= 1 for row in body)


def test_cluster_writes_a_table_of_the_clusters(output):
    header, *body = rows(output / "clusters.csv")
    assert header[:3] == ["cluster", "name", "size"]
    assert [row[2] for row in body] == ["3", "3"]
    assert {row[1] for row in body} == {"Paper jam", "Password reset"}


def test_assign_uses_the_same_clusters_and_leaves_blank_texts_empty(invoke, folder, output):
    new = folder / "new.csv"
    new.write_text("when;text\n01;a password to reset\n02;  \n03;jam, paper\n04;\n")
    run = invoke("assign", output / "model", new)
    header, *body = list(csv.reader(run.stdout.splitlines(), delimiter=";"))
    cluster = {row[2]: row[3] for row in rows(output / "assignments.csv")}
    assert header == ["when", "text", "cluster", "cluster_name", "confidence", "second_cluster", "margin"]
    assert [row[:3] for row in body] == [
        ["01", "a password to reset", cluster["login"]],
        ["02", "  ", ""],
        ["03", "jam, paper", cluster["print"]],
        ["04", "", ""],
    ]
    assert [row[3] for row in body] == ["Password reset", "", "Paper jam", ""]
    assert [row[4] == "" for row in body] == [False, True, False, True]
    assert run.stderr.splitlines() == [
        f"{new} has ';' between its columns.",
        "Warning: 2 of 4 texts are blank and get no cluster.",
    ]


def test_assign_sets_doubtful_texts_aside(invoke, folder, output):
    new = folder / "doubtful.csv"
    new.write_text("text\nreset my password\nzebra\n")
    run = invoke("assign", output / "model", new, "--min-confidence", "0.999")
    _, sure, doubtful = rows(run.stdout)
    assert sure[1] != ""
    assert doubtful[1:3] == ["", ""]
    assert float(doubtful[3]) < 0.999
    assert doubtful[4] != ""
    assert "1 text set aside: confidence below 0.999." in run.stderr
    assert "min-confidence" in invoke("assign", output / "model", new, "--min-confidence", "2", code=2).stderr


def test_assign_gives_the_training_texts_the_same_clusters(invoke, folder, output):
    run = invoke("assign", output, folder / "tickets.csv", "--out", folder / "same.csv")
    assert run.stdout == ""
    assert (folder / "same.csv").read_bytes() == (output / "assignments.csv").read_bytes()


def test_info_has_the_settings_and_the_clusters(invoke, output):
    info = json.loads(invoke("info", output / "model", "--json").stdout)
    assert (info["method"], info["encoder"]["name"], info["texts"]["n"]) == ("neighbors", "tfidf", 6)
    assert info["params"]["n_clusters"] == 2
    assert [row["size"] for row in info["clusters"]] == [3, 3]


def test_tree_shows_groups_and_divides_clusters_on_request(invoke, folder, output):
    shown = invoke("tree", output / "model").stdout
    assert shown.splitlines()[0] == "All (6)"
    assert "Paper jam (3)" in shown
    tree = json.loads(invoke("tree", output / "model", "--json").stdout)
    assert [child["size"] for child in tree["children"]] == [3, 3]
    assert "needs texts" in invoke("tree", output / "model", "--split", 0, code=2).stderr
    assert "too few" in invoke("tree", output / "model", folder / "tickets.csv", "--split", 0, code=2).stderr


def test_evaluate_compares_with_the_true_labels(invoke, output):
    run = invoke("evaluate", output / "assignments.csv", "--truth", "label", "--json")
    scores = json.loads(run.stdout)
    assert {scores[name] for name in ("acc", "nmi", "ari", "ami", "purity")} == {1.0}
    assert run.stderr == ""


def test_evaluate_clusters_the_texts_with_a_model(invoke, folder, output):
    run = invoke("evaluate", folder / "tickets.csv", "--model", output / "model", "-t", "label", "--quiet")
    assert run.stderr == ""
    shown = {line.split()[0]: line.split()[1] for line in run.stdout.splitlines() if len(line.split()) > 2}
    assert shown["acc"] == "1.0000"
    assert 0 < float(shown["silhouette"]) < 1


def test_texts_from_stdin_give_only_json_on_stdout_if_quiet(invoke):
    lines = "".join(f"{text}\n" for _, text, _ in TICKETS)
    run = invoke("cluster", "-", "-k", 2, "-e", "tfidf", "--json", "--quiet", "--no-save", stdin=lines)
    assert [row["size"] for row in json.loads(run.stdout)] == [3, 3]
    assert run.stderr == ""


def test_the_same_seed_gives_the_same_bytes_and_force_replaces_only_what_coterie_wrote(invoke, folder, output):
    out = shutil.copytree(output, folder / "again")
    (out / "clusters.csv").write_text("edited")
    command = ["cluster", folder / "tickets.csv", "-k", 2, "-e", "tfidf", "--out", out, "--seed", 0, "-q"]
    message = invoke(*command, code=2).stderr
    assert "is not empty" in message
    assert "--force" in message
    (out / "notes.txt").write_text("x")
    message = invoke(*command, "--force", code=2).stderr
    assert "has the file 'notes.txt', which coterie did not write" in message
    assert files(out)["notes.txt"] == b"x"
    assert files(out)["clusters.csv"] == b"edited"
    (out / "notes.txt").unlink()
    invoke(*command, "--overwrite")  # the former name of the option
    assert files(out) == files(output)


def test_jsonl_is_written_as_jsonl_with_blank_rows_in_their_place(invoke, folder):
    texts = ["", *(text for _, text, _ in TICKETS), "\u200b"]
    given = [{"n": i, "text": text, "tags": ["é", None]} for i, text in enumerate(texts)]
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in given))
    run = invoke("cluster", folder / "t.jsonl", "-k", 2, "-e", "tfidf", "-o", folder / "lines")
    assert "Warning: 2 of 8 texts are blank" in run.stderr
    written = [json.loads(line) for line in (folder / "lines" / "assignments.jsonl").read_text().splitlines()]
    added = ["cluster", "cluster_name", "confidence", "second_cluster", "margin"]
    assert [list(row) for row in written] == [["n", "text", "tags", *added]] * 8
    assert [{name: row[name] for name in ("n", "text", "tags")} for row in written] == given
    assert [row["cluster"] is None for row in written] == [True, *[False] * 6, True]
    assert [row["confidence"] is None for row in written] == [True, *[False] * 6, True]


def test_the_error_of_a_damaged_model_names_the_file(invoke, folder, output):
    broken = shutil.copytree(output / "model", folder / "broken")
    weights = bytearray((broken / "weights.safetensors").read_bytes())
    weights[-1] ^= 1
    (broken / "weights.safetensors").write_bytes(weights)
    run = invoke("assign", broken, folder / "tickets.csv", code=2)
    assert f"{broken / 'weights.safetensors'} is damaged" in run.stderr
    assert run.stdout == ""


def test_ready_vectors_replace_the_encoder(invoke, folder):
    vectors = folder / "vectors.npy"
    np.save(vectors, np.array([[0, 1], [9, 9], [0, 2], [9, 8], [1, 1], [8, 9]], dtype=float))
    invoke("cluster", folder / "tickets.csv", "-k", 2, "-m", "kmeans", "--vectors", vectors, "-o", folder / "own", "-q")
    cluster = [row[3] for row in rows(folder / "own" / "assignments.csv")[1:]]
    assert cluster[0::2] == [cluster[0]] * 3
    assert cluster[1::2] == [cluster[1]] * 3
    run = invoke("assign", folder / "own" / "model", folder / "tickets.csv", "--vectors", vectors, "--json")
    assert [str(json.loads(line)["cluster"]) for line in run.stdout.splitlines()] == cluster
    described = json.loads((folder / "own" / "model" / "clusters.json").read_text())
    assert all(row["keywords"] and row["examples"][0] in [text for _, text, _ in TICKETS] for row in described)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "kmaens"], "Did you mean 'kmeans'?"),
        (["--set", "speed=3"], "--set speed=3: there is no such setting. The method 'neighbors' has the settings"),
        (["-k", "7"], "7 clusters need at least 7 distinct texts, but there are 6"),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_code_2(invoke, folder, arguments, message):
    run = invoke("cluster", folder / "tickets.csv", "-k", 2, "-e", "tfidf", "-q", *arguments, code=2)
    assert message in run.stderr
    assert run.stderr.startswith("Error: ")
    assert run.stderr.count("\n") == 1
    assert run.stdout == ""
