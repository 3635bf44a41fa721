import csv
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

COTERIE = Path(sys.executable).parent / "coterie"
TICKETS = [
    ("007", "reset my password", "login"),
    ("008", "forgot my password, again", "login"),
    ("009", "password reset link is broken", "login"),
    ("010", "printer out of paper", "print"),
    ("011", 'printer says "paper jam"', "print"),
    ("012", "paper jam in the printer", "print"),
]


def coterie(*arguments, code=0, stdin=None):
    run = subprocess.run(
        [COTERIE, *map(str, arguments)], input=stdin, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert "Traceback" not in run.stderr, run.stderr
    assert run.returncode == code, run.stderr
    return run


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
def clustered(folder):
    """The run that the other commands build on."""
    return coterie("cluster", folder / "tickets.csv", "-k", 2, "-e", "tfidf", "--out", folder / "groups")


@pytest.fixture(scope="module")
def groups(folder, clustered):
    return folder / "groups"


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_cluster_shows_the_table_on_stdout_and_messages_on_stderr(folder, clustered):
    assert "password" in clustered.stdout
    assert "texts from" not in clustered.stdout
    assert "6 texts from column 'text'" in clustered.stderr
    assert f"coterie assign {folder}/groups/model" in clustered.stderr
    assert "printer" not in clustered.stderr


def test_cluster_keeps_the_columns_in_their_order_and_the_cells_as_they_were(groups):
    header, *body = rows(groups / "assignments.csv")
    assert header == ["id", "text", "label", "cluster", "confidence"]
    assert [tuple(row[:3]) for row in body] == TICKETS
    assert len({(row[2], row[3]) for row in body}) == len({row[3] for row in body}) == 2
    assert all(0.5 <= float(row[4]) <= 1 for row in body)


def test_cluster_writes_a_table_of_the_clusters(groups):
    header, *body = rows(groups / "clusters.csv")
    assert header[:2] == ["cluster", "size"]
    assert [row[:2] for row in body] == [["0", "3"], ["1", "3"]]


def test_assign_files_new_texts_in_the_same_clusters_and_leaves_blank_ones_empty(folder, groups):
    new = folder / "new.csv"
    new.write_text("when;text\n01;a password to reset\n02;  \n03;jam, paper\n04;\n")
    run = coterie("assign", groups / "model", new)
    header, *body = list(csv.reader(run.stdout.splitlines(), delimiter=";"))
    cluster = {row[2]: row[3] for row in rows(groups / "assignments.csv")}
    assert header == ["when", "text", "cluster", "confidence"]
    assert [row[:3] for row in body] == [
        ["01", "a password to reset", cluster["login"]],
        ["02", "  ", ""],
        ["03", "jam, paper", cluster["print"]],
        ["04", "", ""],
    ]
    assert [row[3] == "" for row in body] == [False, True, False, True]
    assert run.stderr.strip() == "Warning: 2 of 4 texts are blank and get no cluster."


def test_assign_gives_the_training_texts_what_cluster_gave_them(folder, groups):
    run = coterie("assign", groups / "model", folder / "tickets.csv", "--out", folder / "same.csv")
    assert run.stdout == ""
    assert (folder / "same.csv").read_bytes() == (groups / "assignments.csv").read_bytes()


def test_info_tells_the_settings_and_the_clusters_as_json(groups):
    told = json.loads(coterie("info", groups / "model", "--json").stdout)
    assert (told["method"], told["encoder"]["name"], told["texts"]["n"]) == ("neighbours", "tfidf", 6)
    assert told["params"]["n_clusters"] == 2
    assert [row["size"] for row in told["clusters"]] == [3, 3]


def test_evaluate_compares_with_the_true_labels_as_json(groups):
    run = coterie("evaluate", groups / "assignments.csv", "--truth", "label", "--json")
    scores = json.loads(run.stdout)
    assert {scores[name] for name in ("acc", "nmi", "ari", "ami", "purity")} == {1.0}
    assert run.stderr == ""


def test_evaluate_groups_the_texts_with_a_model(folder, groups):
    run = coterie("evaluate", folder / "tickets.csv", "--model", groups / "model", "-t", "label", "--quiet")
    assert run.stderr == ""
    shown = {line.split()[0]: line.split()[1] for line in run.stdout.splitlines() if len(line.split()) > 2}
    assert shown["acc"] == "1.0000"
    assert 0 < float(shown["silhouette"]) < 1


def test_lines_from_stdin_give_json_on_stdout_and_nothing_else_when_quiet():
    lines = "".join(f"{text}\n" for _, text, _ in TICKETS)
    run = coterie("cluster", "-", "-k", 2, "-e", "tfidf", "--json", "--quiet", stdin=lines)
    assert [row["size"] for row in json.loads(run.stdout)] == [3, 3]
    assert run.stderr == ""


def test_the_same_seed_gives_the_same_bytes_and_overwrite_replaces_the_folder(folder, groups):
    out = folder / "again"
    out.mkdir()
    (out / "stray.txt").write_text("x")
    command = ["cluster", folder / "tickets.csv", "-k", 2, "-e", "tfidf", "--out", out, "--seed", 0, "-q"]
    refused = coterie(*command, code=2)
    assert "is not empty" in refused.stderr
    assert "--overwrite" in refused.stderr
    assert files(out) == {"stray.txt": b"x"}
    coterie(*command, "--overwrite")
    assert files(out) == files(groups)


def test_jsonl_comes_back_as_jsonl_with_blank_rows_in_their_place(folder):
    texts = ["", *(text for _, text, _ in TICKETS), "\u200b"]
    given = [{"n": i, "text": text, "tags": ["é", None]} for i, text in enumerate(texts)]
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in given))
    run = coterie("cluster", folder / "t.jsonl", "-k", 2, "-e", "tfidf", "-o", folder / "lines")
    assert "Warning: 2 of 8 texts are blank" in run.stderr
    written = [json.loads(line) for line in (folder / "lines" / "assignments.jsonl").read_text().splitlines()]
    assert [list(row) for row in written] == [["n", "text", "tags", "cluster", "confidence"]] * 8
    assert [{name: row[name] for name in ("n", "text", "tags")} for row in written] == given
    assert [row["cluster"] is None for row in written] == [True, *[False] * 6, True]
    assert [row["confidence"] is None for row in written] == [True, *[False] * 6, True]


