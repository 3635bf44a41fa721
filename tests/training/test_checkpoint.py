"""Checkpoints of the toy objective: an interrupted training ends as if it had not been interrupted."""

import signal
from contextlib import nullcontext

import numpy as np
import pytest
import torch

from coterie.contracts import Stage
from coterie.errors import CheckpointWarning, TrainingStopped
from coterie.training import checkpoint as module
from coterie.training.checkpoint import Checkpoint

STEPS = 9  # three epochs of three


@pytest.fixture
def two_stages(toy):
    """Two stages; the hook of the second draws random numbers and changes the centers."""

    class TwoStages(toy):
        def stages(self, epochs):
            return [Stage("pull", 1, self.pull), Stage("more", epochs - 1, self.pull, before=self.add_noise)]

        def add_noise(self, corpus, seed):
            self.mu.data += 0.1 * torch.randn_like(self.mu) + 0.01 * corpus.h.mean()

    return TwoStages


@pytest.fixture
def interrupted_at(two_stages):
    """Return the class of an objective that is interrupted at a step."""

    def build(step, by="exception"):
        class Interrupted(two_stages):
            def after_step(self):
                super().after_step()
                self.n_done = getattr(self, "n_done", 0) + 1
                if self.n_done == step and by == "exception":
                    raise KeyboardInterrupt
                if self.n_done == step:
                    signal.raise_signal(signal.SIGINT)

        return Interrupted

    return build


