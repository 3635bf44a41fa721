"""The loss, its record in the history, learning rates, schedules and gradient clipping."""

import numpy as np
import pytest
import torch

from coterie.contracts import Stage
from coterie.errors import TrainingError
from coterie.training.optimizer import Optimizer


def test_the_history_has_the_mean_of_every_term_and_their_sum(train):
    trained = train()
    assert len(trained.history) == 3
    for epoch, record in enumerate(trained.history):
        terms = trained.objective.terms[3 * epoch : 3 * epoch + 3]
        assert record.keys() == {"stage", "epoch", "step", "seconds", "near", "same", "loss"}
        assert record["near"] == pytest.approx(np.mean([term["near"] for term in terms]))
        assert record["same"] == pytest.approx(np.mean([term["same"] for term in terms]))
        assert record["loss"] == pytest.approx(record["near"] + record["same"])
        assert record["seconds"] > 0


def test_an_epoch_that_max_steps_cuts_short_has_the_mean_of_its_steps(train):
    trained = train(max_steps=4)
    assert trained.history[-1]["near"] == pytest.approx(trained.objective.terms[3]["near"])


def test_the_record_of_a_stage_has_its_own_terms_only(train, toy):
    class Staged(toy):
        def stages(self, epochs):
            return [Stage("pull", 1, self.pull), Stage("other", 1, lambda batch: {"far": self.mu.square().sum()})]

        def after_step(self):
            pass

    first, second = train(Staged).history
    assert "far" not in first
    assert second.keys() == {"stage", "epoch", "step", "seconds", "far", "loss"}


def test_the_loss_decreases(train):
    losses = [record["loss"] for record in train(epochs=40).history]
    assert losses[-1] < 0.7 * losses[0]


def test_separate_terms_are_minimized_like_their_sum(train, toy):
    class Summed(toy):
        def pull(self, batch):
            return {"all": sum(super().pull(batch).values())}

    summed = train(Summed).state
    for name, value in train().state.items():
        torch.testing.assert_close(value, summed[name], msg=name)


# -- learning rates


def test_encoder_and_heads_have_their_own_learning_rates(train, slope):
    events = np.array(train(slope, encoder_lr=0.001, head_lr=0.1).objective.events)
    np.testing.assert_allclose(np.diff(events, axis=0), [[-0.1, -0.001]] * 9, rtol=1e-4)


def test_the_linear_schedule_decays_to_zero(train, slope):
    events = np.array(train(slope, encoder_lr=0.001, head_lr=0.1, schedule="linear").objective.events)
    left = 1 - np.arange(9) / 9
    np.testing.assert_allclose(np.diff(events, axis=0), -left[:, None] * [0.1, 0.001], rtol=1e-4)


@pytest.mark.parametrize("options", [{"max_steps": 4}, {"epochs": 2, "epoch_steps": 2}])
def test_the_linear_schedule_follows_the_planned_number_of_steps(train, slope, options):
    events = np.array(train(slope, head_lr=0.1, schedule="linear", **options).objective.events)
    np.testing.assert_allclose(np.diff(events[:, 0]), -0.1 * np.array([1, 0.75, 0.5, 0.25]), rtol=1e-4)


def test_a_learning_rate_of_zero_trains_nothing(train, new_run):
    initial = dict(new_run().objective.named_parameters())
    for name, weight in train(encoder_lr=0.0).objective.named_parameters():
        assert torch.equal(weight, initial[name]) == name.startswith("network."), name
    for name, weight in train(head_lr=0.0).objective.named_parameters():
        assert torch.equal(weight, initial[name]) == (not name.startswith("network.")), name


def test_frozen_weights_are_not_changed(train, toy, new_run, assert_same):
    class Frozen(toy):
        def __init__(self, network):
            super().__init__(network)
            network.requires_grad_(False)

    initial = new_run(Frozen).objective
    trained = train(Frozen).objective
    assert_same(initial.network.state_dict(), trained.network.state_dict())
    assert not torch.equal(initial.mu, trained.mu)


# -- one step


def optimizer_of(objective, max_grad_norm=None):
    return Optimizer(objective, encoder_lr=0.1, head_lr=0.1, schedule="constant", max_grad_norm=max_grad_norm)


@pytest.mark.parametrize(("max_grad_norm", "expected"), [(None, 3000 * 8**0.5), (0.5, 0.5), (1e6, 3000 * 8**0.5)])
def test_a_gradient_longer_than_max_grad_norm_is_clipped(new_run, max_grad_norm, expected):
    objective = new_run().objective
    total = 3000 * objective.mu.detach().sum().item()
    terms = {"one": 1000 * objective.mu.sum(), "two": 2000 * objective.mu.sum()}
    loss = optimizer_of(objective, max_grad_norm).step(terms, progress=0)
    assert loss == pytest.approx(total)
    assert objective.mu.grad.norm().item() == pytest.approx(expected)


def test_gradients_do_not_accumulate_over_steps(new_run):
    objective = new_run().objective
    optimizer = optimizer_of(objective)
    for _ in range(2):
        optimizer.step({"one": objective.mu.sum()}, progress=0)
    torch.testing.assert_close(objective.mu.grad, torch.ones(2, 4))


def test_a_loss_that_is_nan_is_an_error_that_names_the_terms(new_run):
    objective = new_run().objective
    before = objective.mu.detach().clone()
    with pytest.raises(TrainingError, match=r"the loss is NaN or infinite \(fine 2, broken nan\)"):
        optimizer_of(objective).step({"fine": torch.tensor(2.0), "broken": objective.mu.sum() * torch.nan}, progress=0)
    assert torch.equal(objective.mu, before)
