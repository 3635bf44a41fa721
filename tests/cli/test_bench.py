import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from coterie.cli.main import app

COTERIE = Path(sys.executable).parent / "coterie"
RUN = ["bench", "run", "-m", "kmeans", "-s", "helpdesk", "-e", "tfidf", "--set", "n_init=1"]


def run_coterie(folder, *arguments):
    """Run the command in a process of its own, because jobs start further processes."""
    run = subprocess.run(
        [COTERIE, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment(folder),
    )
    assert "Traceback" not in run.stderr, run.stderr
    assert run.returncode == 0, run.stderr
    return run


def environment(folder):
    return os.environ | {"COTERIE_CACHE": str(folder / "cache")}


@pytest.fixture
def invoke(folder, monkeypatch):
    """Run commands that start no job in this process."""
    monkeypatch.chdir(folder)

    def run(*arguments, code=0):
        result = CliRunner().invoke(app, [*map(str, arguments)])
        assert result.exit_code == code, result.output
        return result

    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the result of one seed."""
    folder = tmp_path_factory.mktemp("bench")
    messages = run_coterie(folder, *RUN).stderr
    assert "1 job, already in benchmarks/results/paper.jsonl: 0" in messages
    assert "1/1  helpdesk kmeans n_init=1 seed 0  ACC 0." in messages
    return folder


def test_a_users_own_file_is_a_data_set(folder, invoke):
    (folder / "my.csv").write_text("text,kind\n" + "goal team,a\nbank stock,b\nteam goal match,a\nstock price,b\n" * 3)
    run = ["bench", "run", "-m", "kmeans", "-s", "my.csv", "-e", "tfidf", "-o", "own.jsonl"]
    assert "name the column of the true labels with --truth" in invoke(*run, code=2).stderr
    run_coterie(folder, *run, "--truth", "kind")
    assert "| my.csv | 12 | 2 | 100.0 / 100.0 |" in invoke("bench", "table", "own.jsonl", "-s", "my.csv").stdout
    assert invoke("bench", "table", "own.jsonl", "--format", "csv").stdout.splitlines()[1].startswith("my.csv,12,2,")


def test_a_second_run_adds_the_missing_seed(folder):
    cached = len(list((folder / "cache").rglob("*.npy")))
    assert "2 jobs, already in" in run_coterie(folder, *RUN, "-n", 2).stderr
    lines = [json.loads(line) for line in (folder / "benchmarks/results/paper.jsonl").read_text().splitlines()]
    assert [line["seed"] for line in lines] == [0, 1]
    assert 0 < lines[1]["peak_gb"] < 2
    assert len(list((folder / "cache").rglob("*.npy"))) == cached > 0  # embeddings are shared by both seeds


def test_the_table_is_on_stdout(invoke):
    table = invoke("bench", "table").stdout
    assert "| set | N | K | kmeans, n_init=1 ACC / NMI | time |" in table
    assert "| helpdesk | 1325 | 16 | " in table
    assert "- kmeans, n_init=1: preset paper, tfidf; n_init=1; " in table


def test_quiet_prints_nothing(invoke):
    run = invoke(*RUN, "-q")
    assert (run.stdout, run.stderr) == ("", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*RUN, "-m", "kmaens"], "Did you mean 'kmeans'?"),
        ([*RUN, "--set", "n_init"], "--set n_init: write NAME=VALUE."),
        ([*RUN, "--variant", "wild"], "There is no variant called 'wild'."),
        ([*RUN, "-e", "precomputed"], "The encoder 'precomputed' reads vectors"),
        (["bench", "table", "nowhere.jsonl"], "There is no results file nowhere.jsonl."),
        (
            ["bench", "table", "--preset", "cpu"],
            "results/cpu.jsonl. Name one of these: benchmarks/results/paper.jsonl.",
        ),
        (["bench", "table", "--methods", "sccl"], "There are no such results in benchmarks/results/paper.jsonl."),
        (["bench", "table", "--metrics", "f1"], "no metric called 'f1'"),
    ],
)
def test_wrong_input_is_one_sentence(invoke, arguments, message):
    run = invoke(*arguments, code=2)
    assert message in run.stderr
    assert run.stderr.startswith("Error: ")
    assert len(run.stderr.splitlines()) == 1


def test_ctrl_c_keeps_the_finished_results(folder):
    command = [COTERIE, *RUN, "-n", "200", "-o", "stopped.jsonl"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment(folder)) as run:
        assert "200 jobs, already in" in run.stderr.readline()
        first = next(line for line in run.stderr if "ACC" in line)  # a slow job shows lines of progress before
        assert "1/200" in first
        run.send_signal(signal.SIGINT)
        _, message = run.communicate(timeout=60)
    assert "Traceback" not in message, message
    assert run.returncode == 130
    n_done = len((folder / "stopped.jsonl").read_text().splitlines())
    assert 1 <= n_done < 200
    last = message.splitlines()[-1]
    assert last == f"Stopped. The same command runs the {200 - n_done} missing jobs of stopped.jsonl."
