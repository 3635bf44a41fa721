"""Seeds, callbacks, evaluation without side effects, progress and Ctrl-C."""

import signal
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from torch import nn

from coterie.errors import TrainingStopped
from coterie.progress import listening
from coterie.seeding import seeded

# -- seeds


def test_the_same_seed_gives_the_same_weights(train, assert_same):
    one = train(guard="on")
    other = train(guard="on")
    assert_same(one.state, other.state)
    assert one.records == other.records
    np.testing.assert_array_equal(one.labels, other.labels)


def test_another_seed_gives_other_weights(train):
    assert not torch.equal(train().objective.mu, train(seed=1).objective.mu)


def test_the_global_random_state_is_neither_used_nor_changed(train, assert_same):
    torch.manual_seed(11)
    before = torch.get_rng_state()
    one = train().state
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(12)
    assert_same(one, train().state)


def test_the_global_random_state_is_restored_after_an_error():
    before = torch.get_rng_state()
    with pytest.raises(TypeError), seeded(3):
        len(torch.rand(5), "one argument too many")
    assert torch.equal(torch.get_rng_state(), before)


# -- callbacks


@pytest.mark.parametrize("guard", ["on", "off"])
def test_a_callback_is_called_before_training_and_after_every_epoch(train, guard, data):
    seen = []
    trained = train(guard=guard, callbacks=[seen.append])
    assert [evaluation.record["stage"] for evaluation in seen] == ["init", "pull", "pull", "pull"]
    assert [evaluation.record["epoch"] for evaluation in seen] == [0, 1, 2, 3]
    assert [evaluation.ends_stage for evaluation in seen] == [True, False, False, True]
    assert [evaluation.record for evaluation in seen[1:]] == trained.history
    np.testing.assert_allclose(seen[0].h, data[0])
    np.testing.assert_array_equal(seen[0].labels, data[1])
    assert not np.array_equal(seen[1].h, seen[2].h)


def test_evaluation_is_without_dropout(train, toy):
    class Noisy(toy):
        def __init__(self, network):
            super().__init__(network)
            self.drop = nn.Dropout(0.5)

        def assign(self, h):
            return super().assign(self.drop(h))

    seen = []
    trained = train(Noisy, callbacks=[seen.append], head_lr=0.0, encoder_lr=0.0)
    for evaluation in seen:
        np.testing.assert_array_equal(evaluation.labels, trained.labels)


@pytest.fixture
def with_assigner(toy):
    """An objective whose assigner has buffers of its own; training uses one of them."""

    class WithAssigner(toy):
        def __init__(self, network):
            super().__init__(network)
            self.register_buffer("means", torch.zeros(2, network.dim))

        def fit_assigner(self, corpus, seed):
            self.means = corpus.means(2)
            self.momentum.fill_(7)
            self.events.append("fit_assigner")

        def pull(self, batch):
            terms = super().pull(batch)
            return terms | {"slow": 0.1 * (self.mu - self.momentum - self.means).square().mean()}

        def assign(self, h):
            return (-(h.double()[:, None] - self.means.double()).square().sum(dim=2)).softmax(dim=1)

    return WithAssigner


def test_evaluation_does_not_change_the_objective(new_run, with_assigner, assert_same):
    run = new_run(with_assigner)
    before = {name: value.clone() for name, value in run.objective.state_dict().items()}
    run.objective.train()
    evaluation = run._evaluate(run._encode_corpus(), {}, ends_stage=True)
    assert_same(before, run.objective.state_dict())
    assert run.objective.events == ["initialize"]
    assert evaluation.objective is not run.objective
    assert evaluation.objective.means.abs().sum() > 0
    assert evaluation.objective.events == ["initialize", "fit_assigner"]


def test_the_copy_of_an_evaluation_shares_network_and_weights(new_run, with_assigner):
    run = new_run(with_assigner)
    copy = run.objective.evaluation_copy()
    assert copy.network is run.objective.network
    assert copy.mu is run.objective.mu
    assert copy.momentum is not run.objective.momentum


def test_evaluating_does_not_change_the_training(train, with_assigner, assert_same):
    evaluated = train(with_assigner, callbacks=[lambda _: None])
    unevaluated = train(with_assigner)
    assert_same(evaluated.state, unevaluated.state)
    assert evaluated.records == unevaluated.records


def test_a_callback_cannot_change_the_training(train, with_assigner, assert_same):
    def meddle(evaluation):
        torch.rand(7)
        evaluation.objective.momentum.fill_(99)
        evaluation.objective.queue.fill_(9)
        evaluation.objective.batches.clear()
        evaluation.objective.fit_assigner = None
        evaluation.h[:] = 0
        evaluation.labels[:] = 0

    assert_same(train(with_assigner, callbacks=[meddle]).state, train(with_assigner).state)


# -- progress


def test_progress_is_reported_step_by_step(train):
    reports = []

    @contextmanager
    def listener(label, total):
        yield lambda done, note="": reports.append((label, total, done, note.partition(",")[0]))

    with listening(listener):
        train()
    reports = [report for report in reports if report[0] == "Training"]
    assert sum(done for _, _, done, _ in reports) == 9
    assert {total for _, total, _, _ in reports} == {9}
    assert reports[-1] == ("Training", 9, 1, "epoch 3 of 3")


# -- Ctrl-C


def test_ctrl_c_stops_after_the_step_and_restores_the_signal_handler(train, toy):
    before = signal.getsignal(signal.SIGINT)
    made = []

    class Interrupted(toy):
        def __init__(self, network):
            super().__init__(network)
            made.append(self)

        def after_step(self):
            if len(self.batches) == 5:
                signal.raise_signal(signal.SIGINT)
                self.events.append("step 5 is complete")

    with pytest.raises(TrainingStopped, match=r"Stopped at step 5 of 9\. Nothing was saved: with a checkpoint"):
        train(Interrupted)
    assert made[0].events[-1] == "step 5 is complete"
    assert len(made[0].batches) == 5
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_ctrl_c_interrupts_at_once(train, toy):
    class Interrupted(toy):
        def after_step(self):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(TrainingStopped, match="Stopped at step 0 of 9"):
        train(Interrupted)
