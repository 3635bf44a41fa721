"""Evaluating a training does not change it, for every method that trains."""

import pytest
import torch
from short_training import DEEP_METHODS, short

each_deep_method = pytest.mark.parametrize("cls", DEEP_METHODS.values(), ids=DEEP_METHODS.keys())
THREE_EPOCHS = {"epochs": 3, "epoch_steps": 1, "max_steps": None}


def copied(objective):
    return {name: value.clone() for name, value in objective.state_dict().items()}


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert torch.equal(value, other[name]), name


@pytest.fixture(scope="module")
def unevaluated(topics):
    """Return the state of a model that was trained for three epochs without any evaluation."""
    states = {}

    def state(cls):
        if cls not in states:
            states[cls] = copied(short(cls, guard="off", **THREE_EPOCHS).fit(topics[0]).objective_)
        return states[cls]

    return state


@each_deep_method
def test_a_callback_does_not_change_the_training(cls, topics, unevaluated):
    seen = []
    model = short(cls, guard="off", **THREE_EPOCHS).fit(topics[0], callback=seen.append)
    assert [evaluation.record["epoch"] for evaluation in seen] == [0, *(record["epoch"] for record in model.history_)]
    assert_same(copied(model.objective_), unevaluated(cls))


@each_deep_method
def test_the_guard_does_not_change_the_training(cls, topics, unevaluated):
    last = {}

    def record(evaluation):
        last.clear()  # before training another objective assigns
        last.update(copied(evaluation.objective))

    model = short(cls, guard="on", **THREE_EPOCHS).fit(topics[0], callback=record)
    assert model.guard_.epochs == len(model.history_) > 0
    assert model.guard_.stopped == ""
    assert_same(last, unevaluated(cls))


@each_deep_method
def test_a_callback_that_changes_buffers_does_not_change_the_training(cls, topics, unevaluated):
    def meddle(evaluation):
        torch.rand(5)
        for buffer in evaluation.objective.buffers():
            if not any(buffer is own for own in evaluation.objective.network.buffers()):
                buffer.zero_()
        evaluation.h[:] = 0
        evaluation.labels[:] = 0

    model = short(cls, guard="off", **THREE_EPOCHS).fit(topics[0], callback=meddle)
    assert_same(copied(model.objective_), unevaluated(cls))
