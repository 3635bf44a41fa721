import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).parent / "coterie"
SHORT = ["--set", "epochs=2", "--set", "batch_size=30", "--set", "init=kmeans"]


@pytest.fixture(scope="module")
def file(tmp_path_factory, topics):
    path = tmp_path_factory.mktemp("texts") / "texts.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "text1", "text2"])
        writer.writerows([text, text.upper(), " ".join(reversed(text.split()))] for text in topics[0])
    return path


@pytest.fixture
def cluster(invoke, file, tmp_path):
    def run(*arguments, code=0):
        common = ["cluster", file, "-c", "text", "-k", 3, "-e", "tfidf", "-o", tmp_path / "output", "--force"]
        return invoke(*common, *arguments, code=code)

    return run


def test_training_reports_the_guard_and_leaves_no_checkpoint(invoke, cluster, tmp_path):
    run = cluster("-m", "sccl", *SHORT, "--log-dir", tmp_path / "log")
    assert "Guard: kept " in run.stderr
    assert "without training" in run.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "output"]
    rows = list(csv.DictReader((tmp_path / "log" / "history.csv").read_text().splitlines()))
    assert [row["epoch"] for row in rows] == ["1", "2"]
    assert all(float(row["loss"]) > 0 for row in rows)
    assert "Guard: kept " in invoke("info", tmp_path / "output" / "model").stdout.replace("\n", " ")


def test_train_means_the_method_that_we_recommend(cluster, invoke, tmp_path):
    run = cluster("--train", "--time-budget", "20s", "--set", "epochs=1", "--set", "epoch_steps=2", "--json")
    assert "Guard: kept " in run.stderr
    assert "refine" in invoke("info", tmp_path / "output").stdout
    assert "--train" in cluster().stderr  # the method that trains nothing names it


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--train", "-m", "sccl"], "--train means the method 'refine', but --method names 'sccl'"),
        (["--train", "--time-budget", "soon"], "'soon' is not a time"),
        (["--time-budget", "5m"], "--time-budget is for methods that train; 'neighbors' trains nothing"),
    ],
)
def test_wrong_options_of_training_are_named(cluster, options, message):
    assert message in cluster(*options, code=2).stderr.replace("\n", " ")


def test_views_are_read_from_columns(cluster):
    cluster("-m", "sccl", *SHORT, "--augment", "columns:text1,text2")
    message = cluster("-m", "sccl", *SHORT, "--augment", "columns:text1,text9", code=2).stderr
    assert "there is no column 'text9'; there are 'text', 'text1', 'text2'" in message
    assert "needs 2 views of each text, but 1" in cluster("-m", "sccl", *SHORT, "-a", "columns:text1", code=2).stderr


@pytest.mark.parametrize("option", ["--augment", "--checkpoint", "--log-dir"])
def test_options_for_training_are_an_error_if_the_method_does_not_train(cluster, option):
    message = cluster("-m", "kmeans", option, "dropout", code=2).stderr
    assert f"{option} is for methods that train; 'kmeans' trains nothing." in message


def test_after_sigterm_the_same_command_resumes_and_gives_the_same_labels(invoke, file, tmp_path):
    def command(out):
        common = ["cluster", file, "-c", "text", "-k", 3, "-e", "tfidf", "-m", "sccl", "-o", tmp_path / out]
        return [*common, "--set", "epochs=40", "--set", "max_steps=none", "--set", "checkpoint_every=2"]

    with subprocess.Popen([PROGRAM, *map(str, command("stopped"))], stderr=subprocess.PIPE, text=True) as run:
        checkpoint = tmp_path / "stopped.checkpoint"
        while not checkpoint.exists() and run.poll() is None:
            time.sleep(0.01)
        run.send_signal(signal.SIGTERM)
        message = run.stderr.read()
    assert run.returncode == 130, message
    assert "stopped.checkpoint: run the same command again to resume." in message.splitlines()[-1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stopped.checkpoint"]
    for name in ("stopped", "uninterrupted"):
        invoke(*command(name))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stopped", "uninterrupted"]
    stopped, uninterrupted = (
        (tmp_path / name / "assignments.csv").read_text() for name in ("stopped", "uninterrupted")
    )
    assert stopped == uninterrupted


@pytest.mark.data
def test_the_published_views_of_tweet_are_read(invoke, tmp_path):
    folder = Path(os.environ.get("COTERIE_DATA", "")).parent / "augmented"
    source = folder / "contextual_tweet-original-order_trans_subst_10.csv"
    if not source.exists():
        pytest.skip(f"{source.name} is not beside the benchmark files")
    lines = source.read_text(encoding="utf-8").splitlines()[:200]
    (tmp_path / "tweets.csv").write_text("\n".join(lines), encoding="utf-8")
    train = ["-m", "sccl", "-e", "tfidf", "-a", "columns:text1,text2", *SHORT]
    run = invoke("cluster", tmp_path / "tweets.csv", "-c", "text", "-k", 5, "--no-save", *train)
    assert "199 texts from column 'text'" in run.stderr
