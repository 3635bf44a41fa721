"""How long a training takes: what is measured, and the time left that is shown."""

import time

import pytest

from coterie.contracts import Stage
from coterie.progress import Meter, listening, part, whole
from coterie.training.pace import Pace
from coterie.training.stopping import Stopping

STEP, HOOK, EVALUATION, AFTER = 1.0, 3.0, 4.0, 8.0


@pytest.fixture
def now(monkeypatch):
    """Return a clock, in a list, that stands still."""
    clock = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    return clock


@pytest.fixture
def slow(toy, now):
    """Return an objective whose steps, hooks and evaluations take their time."""

    class Slow(toy):
        def stages(self, epochs):
            return [Stage("pull", epochs, self.pull, before_epoch=self.relabel)]

        def relabel(self, corpus, seed):
            now[0] += HOOK

        def after_step(self):
            super().after_step()
            now[0] += STEP

        def fit_assigner(self, corpus, seed):
            now[0] += EVALUATION

    return Slow


def test_the_time_left_is_that_of_steps_epochs_and_what_follows(now):
    pace = Pace()
    for seconds in (50.0, 2.0, 4.0):  # the first is not typical
        pace.step_done(seconds)
    with pace.measuring("hooks"):
        now[0] += 5
    with pace.measuring("evaluation"):
        now[0] += 7
    assert pace.after == 3 * 7
    assert pace.left(10, 2) == 10 * 3 + 2 * (7 + 5) + 3 * 7


def test_before_the_first_epoch_ends_its_evaluation_is_expected_to_take_as_long_as_the_hooks(now):
    pace = Pace()
    with pace.measuring("hooks"):
        now[0] += 5
    assert pace.left(0, 1) == 2 * 5 + 3 * 5


def test_the_time_left_is_right_within_a_fifth_in_all_of_a_training(train, slow, now):
    shown = []
    began = now[0]
    meter = Meter(lambda share, text: shown.append((now[0], share, text)))
    with listening(meter), whole({"embedding": 80, "training": 15, "score": 5}):
        with part("training"):
            train(slow, guard="on", epochs=5)
        with part("score"):
            now[0] += AFTER
    steps = [(at, share) for at, share, text in shown if text.startswith("training, epoch")]
    assert len(steps) == 15
    for at, share in steps:
        left = (at - began) * (1 - share) / share
        assert left == pytest.approx(now[0] - at, rel=0.2)


def test_a_training_leaves_time_for_what_follows_it(train, slow, now):
    began = now[0]
    trained = train(slow, guard="on", epochs=1000, stopping=Stopping(deadline=began + 60))
    assert 60 - 2 * STEP <= now[0] + AFTER - began <= 60 + STEP
    assert "guard" in trained.history[-1]


def test_the_evaluation_of_an_epoch_and_the_hooks_of_the_next_share_one_embedding(train, slow, monkeypatch):
    calls = []
    monkeypatch.setattr("coterie.training.distributed.encode", lambda *args: calls.append(1) or args[0].encode(args[1]))
    train(slow, guard="on", epochs=3)
    assert len(calls) == 3  # after each epoch; before the first it is known
