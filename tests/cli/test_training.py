import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COTERIE = Path(sys.executable).parent / "coterie"
FEW = ["--set", "epochs=2", "--set", "batch_size=30", "--set", "init=kmeans"]


def coterie(*arguments, code=0):
    run = subprocess.run([COTERIE, *map(str, arguments)], capture_output=True, text=True)
    assert run.returncode == code, run.stderr
    assert "Traceback" not in run.stderr
    return run


@pytest.fixture(scope="module")
def file(tmp_path_factory, topics):
    path = tmp_path_factory.mktemp("texts") / "texts.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "text1", "text2"])
        writer.writerows([text, text.upper(), " ".join(reversed(text.split()))] for text in topics[0])
    return path


@pytest.fixture
def cluster(file, tmp_path):
    def run(*arguments, code=0):
        common = ["cluster", file, "-c", "text", "-k", 3, "-e", "tfidf", "-o", tmp_path / "groups", "--overwrite"]
        return coterie(*common, *arguments, code=code)

    return run


def test_it_trains_says_what_the_guard_kept_and_leaves_no_checkpoint(cluster, tmp_path):
    run = cluster("-m", "sccl", *FEW, "--log-dir", tmp_path / "log")
    assert "Guard: kept " in run.stderr
    assert "k-means on the untouched encoder" in run.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["groups", "log"]
    rows = list(csv.DictReader((tmp_path / "log" / "history.csv").read_text().splitlines()))
    assert [row["epoch"] for row in rows] == ["1", "2"]
    assert all(float(row["loss"]) > 0 for row in rows)
    assert "Guard: kept " in coterie("info", tmp_path / "groups" / "model").stdout.replace("\n", " ")


def test_views_of_the_file_are_used(cluster):
    cluster("-m", "sccl", *FEW, "--augment", "given:text1,text2")
    message = cluster("-m", "sccl", *FEW, "--augment", "given:text1,text9", code=2).stderr
    assert "there is no column 'text9'; there are 'text', 'text1', 'text2'" in message
    assert "needs 2 views of each text, but 1" in cluster("-m", "sccl", *FEW, "-a", "given:text1", code=2).stderr


@pytest.mark.parametrize("option", ["--augment", "--checkpoint", "--log-dir"])
def test_what_is_for_training_is_refused_where_nothing_trains(cluster, option):
    message = cluster("-m", "kmeans", option, "dropout", code=2).stderr
    assert f"{option} is for methods that train; 'kmeans' trains nothing." in message


def test_stopped_by_ctrl_c_the_same_command_goes_on_to_the_same_labels(file, tmp_path):
    def command(out):
        common = ["cluster", file, "-c", "text", "-k", 3, "-e", "tfidf", "-m", "sccl", "-o", tmp_path / out]
        return [str(part) for part in [COTERIE, *common, "--set", "epochs=150", "--set", "max_steps=none"]]

    with subprocess.Popen(command("stopped"), stderr=subprocess.PIPE, text=True) as run:
        checkpoint = tmp_path / "stopped.checkpoint"
        while not checkpoint.exists() and run.poll() is None:
            time.sleep(0.01)
        run.send_signal(signal.SIGINT)
        message = run.stderr.read()
    assert run.returncode == 130, message
    assert "stopped.checkpoint keeps it: the same command goes on from there." in message.splitlines()[-1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stopped.checkpoint"]
    for name in ("stopped", "whole"):
        subprocess.run(command(name), check=True, capture_output=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stopped", "whole"]
    stopped, whole = ((tmp_path / name / "assignments.csv").read_text() for name in ("stopped", "whole"))
    assert stopped == whole


@pytest.mark.data
def test_the_views_that_came_with_a_paper_are_read(benchmark_data, tmp_path):
    source = (
        Path(os.environ["COTERIE_DATA"]).parent / "augmented" / "contextual_tweet-original-order_trans_subst_10.csv"
    )
    if not source.exists():
        pytest.skip(f"{source.name} is not beside the benchmark files")
    lines = source.read_text(encoding="utf-8").splitlines()[:200]
    (tmp_path / "tweets.csv").write_text("\n".join(lines), encoding="utf-8")
    train = ["-m", "sccl", "-e", "tfidf", "-a", "given:text1,text2", *FEW]
    run = coterie("cluster", tmp_path / "tweets.csv", "-c", "text", "-k", 5, *train)
    assert "199 texts from column 'text'" in run.stderr