def test_a_damaged_model_is_refused_with_its_file_named(folder, groups):
    broken = shutil.copytree(groups / "model", folder / "broken")
    weights = bytearray((broken / "weights.safetensors").read_bytes())
    weights[-1] ^= 1
    (broken / "weights.safetensors").write_bytes(weights)
    run = coterie("assign", broken, folder / "tickets.csv", code=2)
    assert f"{broken / 'weights.safetensors'} is damaged" in run.stderr
    assert run.stdout == ""


def test_own_vectors_take_the_place_of_an_encoder(folder):
    vectors = folder / "vectors.npy"
    np.save(vectors, np.array([[0, 1], [9, 9], [0, 2], [9, 8], [1, 1], [8, 9]], dtype=float))
    coterie(
        "cluster", folder / "tickets.csv", "-k", 2, "-m", "kmeans", "--vectors", vectors, "-o", folder / "own", "-q"
    )
    cluster = [row[3] for row in rows(folder / "own" / "assignments.csv")[1:]]
    assert cluster[0::2] == [cluster[0]] * 3
    assert cluster[1::2] == [cluster[1]] * 3
    run = coterie("assign", folder / "own" / "model", folder / "tickets.csv", "--vectors", vectors, "--json")
    assert [str(json.loads(line)["cluster"]) for line in run.stdout.splitlines()] == cluster


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--method", "kmaens"], "Did you mean 'kmeans'?"),
        (["--set", "speed=3"], "--set speed=3: the method 'neighbours' has the settings"),
        (["-k", "7"], "7 clusters need at least 7 distinct texts, but there are 6"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(folder, arguments, said):
    run = coterie("cluster", folder / "tickets.csv", "-k", 2, "-e", "tfidf", "-q", *arguments, code=2)
    assert said in run.stderr
    assert run.stderr.startswith("Error: ")
    assert run.stderr.count("\n") == 1
    assert run.stdout == ""


def test_help_is_fast():
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        run = coterie("--help")
        taken.append(time.perf_counter() - start)
    assert all(command in run.stdout for command in ("cluster", "assign", "info", "evaluate", "methods"))
    assert min(taken) < 0.5


def test_help_imports_nothing_heavy():
    code = "import sys; sys.argv = ['coterie', '--help']; from coterie.cli.main import main; main()"
    run = subprocess.run([sys.executable, "-X", "importtime", "-c", code], capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in run.stderr.splitlines()}
    assert "typer" in imported
    assert not imported & {"torch", "sklearn", "scipy", "numpy", "transformers", "pandas"}
