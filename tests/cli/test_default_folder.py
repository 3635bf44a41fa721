"""`coterie cluster` without --out: the results have a place of their own, which is said before the work."""

import os

import pytest

from coterie.data.lock import exclusive

SHOW = ["-k", 2, "-e", "tfidf", "-m", "kmeans", "--no-report"]
TEXTS = ["reset my password", "password reset", "my password", "printer jam", "printer on fire", "my printer"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "tickets.2024.csv").write_text("text\n" + "\n".join(TEXTS), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_folder_is_named_after_the_file_and_numbered_if_taken(invoke, here):
    run = invoke("cluster", "in/tickets.2024.csv", *SHOW)
    lines = run.stderr.splitlines()
    assert lines[:2] == ["6 texts from column 'text'", "The results go to the folder tickets.2024-clusters."]
    assert "coterie assign tickets.2024-clusters FILE " in run.stderr
    assert (here / "tickets.2024-clusters" / "assignments.csv").is_file()
    (here / "tickets.2024-clusters-2").write_text("mine")
    with exclusive(here / "tickets.2024-clusters-3"):  # by another command that is still at work
        invoke("cluster", "in/tickets.2024.csv", *SHOW)
    assert (here / "tickets.2024-clusters-2").read_text() == "mine"
    assert (here / "tickets.2024-clusters-4" / "model").is_dir()


def test_with_force_the_first_folder_is_replaced_if_coterie_wrote_it(invoke, here):
    for _ in range(2):
        invoke("cluster", "in/tickets.2024.csv", *SHOW, "--force")
    assert sorted(os.listdir(here)) == ["in", "tickets.2024-clusters"]
    (here / "tickets.2024-clusters" / "mine.txt").write_text("x")
    message = invoke("cluster", "in/tickets.2024.csv", *SHOW, "--force", code=2).stderr
    assert "'mine.txt', which coterie did not write" in message
    assert "to save nothing: --no-save" in message


@pytest.mark.parametrize(("name", "folder"), [("-", "clusters"), ("in", "in-clusters"), ("in/t.txt.gz", "t-clusters")])
def test_stdin_folders_and_compressed_files_have_one_too(invoke, here, name, folder):
    import gzip

    (here / "in" / "tickets.2024.csv").rename(here / "in" / "tickets.txt")
    (here / "in" / "t.txt.gz").write_bytes(gzip.compress("\n".join(TEXTS).encode()))
    for i, text in enumerate(TEXTS):
        (here / "in" / f"{i}.txt").write_text(text)
    invoke("cluster", name, *SHOW, "-q", stdin="\n".join(TEXTS))
    assert sorted(os.listdir(here)) == sorted(["in", folder])


def test_only_looking_writes_nothing(invoke, here):
    run = invoke("cluster", "in/tickets.2024.csv", *SHOW, "--no-save")
    assert "Nothing is saved (--no-save)." in run.stderr
    assert os.listdir(here) == ["in"]
    message = invoke("cluster", "in/tickets.2024.csv", *SHOW, "--no-save", "-o", "x", code=2).stderr
    assert "use one of the two" in message


def test_a_folder_that_cannot_be_written_is_said_before_the_file_is_read(invoke, here, monkeypatch):
    monkeypatch.chdir("/proc")
    message = invoke("cluster", "absent.csv", *SHOW, code=2).stderr
    assert message.startswith("Error: Cannot write absent-clusters: ")
    assert "--out FOLDER" in message
    assert message.count("\n") == 1
