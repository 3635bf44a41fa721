"""What others wrote is shown, not obeyed: names of files and columns, texts, and the settings of a model."""

import io
import re
import sys

import pytest

from coterie.cli.output import write_or_print
from coterie.data.files import Table

ESC, CSI, RLO = "\x1b]0;owned\x07", "\x9b31m", "\u202e"
UNSAFE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
TEXTS = [f"reset password {ESC}", f"password {CSI} reset", f"reset {RLO}password", "paper jam", "jam of paper", "paper"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, invoke):
    """A table and a model of texts with terminal codes, in a folder with terminal codes."""
    folder = tmp_path_factory.mktemp("codes") / f"a{ESC}{RLO}b"
    folder.mkdir()
    lines = [f"id{CSI},text,{ESC}", *(f"{i},{text},x" for i, text in enumerate(TEXTS))]
    (folder / "t.csv").write_text("\n".join(lines))
    invoke("cluster", folder / "t.csv", "-k", 2, "-e", "tfidf", "-o", folder / "out", "-q")
    return folder


def check(run):
    assert not UNSAFE.search(run.stdout)
    assert not UNSAFE.search(run.stderr)
    return run


def test_results_are_safe(invoke, folder):
    shown = check(invoke("cluster", folder / "t.csv", "-k", 2, "-e", "tfidf", "-o", folder / "more"))
    assert r"\x9b31m" in shown.stdout
    assert r"a\x1b]0;owned\x07\u202eb/more" in shown.stderr
    assert r"\x9b31m" in check(invoke("info", folder / "out" / "model")).stdout
    assert r"\u009b31m" in check(invoke("info", folder / "out" / "model", "--json")).stdout
    check(invoke("evaluate", folder / "out" / "assignments.csv", "-t", ESC))


@pytest.mark.parametrize(
    "arguments",
    [
        ["cluster", "FOLDER/t.csv", "-k", "2", "-c", f"no{ESC}"],
        ["cluster", "FOLDER/none.csv", "-k", "2"],
        ["cluster", "FOLDER/t.csv", "-k", f"2{ESC}"],
        ["assign", "FOLDER/out/model", "FOLDER/t.csv", f"FOLDER{ESC}", "--what"],
        [f"--{ESC}"],
        [f"cluster{ESC}"],
        ["bench", f"run{ESC}"],
        ["methods", f"sccl{CSI}"],
        ["info", "FOLDER/t.csv"],
        ["cluster", "\udcff.csv", "-k", "2"],
    ],
    ids=ascii,
)
def test_errors_are_safe(invoke, folder, arguments):
    run = check(invoke(*(argument.replace("FOLDER", str(folder)) for argument in arguments), code=2))
    assert run.stderr


@pytest.mark.parametrize(
    ("terminal", "shown"), [(True, b"text\nreset \\x9b31m\n"), (False, b"text\nreset \xc2\x9b31m\n")]
)
def test_a_table_is_safe_on_a_terminal_and_exact_in_a_pipe(monkeypatch, terminal, shown):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    stream.isatty = lambda: terminal
    monkeypatch.setattr(sys, "stdout", stream)
    write_or_print(Table({"text": [f"reset {CSI}"]}, "csv"), None, as_json=False)
    stream.flush()
    assert stream.buffer.getvalue() == shown


def test_many_columns_give_a_short_error(invoke, tmp_path):
    names = [f"column{i}" for i in range(5_000)]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + ",".join("x" for _ in names) + "\n")
    for arguments in (["-c", "text"], []):
        assert len(invoke("cluster", tmp_path / "wide.csv", "-k", 2, *arguments, code=2).stderr) < 600


def test_an_endless_word_does_not_fill_the_screen(invoke, tmp_path):
    (tmp_path / "t.txt").write_text("x" * 200_000 + "\nanother text\nthird text\n")
    run = invoke("cluster", tmp_path / "t.txt", "-k", 2, "-e", "tfidf", "--no-save")
    assert len(run.stdout) < 3_000
