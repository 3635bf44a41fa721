"""Resume the training of a method after an interruption, a kill, or with other items and settings."""

import json
import os
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest

import coterie
from coterie.data.lock import exclusive
from coterie.errors import CheckpointWarning, InputError, TrainingStopped
from coterie.methods.sccl import SCCL
from coterie.training.stopping import Stopping


def small(**options):
    return SCCL(
        **{"n_clusters": 3, "encoder": "tfidf", "epochs": 4, "batch_size": 30, "encoder_lr": 0.01, "patience": None}
        | options
    )


def stop_at(epoch):
    def callback(evaluation):
        if evaluation.record["epoch"] == epoch and evaluation.record["stage"] != "init":
            raise KeyboardInterrupt

    return callback


@pytest.fixture(scope="module")
def uninterrupted(topics):
    return small().fit(topics[0])


def without_seconds(history):
    return [{name: value for name, value in record.items() if name != "seconds"} for record in history]


def test_a_method_resumes_and_deletes_its_checkpoint_when_it_is_saved(topics, uninterrupted, tmp_path):
    path = tmp_path / "run.checkpoint"
    with pytest.raises(TrainingStopped, match=f"The checkpoint is {path}"):
        small(checkpoint=path).fit(topics[0], callback=stop_at(3))
    assert path.is_file()
    epochs = []
    resumed = small(checkpoint=str(path), verbose=True, checkpoint_every=3).fit(
        topics[0], callback=lambda evaluation: epochs.append(evaluation.record["epoch"])
    )
    assert epochs == [3, 4]  # neither the initial evaluation nor the finished epochs
    assert path.is_file()  # the result is only in memory: a crash before it is saved costs nothing
    resumed.save(tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    np.testing.assert_array_equal(resumed.labels_, uninterrupted.labels_)
    np.testing.assert_array_equal(resumed.cluster_centers_, uninterrupted.cluster_centers_)
    assert without_seconds(resumed.history_) == without_seconds(uninterrupted.history_)
    assert resumed.guard_ == uninterrupted.guard_


@pytest.mark.parametrize("change", ["texts", "setting", "seed", "encoder"])
def test_other_texts_or_settings_start_again(topics, tmp_path, change):
    path = tmp_path / "run.checkpoint"
    with pytest.raises(TrainingStopped):
        small(checkpoint=path).fit(topics[0], callback=stop_at(3))
    texts = topics[0][:-1] if change == "texts" else topics[0]
    settings = {"setting": {"temperature": 0.4}, "seed": {"random_state": 1}, "encoder": {"encoder": "bow"}}
    seen = []
    other = small(checkpoint=path, **settings.get(change, {}))
    with pytest.warns(CheckpointWarning, match=r"run\.checkpoint is of other items or settings\. It is kept as"):
        other.fit(texts, callback=lambda e: seen.append(e.record["epoch"]))
    assert seen == [0, 1, 2, 3, 4]


def test_other_views_start_again(topics, tmp_path):
    path, texts = tmp_path / "run.checkpoint", topics[0]
    with pytest.raises(TrainingStopped):
        small(checkpoint=path).fit(texts, views=[texts, texts[::-1]], callback=stop_at(3))
    seen = []
    with pytest.warns(CheckpointWarning, match="of other items or settings"):
        small(checkpoint=path).fit(texts, views=[texts[::-1], texts], callback=lambda e: seen.append(e.record["epoch"]))
    assert seen == [0, 1, 2, 3, 4]


KILLED = """
import json, os, random, signal, sys, time
from pathlib import Path
import numpy as np
import torch
from coterie.methods.sccl import SCCL
from coterie.training.stopping import Stopping

torch.set_num_threads(1)
folder, texts = Path(sys.argv[1]), json.loads(sys.argv[2])

def fit(name):
    model = SCCL(
        n_clusters=3, encoder="tfidf", epochs=8, batch_size=10, encoder_lr=0.001, init="kmeans",
        checkpoint=folder / (name + ".checkpoint"), checkpoint_every=2,
    ).fit(texts)
    trained = {name: value.numpy() for name, value in model.objective_.trained_state().items()}
    np.savez(folder / name, labels=model.labels_, **trained)

def begin(name):
    pid = os.fork()
    if pid == 0:
        try:
            fit(name)
            os._exit(0)
        finally:
            os._exit(1)
    return pid

def written(path):
    return path.stat().st_mtime_ns if path.exists() else 0

fit("uninterrupted")
kills, chance, path = 0, random.Random(), folder / "killed.checkpoint"
while True:
    pid, before, deadline = begin("killed"), written(path), None
    while not (ended := os.waitpid(pid, os.WNOHANG))[0] and (deadline is None or time.monotonic() < deadline):
        if deadline is None and written(path) != before:  # there is a new checkpoint: kill it at a random moment
            deadline = time.monotonic() + chance.random() * 0.03 if kills < 3 else float("inf")
        time.sleep(0.001)
    if ended[0]:
        assert ended[1] == 0, ended
        break
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    kills += 1
print(kills)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kill -9 is for Unix")
def test_a_training_killed_several_times_ends_the_same(topics, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), json.dumps(topics[0])],
        capture_output=True, text=True, timeout=300, check=False, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 2
    one, other = np.load(tmp_path / "uninterrupted.npz"), np.load(tmp_path / "killed.npz")
    assert set(one.files) == set(other.files)
    for name in one.files:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["killed.checkpoint", "killed.npz", "uninterrupted.checkpoint", "uninterrupted.npz"]


def test_a_resumed_model_can_be_saved_and_loaded(topics, tmp_path):
    path = tmp_path / "run.checkpoint"
    with pytest.raises(TrainingStopped):
        small(checkpoint=path).fit(topics[0], callback=stop_at(2))
    model = small(checkpoint=path).fit(topics[0])
    model.save(tmp_path / "model")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(topics[0]), model.labels_)
    assert loaded.history_ == model.history_
    assert loaded.guard_ == model.guard_
    assert str(tmp_path) not in (tmp_path / "model" / "config.json").read_text()


def test_a_finished_training_is_not_repeated_if_saving_failed(topics, tmp_path):
    path = tmp_path / "run.checkpoint"
    first = small(checkpoint=path).fit(topics[0])
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="is not empty"):
        first.save(tmp_path / "model")
    assert path.is_file()
    seen = []
    again = small(checkpoint=path).fit(topics[0], callback=seen.append)
    assert seen == []  # no epoch was left
    np.testing.assert_array_equal(again.labels_, first.labels_)


def test_one_checkpoint_is_used_by_one_training_at_a_time(topics, tmp_path):
    path = tmp_path / "run.checkpoint"
    with exclusive(path), pytest.raises(InputError, match=r"is writing to .*run\.checkpoint\. Wait until it has ended"):
        small(checkpoint=path).fit(topics[0])


def test_a_checkpoint_that_cannot_be_written_is_refused_before_the_training(topics):
    with pytest.raises(InputError, match=r"Cannot write /proc/run\.checkpoint"):
        small(checkpoint="/proc/run.checkpoint").fit(topics[0])


def test_a_run_that_a_deadline_ended_stays_ended_when_its_results_are_asked_for_again(topics, tmp_path, monkeypatch):
    """It was trained for its whole budget: the same command writes the results, and trains no longer."""
    settings = {"n_clusters": 3, "encoder": "tfidf", "init": "kmeans", "epochs": 10, "guard": "off", "random_state": 0}
    asked = iter(range(1000))
    monkeypatch.setattr(Stopping, "is_late", lambda *_: next(asked) >= 3)  # after the second step, within an epoch
    first = coterie.SCCL(checkpoint=tmp_path / "c", **settings).fit(topics[0])
    assert 0 < len(first.history_) < 10
    monkeypatch.undo()
    again = coterie.SCCL(checkpoint=tmp_path / "c", **settings).fit(topics[0])
    assert [record["step"] for record in again.history_] == [record["step"] for record in first.history_]
    assert again.labels_.tolist() == first.labels_.tolist()


def test_vectors_of_texts_and_a_checkpoint_go_together(topics, tmp_path):
    vectors = np.random.default_rng(0).normal(size=(len(topics[0]), 4)).astype(np.float32)
    model = coterie.SCCL(n_clusters=3, encoder="precomputed", epochs=1, checkpoint=tmp_path / "c", random_state=0)
    assert len(model.fit(topics[0], vectors=vectors).labels_) == len(topics[0])
