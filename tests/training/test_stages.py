"""The training plan: stages, epochs, steps, and the hooks of stages."""

import numpy as np
import pytest
import torch

from coterie.contracts import Stage


def test_stages_run_in_order_with_their_hooks(train, toy):
    class Staged(toy):
        def stages(self, epochs):
            def record(name):
                return lambda corpus, seed: self.events.append(name)

            def loss(name):
                return lambda batch: (self.events.append(name), self.pull(batch))[1]

            return [
                Stage("first", epochs, loss("a"), before=record("before a"), before_epoch=record("epoch of a")),
                Stage("empty", 0, loss("x"), before=record("before x"), before_epoch=record("epoch of x")),
                Stage("second", 1, loss("b"), before=record("before b")),
                Stage("third", 1, loss("c")),
            ]

        def after_step(self):
            self.events.append("step")

    trained = train(Staged, epochs=2)
    a, b, c = ([name, "step"] * 3 for name in "abc")
    assert trained.objective.events == [
        "initialize", "before a", "epoch of a", *a, "epoch of a", *a, "before b", *b, *c,
    ]  # fmt: skip
    assert [(r["stage"], r["epoch"], r["step"]) for r in trained.history] == [
        ("first", 1, 3), ("first", 2, 6), ("second", 1, 9), ("third", 1, 12),
    ]  # fmt: skip


@pytest.mark.parametrize(("max_steps", "shared"), [(None, 10), (100, 10), (7, 3), (6, 2), (0, 0)])
def test_stages_share_the_epochs_that_max_steps_leaves(train, toy, max_steps, shared):
    class Staged(toy):
        def stages(self, epochs):
            self.shared = epochs
            return super().stages(epochs)

    assert train(Staged, epochs=10, max_steps=max_steps).objective.shared == shared  # 3 steps an epoch


def test_hooks_get_the_corpus_as_it_is_embedded_now_and_the_seed(train, toy, data):
    seen = []

    class Staged(toy):
        def stages(self, epochs):
            def record(corpus, seed):
                seen.append((corpus, seed, self.network.encode(torch.from_numpy(data[0]))))

            return [Stage("pull", 2, self.pull, before_epoch=record), Stage("pull more", 1, self.pull, before=record)]

    train(Staged, seed=5)
    assert len(seen) == 3
    for corpus, seed, h in seen:
        torch.testing.assert_close(corpus.h, h, atol=0, rtol=0)
        assert seed == 5
        assert corpus.labels.tolist() == data[1].tolist()
        assert corpus.counts.tolist() == [1] * 14
    corpora = [corpus for corpus, _, _ in seen]
    torch.testing.assert_close(corpora[0].h, torch.from_numpy(data[0]))
    assert not torch.equal(corpora[0].h, corpora[1].h)
    assert not torch.equal(corpora[1].h, corpora[2].h)


@pytest.mark.parametrize(
    ("max_steps", "steps", "ends"),
    [(None, 9, [3, 6, 9]), (0, 0, []), (1, 1, [1]), (3, 3, [3]), (4, 4, [3, 4]), (100, 9, [3, 6, 9])],
)
def test_training_ends_after_the_epochs_or_max_steps(train, max_steps, steps, ends):
    trained = train(epochs=3, max_steps=max_steps)
    assert len(trained.objective.batches) == steps
    assert [record["step"] for record in trained.history] == ends


def test_a_plan_of_a_billion_epochs_takes_no_memory(train):
    assert train(epochs=10**9, max_steps=2).history[-1]["step"] == 2


def test_zero_epochs_change_nothing(train, new_run, assert_same):
    trained = train(epochs=0)
    assert trained.history == []
    assert_same(trained.state, dict(new_run().objective.state_dict()))
    assert not trained.objective.training


def test_dropout_is_on_in_steps_and_off_afterwards(train, toy):
    modes = []

    class Recording(toy):
        def pull(self, batch):
            modes.append((self.training, self.network.training))
            return super().pull(batch)

    trained = train(Recording, guard="on")
    assert modes == [(True, True)] * 9
    assert not any(module.training for module in trained.objective.modules())


def test_after_step_is_called_once_a_step(train, toy):
    class Counting(toy):
        def after_step(self):
            self.events.append(len(self.batches))

    assert train(Counting).objective.events == ["initialize", *range(1, 10)]


# -- epochs with a fixed number of steps


