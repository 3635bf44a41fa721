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


def coterie(folder, *arguments, code=0):
    run = subprocess.run(
        [COTERIE, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment(folder),
    )
    assert "Traceback" not in run.stderr, run.stderr
    assert run.returncode == code, run.stderr
    return run


def environment(folder):
    return os.environ | {"COTERIE_CACHE": str(folder / "cache")}


@pytest.fixture
def here(folder, monkeypatch):
    """Commands that start no job, in this process."""
    monkeypatch.chdir(folder)

    def invoke(*arguments, code=0):
        run = CliRunner().invoke(app, [*map(str, arguments)])
        assert run.exit_code == code, run.output
        return run

    return invoke


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which one seed has been run."""
    made = tmp_path_factory.mktemp("bench")
    told = coterie(made, *RUN).stderr
    assert "1 jobs, 0 of them in benchmarks/results/paper.jsonl already" in told
    assert "1/1  helpdesk kmeans n_init=1 seed 0  ACC 0." in told
    return made


def test_run_goes_on_where_it_was_and_the_table_shows_both_seeds(folder):
    assert "2 jobs, 1 of them in" in coterie(folder, *RUN, "-n", 2).stderr
    lines = [json.loads(line) for line in (folder / "benchmarks/results/paper.jsonl").read_text().splitlines()]
    assert [line["seed"] for line in lines] == [0, 1]
    assert 0 < lines[1]["peak_gb"] < 2
    assert [path.suffix for path in (folder / "cache/benchmarks").iterdir()].count(".npy") == 1  # one for both seeds


def test_the_table_is_on_stdout(here):
    table = here("bench", "table").stdout
    assert "| set | N | K | kmeans, n_init=1 ACC / NMI | time |" in table
    assert "| helpdesk | 1325 | 16 | " in table
    assert "- kmeans, n_init=1: preset paper, tfidf; n_init=1; " in table


def test_quiet_says_nothing(here):
    run = here(*RUN, "-q")
    assert (run.stdout, run.stderr) == ("", "")


def test_what_a_job_refuses_in_its_own_process_is_one_sentence_here(folder):
    message = coterie(folder, *RUN, "-e", "precomputed", code=2).stderr.splitlines()[-1]
    assert message.startswith("Error: encoder='precomputed' clusters vectors")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*RUN, "-m", "kmaens"], "Did you mean 'kmeans'?"),
        ([*RUN, "--set", "n_init"], "--set n_init: write NAME=VALUE."),
        ([*RUN, "--variant", "wild"], "There is no variant called 'wild'."),
        (["bench", "table", "nowhere.jsonl"], "There are no results in nowhere.jsonl."),
        (["bench", "table", "--methods", "sccl"], "There are no such results in benchmarks/results/paper.jsonl."),
        (["bench", "table", "--metrics", "f1"], "no metric called 'f1'"),
    ],
)
def test_a_mistake_is_one_sentence(here, arguments, message):
    run = here(*arguments, code=2)
    assert message in run.stderr
    assert run.stderr.startswith("Error: ")
    assert len(run.stderr.splitlines()) == 1


def test_ctrl_c_keeps_what_is_done(folder):
    command = [COTERIE, *RUN, "-n", "200", "-o", "stopped.jsonl"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment(folder)) as run:
        assert "200 jobs, 0 of them" in run.stderr.readline()
        assert "1/200" in run.stderr.readline()
        run.send_signal(signal.SIGINT)
        _, message = run.communicate(timeout=60)
    assert "Traceback" not in message, message
    assert run.returncode == 130
    done = len((folder / "stopped.jsonl").read_text().splitlines())
    assert 1 <= done < 200
    assert message.splitlines()[-1] == f"Stopped. The same command does the {200 - done} jobs that stopped.jsonl lacks."
