import json
import os
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import coterie
from coterie.contracts import Stage
from coterie.errors import ArtifactError, TrainingStopped
from coterie.methods.sccl import SCCL
from coterie.training import checkpoint as module
from coterie.training.checkpoint import Checkpoint

STEPS = 9  # three epochs of three


@pytest.fixture
def patient(toy):
    """Two stages, the second with hooks that draw random numbers and move what is learnt."""

    class Patient(toy):
        def stages(self, epochs):
            return [Stage("pull", 1, self.pull), Stage("more", epochs - 1, self.pull, before=self.shake)]

        def shake(self, corpus):
            self.mu.data += 0.1 * torch.randn_like(self.mu) + 0.01 * corpus.h.mean()

    return Patient


@pytest.fixture
def interrupted_at(patient):
    def build(step, how="at once"):
        class Interrupted(patient):
            def after_step(self):
                super().after_step()
                self.done = getattr(self, "done", 0) + 1
                if self.done == step and how == "at once":
                    raise KeyboardInterrupt
                if self.done == step:
                    signal.raise_signal(signal.SIGINT)

        return Interrupted

    return build


@pytest.fixture
def at(tmp_path):
    def build(name="run", fingerprint="these texts"):
        return Checkpoint(tmp_path / name, fingerprint)

    return build


def assert_same_end(one, other):
    for (name, value), again in zip(
        one.objective.state_dict().items(), other.objective.state_dict().values(), strict=True
    ):
        assert torch.equal(value, again), name
    assert one.records == other.records
    assert one.guard.verdict == other.guard.verdict
    np.testing.assert_array_equal(one.labels, other.labels)