@pytest.fixture
def checkpoint(tmp_path):
    def build(name="run", fingerprint="the same items"):
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
def test_a_training_interrupted_at_any_step_ends_the_same(train, two_stages, interrupted_at, checkpoint, guard, every):
    whole = train(two_stages, guard=guard, checkpoint_every=every)
    for step in range(1, STEPS + 1):
        options = {"guard": guard, "checkpoint_every": every, "checkpoint": checkpoint(f"{step}")}
        with pytest.raises(TrainingStopped):
            train(interrupted_at(step), **options)
        resumed = train(two_stages, **options)
        saved = {1: step - 1, 2: max((step - 1) // 2 * 2, (step - 1) // 3 * 3), 50: (step - 1) // 3 * 3}[every]
        assert len(resumed.objective.batches) == STEPS - saved  # it resumed and did not start again
        assert_same_end(resumed, whole)


def test_ctrl_c_saves_the_current_step(train, two_stages, interrupted_at, checkpoint):
    whole = train(two_stages, guard="on")
    for step in range(1, STEPS + 1):
        options = {"guard": "on", "checkpoint_every": 50, "checkpoint": checkpoint(f"{step}")}
        with pytest.raises(
            TrainingStopped, match=rf"Stopped at step {step} of 9\. The checkpoint is .*/{step}: run the same command"
        ):
            train(interrupted_at(step, "signal"), **options)
        resumed = train(two_stages, **options)
        assert len(resumed.objective.batches) == STEPS - step
        assert_same_end(resumed, whole)


def test_a_training_interrupted_after_every_step_ends_the_same(train, two_stages, interrupted_at, checkpoint):
    n_interrupted = 0
    while n_interrupted < STEPS:
        with pytest.raises(TrainingStopped):
            train(interrupted_at(1, "signal"), guard="on", checkpoint=checkpoint())
        n_interrupted += 1
    assert_same_end(train(two_stages, guard="on", checkpoint=checkpoint()), train(two_stages, guard="on"))


def test_an_interruption_before_the_first_checkpoint_reports_that_nothing_was_saved(train, interrupted_at, checkpoint):
    with pytest.raises(TrainingStopped, match="before the first checkpoint, so nothing was saved"):
        train(interrupted_at(2), checkpoint=checkpoint(), checkpoint_every=50)


def test_writing_checkpoints_does_not_change_the_training(train, two_stages, checkpoint):
    assert_same_end(train(two_stages, guard="on", checkpoint=checkpoint()), train(two_stages, guard="on"))


def test_buffers_of_the_objective_are_in_the_checkpoint(train, two_stages, interrupted_at, checkpoint):
    with pytest.raises(TrainingStopped):
        train(interrupted_at(8), checkpoint=checkpoint())
    _, tensors = module._read(checkpoint().path)
    whole = train(two_stages, max_steps=7).objective
    assert (whole.queue != 0).any()
    assert not torch.equal(whole.momentum, whole.mu)
    assert torch.equal(tensors["trained.queue"], whole.queue)
    assert tensors["trained.queue"].dtype == torch.long
    assert torch.equal(tensors["trained.momentum"], whole.momentum)


def test_a_checkpoint_with_another_fingerprint_is_not_used(train, two_stages, interrupted_at, checkpoint):
    with pytest.raises(TrainingStopped):
        train(interrupted_at(6), checkpoint=checkpoint(fingerprint="other items"))
    with pytest.warns(CheckpointWarning, match=r"run is of other items or settings\. It is kept as .*/run\.\w{8}"):
        again = train(two_stages, checkpoint=checkpoint())
    assert len(again.objective.batches) == STEPS
    assert_same_end(again, train(two_stages))
    checkpoint().remove()
    resumed = train(two_stages, checkpoint=checkpoint(fingerprint="other items"))  # it is found again
    assert len(resumed.objective.batches) == STEPS - 5
    assert [path.name for path in checkpoint().path.parent.iterdir()] == ["run"]


def test_two_runs_that_take_turns_both_resume(train, interrupted_at, checkpoint):
    for finished in range(3):
        for name in ("one", "other"):
            context = pytest.warns(CheckpointWarning) if finished or name == "other" else nullcontext()
            with context, pytest.raises(TrainingStopped, match=f"at step {finished + 1} of"):
                train(interrupted_at(1, "signal"), checkpoint=checkpoint(fingerprint=name))


def test_a_failed_write_keeps_the_older_checkpoint(train, two_stages, interrupted_at, checkpoint, monkeypatch):
    with pytest.raises(TrainingStopped):
        train(interrupted_at(5), checkpoint=checkpoint())
    before = checkpoint().path.read_bytes()

    def half(tensors, path, metadata):
        path.write_bytes(b"half")
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(module, "save_file", half)
        with pytest.raises(OSError, match="no space left"):
            train(two_stages, checkpoint=checkpoint())
    assert checkpoint().path.read_bytes() == before
    assert [path.name for path in checkpoint().path.parent.iterdir()] == ["run"]
    assert_same_end(train(two_stages, checkpoint=checkpoint()), train(two_stages))


def test_only_the_checkpoint_of_the_run_itself_is_removed(train, two_stages, checkpoint):
    checkpoint().remove()
    train(two_stages, checkpoint=checkpoint())
    checkpoint(fingerprint="other items").remove()
    assert checkpoint().path.exists()
    checkpoint().remove()
    assert not checkpoint().path.exists()


@pytest.mark.parametrize("epoch_steps", [2, 4])
def test_a_training_with_epoch_steps_interrupted_at_any_step_ends_the_same(
    train, interrupt_and_resume, toy, epoch_steps, assert_same
):
    class Noisy(toy):
        def stages(self, epochs):
            return [Stage("pull", epochs, self.pull, before_epoch=self.add_noise)]

        def add_noise(self, corpus, seed):
            self.mu.data += 0.1 * torch.randn_like(self.mu) + 0.01 * corpus.h.mean()

    options = {"epochs": 3, "epoch_steps": epoch_steps, "guard": "on"}
    whole = train(Noisy, **options)
    for step in range(1, 3 * epoch_steps):
        resumed = interrupt_and_resume(Noisy, step, **options)
        assert len(resumed.objective.batches) == 3 * epoch_steps - step
        assert_same(resumed.state, whole.state)
        assert resumed.records == whole.records