@pytest.mark.parametrize(
    ("epoch_steps", "max_steps", "ends"),
    [(2, None, [2, 4, 6]), (1, None, [1, 2, 3]), (7, None, [7, 14, 21]), (2, 5, [2, 4, 5]), (7, 3, [3])],
)
def test_epoch_steps_is_the_length_of_an_epoch(train, epoch_steps, max_steps, ends):
    trained = train(epochs=3, epoch_steps=epoch_steps, max_steps=max_steps)
    assert [record["step"] for record in trained.history] == ends
    assert len(trained.objective.batches) == ends[-1]
    for record, first, last in zip(trained.history, [0, *ends], ends, strict=False):
        assert record["near"] == pytest.approx(np.mean([term["near"] for term in trained.objective.terms[first:last]]))


def test_the_length_of_an_epoch_does_not_change_the_steps(train, assert_same):
    short = train(epochs=6, epoch_steps=1)
    long = train(epochs=2, epoch_steps=3)
    assert_same(short.state, long.state)
    assert short.objective.terms == long.objective.terms


def test_hooks_and_views_follow_epoch_steps(train, toy, data):
    class Recording(toy):
        def stages(self, epochs):
            before, before_epoch = self.record("before two"), self.record("epoch")
            return [
                Stage("one", 1, self.pull, before=self.record("before one")),
                Stage("two", epochs - 1, self.pull, before=before, before_epoch=before_epoch),
            ]

        def record(self, name):
            return lambda corpus, seed: self.events.append((name, len(self.batches)))

    prepared = torch.from_numpy(data[0])
    trained = train(Recording, epochs=3, epoch_steps=4, views=lambda epoch: [prepared + epoch])
    assert trained.objective.events == ["initialize", ("before one", 0), ("before two", 4), ("epoch", 4), ("epoch", 8)]
    assert [(r["stage"], r["epoch"]) for r in trained.history] == [("one", 1), ("two", 1), ("two", 2)]
    for step, batch in enumerate(trained.objective.batches):
        torch.testing.assert_close(batch.augmented[0], batch.original + step // 4)


# -- convergence


@pytest.fixture
def converging(toy):
    """Converges when its second epoch begins."""

    class Converging(toy):
        def __init__(self, network):
            super().__init__(network)
            self.register_buffer("n_epochs", torch.zeros((), dtype=torch.long))

        def stages(self, epochs):
            return [Stage("pull", epochs, self.pull, before_epoch=lambda corpus, seed: self.n_epochs.add_(1))]

        @property
        def converged(self):
            return bool(self.n_epochs >= 2)

    return Converging


@pytest.mark.parametrize(("epoch_steps", "ends"), [(None, [3, 6]), (2, [2, 4]), (5, [5, 10])])
def test_a_converged_training_stops_at_the_end_of_its_epoch(train, converging, epoch_steps, ends):
    trained = train(converging, epochs=9, epoch_steps=epoch_steps, guard="on")
    assert [record["step"] for record in trained.history] == ends
    assert len(trained.objective.batches) == ends[-1]
    assert trained.guard.verdict.epochs == 2
    assert trained.guard.verdict.stopped == ""
    assert not trained.objective.training


def test_an_objective_that_is_converged_at_the_start_is_not_trained(train, converging, new_run, assert_same):
    class Converged(converging):
        converged = True

    trained = train(Converged)
    assert trained.history == []
    assert_same(trained.state, dict(new_run(Converged).objective.state_dict()))


def test_the_linear_schedule_does_not_expect_convergence(train, converging, slope):
    class Both(converging, slope):
        pass

    events = np.array(train(Both, head_lr=0.1, schedule="linear", epochs=4).objective.events)
    np.testing.assert_allclose(np.diff(events[:, 0]), -0.1 * (1 - np.arange(6) / 12), rtol=1e-4)


@pytest.mark.parametrize("step", [1, 2, 3, 4, 5])
def test_a_resumed_training_converges_at_the_same_step(train, interrupt_and_resume, converging, step, assert_same):
    whole = train(converging, epochs=9, guard="on")
    resumed = interrupt_and_resume(converging, step, epochs=9, guard="on")
    assert len(resumed.objective.batches) == 6 - step
    assert_same(resumed.state, whole.state)
    assert resumed.records == whole.records
    assert resumed.guard.verdict == whole.guard.verdict


def test_a_training_resumed_after_convergence_takes_no_step(interrupt_and_resume, converging):
    assert interrupt_and_resume(converging, 6, epochs=9).objective.batches == []