@pytest.mark.parametrize("guard", ["on", "off"])
@pytest.mark.parametrize("every", [1, 2, 50])
def test_interrupted_at_any_step_it_ends_as_if_it_had_not_been(train, patient, interrupted_at, at, guard, every):
    whole = train(patient, guard=guard, checkpoint_every=every)
    for step in range(1, STEPS + 1):
        options = {"guard": guard, "checkpoint_every": every, "checkpoint": at(f"{step}")}
        with pytest.raises(TrainingStopped):
            train(interrupted_at(step), **options)
        resumed = train(patient, **options)
        kept = {1: step - 1, 2: max((step - 1) // 2 * 2, (step - 1) // 3 * 3), 50: (step - 1) // 3 * 3}[every]
        assert len(resumed.objective.batches) == STEPS - kept  # it went on; it did not start anew
        assert_same_end(resumed, whole)


def test_ctrl_c_keeps_the_very_step(train, patient, interrupted_at, at):
    whole = train(patient, guard="on")
    for step in range(1, STEPS + 1):
        options = {"guard": "on", "checkpoint_every": 50, "checkpoint": at(f"{step}")}
        with pytest.raises(
            TrainingStopped, match=rf"Stopped at step {step} of 9\. .*/{step} keeps it: the same command"
        ):
            train(interrupted_at(step, "by a signal"), **options)
        resumed = train(patient, **options)
        assert len(resumed.objective.batches) == STEPS - step
        assert_same_end(resumed, whole)


def test_interrupted_after_every_single_step_it_still_ends_the_same(train, patient, interrupted_at, at):
    rounds = 0
    while rounds < STEPS:
        with pytest.raises(TrainingStopped):
            train(interrupted_at(1, "by a signal"), guard="on", checkpoint=at())
        rounds += 1
    assert_same_end(train(patient, guard="on", checkpoint=at()), train(patient, guard="on"))


def test_before_the_first_checkpoint_it_does_not_claim_to_have_kept_anything(train, interrupted_at, at):
    with pytest.raises(TrainingStopped, match="before the first checkpoint, so nothing was kept"):
        train(interrupted_at(2), checkpoint=at(), checkpoint_every=50)


def test_keeping_checkpoints_changes_nothing(train, patient, at):
    assert_same_end(train(patient, guard="on", checkpoint=at()), train(patient, guard="on"))


def test_what_the_objective_remembers_survives(train, patient, interrupted_at, at):
    with pytest.raises(TrainingStopped):
        train(interrupted_at(8), checkpoint=at())
    _, tensors = module._read(at().path)
    whole = train(patient, max_steps=7).objective
    assert (whole.queue != 0).any()
    assert not torch.equal(whole.momentum, whole.mu)
    assert torch.equal(tensors["learnt.queue"], whole.queue)
    assert tensors["learnt.queue"].dtype == torch.long
    assert torch.equal(tensors["learnt.momentum"], whole.momentum)


def test_another_fingerprint_starts_anew(train, patient, interrupted_at, at):
    with pytest.raises(TrainingStopped):
        train(interrupted_at(6), checkpoint=at(fingerprint="other texts"))
    anew = train(patient, checkpoint=at())
    assert len(anew.objective.batches) == STEPS
    assert_same_end(anew, train(patient))


@pytest.mark.parametrize("damage", ["cut", "empty", "garbage", "notes missing", "notes damaged"])
def test_a_damaged_file_is_named(train, patient, interrupted_at, at, damage):
    with pytest.raises(TrainingStopped):
        train(interrupted_at(5), checkpoint=at())
    path = at().path
    data = path.read_bytes()
    if damage.startswith("notes"):
        save_file({"learnt.mu": torch.zeros(2)}, path, metadata={"coterie": "{"} if damage == "notes damaged" else None)
    else:
        path.write_bytes({"cut": data[: len(data) // 2], "empty": b"", "garbage": b"not a checkpoint at all"}[damage])
    with pytest.raises(ArtifactError, match=f"{path} is not a checkpoint that can be read .*Remove it to start anew"):
        train(patient, checkpoint=at())


def test_a_checkpoint_that_cannot_be_written_leaves_the_older_one_whole(
    train, patient, interrupted_at, at, monkeypatch
):
    with pytest.raises(TrainingStopped):
        train(interrupted_at(5), checkpoint=at())
    before = at().path.read_bytes()

    def half(tensors, path, metadata):
        path.write_bytes(b"half")
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(module, "save_file", half)
        with pytest.raises(OSError, match="no space left"):
            train(patient, checkpoint=at())
    assert at().path.read_bytes() == before
    assert [path.name for path in at().path.parent.iterdir()] == ["run"]
    assert_same_end(train(patient, checkpoint=at()), train(patient))


def test_removing_is_safe_when_there_is_nothing(at):
    at().remove()
    at().path.write_text("something")
    at().remove()
    assert not at().path.exists()


# -- through a method


def small(**options):
    return SCCL(**{"n_clusters": 3, "encoder": "tfidf", "epochs": 4, "batch_size": 30, "encoder_lr": 0.01} | options)


def stopping_at(epoch):
    def watch(evaluation):
        if evaluation.record["epoch"] == epoch and evaluation.record["stage"] != "start":
            raise KeyboardInterrupt

    return watch


@pytest.fixture(scope="module")
def undisturbed(topics):
    return small().fit(topics[0])


def without_clock(history):
    return [{name: value for name, value in record.items() if name != "seconds"} for record in history]


def test_a_method_goes_on_where_it_was_and_forgets_the_file_at_the_end(topics, undisturbed, tmp_path):
    path = tmp_path / "run.checkpoint"
    with pytest.raises(TrainingStopped, match=f"{path} keeps it"):
        small(checkpoint=path).fit(topics[0], watch=stopping_at(3))
    assert path.is_file()
    steps = []
    resumed = small(checkpoint=str(path), verbose=True, checkpoint_every=3).fit(
        topics[0], watch=lambda evaluation: steps.append(evaluation.record["epoch"])
    )
    assert steps == [3, 4]  # neither the start nor what was done
    assert list(tmp_path.iterdir()) == []
    np.testing.assert_array_equal(resumed.labels_, undisturbed.labels_)
    np.testing.assert_array_equal(resumed.cluster_centers_, undisturbed.cluster_centers_)
    assert without_clock(resumed.history_) == without_clock(undisturbed.history_)
    assert resumed.guard_ == undisturbed.guard_


@pytest.mark.parametrize("change", ["texts", "setting", "seed", "encoder"])
def test_other_texts_or_settings_start_anew(topics, tmp_path, change):
    path = tmp_path / "run.checkpoint"
    with pytest.raises(TrainingStopped):
        small(checkpoint=path).fit(topics[0], watch=stopping_at(3))
    texts = topics[0][:-1] if change == "texts" else topics[0]
    settings = {"setting": {"temperature": 0.4}, "seed": {"random_state": 1}, "encoder": {"encoder": "bow"}}
    seen = []
    small(checkpoint=path, **settings.get(change, {})).fit(texts, watch=lambda e: seen.append(e.record["epoch"]))
    assert seen == [0, 1, 2, 3, 4]


def test_other_views_start_anew(topics, tmp_path):
    path, texts = tmp_path / "run.checkpoint", topics[0]
    with pytest.raises(TrainingStopped):
        small(checkpoint=path).fit(texts, views=[texts, texts[::-1]], watch=stopping_at(3))
    seen = []
    small(checkpoint=path).fit(texts, views=[texts[::-1], texts], watch=lambda e: seen.append(e.record["epoch"]))
    assert seen == [0, 1, 2, 3, 4]


KILLED = """
import json, os, random, signal, sys, time
from pathlib import Path
import numpy as np
import torch
from coterie.methods.sccl import SCCL

torch.set_num_threads(1)
folder, texts = Path(sys.argv[1]), json.loads(sys.argv[2])

def fit(name):
    model = SCCL(
        n_clusters=3, encoder="tfidf", epochs=15, batch_size=10, encoder_lr=0.001,
        checkpoint=folder / (name + ".checkpoint"), checkpoint_every=2,
    ).fit(texts)
    learnt = {name: value.numpy() for name, value in model.objective_.learnt().items()}
    np.savez(folder / name, labels=model.labels_, **learnt)

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

fit("undisturbed")
kills, chance, path = 0, random.Random(), folder / "killed.checkpoint"
while True:
    pid, before, deadline = begin("killed"), written(path), None
    while not (ended := os.waitpid(pid, os.WNOHANG))[0] and (deadline is None or time.monotonic() < deadline):
        if deadline is None and written(path) != before:  # it has come further: from now on it can die at any moment
            deadline = time.monotonic() + chance.random() * 0.2 if kills < 4 else float("inf")
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
def test_killed_again_and_again_it_ends_as_if_it_had_not_been(topics, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), json.dumps(topics[0])],
        capture_output=True, text=True, timeout=60, check=False, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 2
    one, other = np.load(tmp_path / "undisturbed.npz"), np.load(tmp_path / "killed.npz")
    assert set(one.files) == set(other.files)
    for name in one.files:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)
    assert not list(tmp_path.glob("*.checkpoint"))


def test_a_model_that_was_resumed_saves_and_loads_like_any_other(topics, tmp_path):
    path = tmp_path / "run.checkpoint"
    with pytest.raises(TrainingStopped):
        small(checkpoint=path).fit(topics[0], watch=stopping_at(2))
    model = small(checkpoint=path).fit(topics[0])
    model.save(tmp_path / "model")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(topics[0]), model.labels_)
    assert loaded.history_ == model.history_
    assert loaded.guard_ == model.guard_
    assert str(tmp_path) not in (tmp_path / "model" / "config.json").read_text()
