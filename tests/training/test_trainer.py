import signal
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from coterie.contracts import Stage
from coterie.errors import TrainingError, TrainingStopped
from coterie.progress import listening
from coterie.training.checkpoint import Checkpoint
from coterie.training.optimizer import Optimizer
from coterie.training.seeding import batches, n_batches, seeded


def state(trained):
    return {name: value.clone() for name, value in trained.objective.state_dict().items()}


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert torch.equal(value, other[name]), name


# -- stages, epochs, steps


def test_stages_run_in_order_and_announce_themselves(train, toy):
    class Staged(toy):
        def stages(self, epochs):
            def told(name):
                return lambda _: self.events.append(name)

            def loss(name):
                return lambda batch: (self.events.append(name), self.pull(batch))[1]

            return [
                Stage("first", epochs, loss("a"), before=told("before a"), before_epoch=told("epoch of a")),
                Stage("never", 0, loss("x"), before=told("before x"), before_epoch=told("epoch of x")),
                Stage("second", 1, loss("b"), before=told("before b")),
                Stage("third", 1, loss("c")),
            ]

        def after_step(self):
            self.events.append("step")

        def finish(self, corpus, seed):
            self.events.append("finish")

    trained = train(Staged, epochs=2)
    a, b, c = ([name, "step"] * 3 for name in "abc")
    assert trained.objective.events == [
        "start", "finish", "before a", "epoch of a", *a, "epoch of a", *a, "before b", *b, *c,
    ]  # fmt: skip
    assert [(r["stage"], r["epoch"], r["step"]) for r in trained.history] == [
        ("first", 1, 3), ("first", 2, 6), ("second", 1, 9), ("third", 1, 12),
    ]  # fmt: skip


def test_a_stage_begins_with_everything_as_it_is_embedded_then(train, toy, data):
    seen = []

    class Staged(toy):
        def stages(self, epochs):
            look = lambda corpus: seen.append((corpus, self.encoder.look(torch.from_numpy(data[0]))))  # noqa: E731
            return [Stage("pull", 2, self.pull, before_epoch=look), Stage("pull more", 1, self.pull, before=look)]

    train(Staged)
    assert len(seen) == 3
    for corpus, h in seen:
        torch.testing.assert_close(corpus.h, h, atol=0, rtol=0)
        assert corpus.labels.tolist() == data[1].tolist()
        assert corpus.counts.tolist() == [1] * 14
    torch.testing.assert_close(seen[0][0].h, torch.from_numpy(data[0]))
    assert not torch.equal(seen[0][0].h, seen[1][0].h)
    assert not torch.equal(seen[1][0].h, seen[2][0].h)


@pytest.mark.parametrize(
    ("max_steps", "steps", "ends"),
    [(None, 9, [3, 6, 9]), (0, 0, []), (1, 1, [1]), (3, 3, [3]), (4, 4, [3, 4]), (100, 9, [3, 6, 9])],
)
def test_it_ends_after_epochs_or_steps_whichever_is_first(train, max_steps, steps, ends):
    trained = train(epochs=3, max_steps=max_steps)
    assert len(trained.objective.batches) == steps
    assert [record["step"] for record in trained.history] == ends


def test_without_epochs_nothing_changes(train, a_run):
    trained, fresh = train(epochs=0), a_run()
    assert trained.history == []
    assert_same(state(trained), dict(fresh.objective.state_dict()))
    assert not trained.objective.training


def test_dropout_is_on_in_steps_and_off_afterwards(train, toy):
    modes = []

    class Watched(toy):
        def pull(self, batch):
            modes.append((self.training, self.encoder.training))
            return super().pull(batch)

    trained = train(Watched, guard="on")
    assert modes == [(True, True)] * 9
    assert not any(module.training for module in trained.objective.modules())


def test_after_every_step_the_objective_is_told_once(train, toy):
    class Counting(toy):
        def after_step(self):
            self.events.append(len(self.batches))

    assert train(Counting).objective.events == ["start", *range(1, 10)]


# -- batches


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 60), size=st.integers(2, 20), seed=st.integers(0, 2**32 - 1), epoch=st.integers(0, 50))
def test_an_epoch_has_every_row_once_in_even_batches(n, size, seed, epoch):
    parts = batches(n, size, seed=seed, number=epoch)
    assert sorted(torch.cat(parts).tolist()) == list(range(n))
    assert len(parts) == n_batches(n, size) == -(-n // size)
    assert max(map(len, parts)) <= size
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    again = batches(n, size, seed=seed, number=epoch)
    assert all(torch.equal(one, other) for one, other in zip(parts, again, strict=True))


def test_every_epoch_and_every_seed_shuffles_anew():
    orders = {tuple(torch.cat(batches(30, 7, seed=seed, number=epoch)).tolist()) for seed in (0, 1) for epoch in (0, 1)}
    assert len(orders) == 4


def test_drawing_batches_leaves_the_random_numbers_alone():
    before = torch.get_rng_state()
    batches(30, 7, seed=0, number=0)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_steps_of_an_epoch_cover_every_row_once(train):
    seen = [batch.rows for batch in train().objective.batches]
    for epoch in range(3):
        rows = seen[3 * epoch : 3 * epoch + 3]
        assert sorted(torch.cat(rows).tolist()) == list(range(14))
        assert sorted(map(len, rows)) == [4, 5, 5]


def test_a_batch_holds_its_rows_of_every_view(train, data):
    views = torch.from_numpy(data[0]), -torch.from_numpy(data[0])
    for batch in train(views=lambda _: views, max_steps=2).objective.batches:
        np.testing.assert_array_equal(batch.original, data[0][batch.rows])
        np.testing.assert_array_equal(batch.augmented[0], -data[0][batch.rows])


def test_a_view_that_is_the_text_itself_is_the_same_object(train):
    assert all(batch.augmented[0] is batch.original for batch in train(max_steps=2).objective.batches)


def test_every_epoch_reads_its_own_views(train, data):
    original = torch.from_numpy(data[0])
    trained = train(views=lambda epoch: [original, original + epoch])
    for step, batch in enumerate(trained.objective.batches):
        torch.testing.assert_close(batch.augmented[0], batch.original + step // 3)


def test_views_may_be_of_the_nearest_texts(train, data):
    original = torch.from_numpy(data[0])
    near = torch.stack([torch.arange(14).roll(-1), torch.arange(14).roll(-2)], dim=1)  # the next two of each
    seen = set()
    for batch in train(views=lambda _: [original, original], near=near, epochs=10).objective.batches:
        torch.testing.assert_close(batch.original, original[batch.rows], atol=0, rtol=0)
        for row, view in zip(batch.rows.tolist(), batch.augmented[0], strict=True):
            (place,) = (original == view).all(dim=1).nonzero().flatten().tolist()
            assert place in near[row].tolist()
            seen.add((place - row) % 14)
    assert seen == {1, 2}


def test_without_nearest_texts_views_are_of_the_text_itself(train):
    none = torch.empty(14, 0, dtype=torch.long)
    assert all(batch.augmented[0] is batch.original for batch in train(near=none, max_steps=2).objective.batches)


# -- epochs of a given number of steps


@pytest.mark.parametrize(
    ("epoch_steps", "max_steps", "ends"),
    [(2, None, [2, 4, 6]), (1, None, [1, 2, 3]), (7, None, [7, 14, 21]), (2, 5, [2, 4, 5]), (7, 3, [3])],
)
def test_an_epoch_may_have_a_given_number_of_steps(train, epoch_steps, max_steps, ends):
    trained = train(epochs=3, epoch_steps=epoch_steps, max_steps=max_steps)
    assert [record["step"] for record in trained.history] == ends
    assert len(trained.objective.batches) == ends[-1]
    for record, first, last in zip(trained.history, [0, *ends], ends, strict=False):
        assert record["near"] == pytest.approx(np.mean([term["near"] for term in trained.objective.terms[first:last]]))


@pytest.mark.parametrize("epoch_steps", [1, 2, 3, 4, 7])
def test_passes_over_the_rows_go_on_across_epochs(train, epoch_steps):
    trained = train(epochs=-(-12 // epoch_steps), epoch_steps=epoch_steps, max_steps=12)
    rows = [batch.rows for batch in trained.objective.batches]
    passes = [torch.cat(rows[first : first + 3]).tolist() for first in range(0, 12, 3)]
    assert all(sorted(one) == list(range(14)) for one in passes)
    assert len({tuple(one) for one in passes}) == 4  # each in an order of its own


def test_the_length_of_an_epoch_does_not_change_the_steps(train):
    short, long = train(epochs=6, epoch_steps=1), train(epochs=2, epoch_steps=3)
    assert_same(state(short), state(long))
    assert short.objective.terms == long.objective.terms


def test_what_belongs_to_an_epoch_happens_once_in_so_many_steps(train, toy, data):
    class Told(toy):
        def stages(self, epochs):
            return [
                Stage("one", 1, self.pull, before=self.tell("before one")),
                Stage("two", epochs - 1, self.pull, before=self.tell("before two"), before_epoch=self.tell("epoch")),
            ]

        def tell(self, name):
            return lambda corpus: self.events.append((name, len(self.batches)))

    original = torch.from_numpy(data[0])
    trained = train(Told, epochs=3, epoch_steps=4, views=lambda epoch: [original, original + epoch])
    assert trained.objective.events == ["start", ("before one", 0), ("before two", 4), ("epoch", 4), ("epoch", 8)]
    assert [(r["stage"], r["epoch"]) for r in trained.history] == [("one", 1), ("two", 1), ("two", 2)]
    for step, batch in enumerate(trained.objective.batches):
        torch.testing.assert_close(batch.augmented[0], batch.original + step // 4)


def test_a_linear_schedule_knows_how_long_epochs_are(train, slope):
    events = np.array(train(slope, head_lr=0.1, schedule="linear", epochs=2, epoch_steps=2).objective.events)
    np.testing.assert_allclose(np.diff(events[:, 0]), -0.1 * np.array([1, 0.75, 0.5, 0.25]), rtol=1e-4)


@pytest.fixture
def resumed(train, tmp_path):
    """Train, be interrupted after a number of steps, and go on."""

    def go(cls, after, **options):
        class Interrupted(cls):
            def after_step(self):
                super().after_step()
                if len(self.batches) == after:
                    signal.raise_signal(signal.SIGINT)

        options |= {"checkpoint": Checkpoint(tmp_path / f"{after}", "these texts")}
        with pytest.raises(TrainingStopped, match=f"Stopped at step {after} "):
            train(Interrupted, **options)
        return train(cls, **options)

    return go


@pytest.mark.parametrize("epoch_steps", [2, 4])
def test_interrupted_within_or_between_such_epochs_it_ends_the_same(train, resumed, toy, epoch_steps):
    class Shaken(toy):
        def stages(self, epochs):
            return [Stage("pull", epochs, self.pull, before_epoch=self.shake)]

        def shake(self, corpus):
            self.mu.data += 0.1 * torch.randn_like(self.mu) + 0.01 * corpus.h.mean()

    options = {"epochs": 3, "epoch_steps": epoch_steps, "guard": "on"}
    whole = train(Shaken, **options)
    for after in range(1, 3 * epoch_steps):
        again = resumed(Shaken, after, **options)
        assert len(again.objective.batches) == 3 * epoch_steps - after
        assert_same(state(again), state(whole))
        assert again.records == whole.records


# -- training that settles


@pytest.fixture
def settling(toy):
    """Has nothing left to learn when its epochs have been counted to two; it finds out when the second begins."""

    class Settling(toy):
        def __init__(self, encoder):
            super().__init__(encoder)
            self.register_buffer("begun", torch.zeros((), dtype=torch.long))

        def stages(self, epochs):
            return [Stage("pull", epochs, self.pull, before_epoch=lambda _: self.begun.add_(1))]

        @property
        def settled(self):
            return bool(self.begun >= 2)

    return Settling


@pytest.mark.parametrize(("epoch_steps", "ends"), [(None, [3, 6]), (2, [2, 4]), (5, [5, 10])])
def test_training_that_has_settled_ends_with_its_epoch(train, settling, epoch_steps, ends):
    trained = train(settling, epochs=9, epoch_steps=epoch_steps, guard="on")
    assert [record["step"] for record in trained.history] == ends
    assert len(trained.objective.batches) == ends[-1]
    assert trained.guard.verdict.epochs == 2
    assert trained.guard.verdict.stopped == ""
    assert not trained.objective.training


def test_what_is_settled_from_the_start_is_not_trained(train, settling, a_run):
    class Settled(settling):
        settled = True

    trained = train(Settled)
    assert trained.history == []
    assert_same(state(trained), dict(a_run(Settled).objective.state_dict()))


def test_a_schedule_does_not_wait_for_an_end_that_comes_earlier(train, settling, slope):
    class Both(settling, slope):
        pass

    events = np.array(train(Both, head_lr=0.1, schedule="linear", epochs=4).objective.events)
    np.testing.assert_allclose(np.diff(events[:, 0]), -0.1 * (1 - np.arange(6) / 12), rtol=1e-4)


@pytest.mark.parametrize("after", [1, 2, 3, 4, 5])
def test_a_resumed_training_settles_at_the_same_point(train, resumed, settling, after):
    whole = train(settling, epochs=9, guard="on")
    again = resumed(settling, after, epochs=9, guard="on")
    assert len(again.objective.batches) == 6 - after
    assert_same(state(again), state(whole))
    assert again.records == whole.records
    assert again.guard.verdict == whole.guard.verdict


def test_resumed_after_it_has_settled_it_takes_no_step(resumed, settling):
    assert resumed(settling, 6, epochs=9).objective.batches == []


# -- what is minimised, and the record of it


def test_history_has_the_mean_of_every_term_and_their_sum(train):
    trained = train()
    assert len(trained.history) == 3
    for epoch, record in enumerate(trained.history):
        terms = trained.objective.terms[3 * epoch : 3 * epoch + 3]
        assert record.keys() == {"stage", "epoch", "step", "seconds", "near", "same", "loss"}
        assert record["near"] == pytest.approx(np.mean([term["near"] for term in terms]))
        assert record["same"] == pytest.approx(np.mean([term["same"] for term in terms]))
        assert record["loss"] == pytest.approx(record["near"] + record["same"])
        assert record["seconds"] > 0


def test_an_epoch_cut_short_has_the_mean_of_what_was_done(train):
    trained = train(max_steps=4)
    assert trained.history[-1]["near"] == pytest.approx(trained.objective.terms[3]["near"])


def test_terms_of_another_stage_are_not_mixed_in(train, toy):
    class Staged(toy):
        def stages(self, epochs):
            other = lambda batch: {"far": self.mu.square().sum()}  # noqa: E731
            return [Stage("pull", 1, self.pull), Stage("other", 1, other)]

        def after_step(self):
            pass

    first, second = train(Staged).history
    assert "far" not in first
    assert second.keys() == {"stage", "epoch", "step", "seconds", "far", "loss"}


def test_the_sum_of_the_terms_goes_down(train):
    losses = [record["loss"] for record in train(epochs=40).history]
    assert losses[-1] < 0.7 * losses[0]


def test_terms_apart_are_minimised_like_their_sum(train, toy):
    class Summed(toy):
        def pull(self, batch):
            return {"all": sum(super().pull(batch).values())}

    apart, summed = state(train()), state(train(Summed))
    for name, value in apart.items():
        torch.testing.assert_close(value, summed[name], msg=name)


@pytest.fixture
def slope(toy):
    """A slope of one: every step of Adam is as long as its learning rate."""

    class Slope(toy):
        def pull(self, batch):
            self.batches.append(batch)
            return {"down": self.mu.sum() + self.encoder.outward.weight.sum()}

        def after_step(self):
            self.events.append((float(self.mu[0, 0].detach()), float(self.encoder.outward.weight[0, 0].detach())))

        def start(self, corpus, seed):
            self.events.append((0.0, 0.0))

    return Slope


def test_encoder_and_heads_have_their_own_learning_rates(train, slope):
    events = np.array(train(slope, encoder_lr=0.001, head_lr=0.1).objective.events)
    np.testing.assert_allclose(np.diff(events, axis=0), [[-0.1, -0.001]] * 9, rtol=1e-4)


def test_a_linear_schedule_falls_to_zero_in_a_line(train, slope):
    events = np.array(train(slope, encoder_lr=0.001, head_lr=0.1, schedule="linear").objective.events)
    left = 1 - np.arange(9) / 9
    np.testing.assert_allclose(np.diff(events, axis=0), -left[:, None] * [0.1, 0.001], rtol=1e-4)


def test_a_linear_schedule_knows_that_max_steps_ends_earlier(train, slope):
    events = np.array(train(slope, head_lr=0.1, schedule="linear", max_steps=4).objective.events)
    np.testing.assert_allclose(np.diff(events[:, 0]), -0.1 * np.array([1, 0.75, 0.5, 0.25]), rtol=1e-4)


def test_a_learning_rate_of_zero_changes_nothing(train, a_run):
    fresh = dict(a_run().objective.named_parameters())
    for name, weight in train(encoder_lr=0.0).objective.named_parameters():
        assert torch.equal(weight, fresh[name]) == name.startswith("encoder."), name
    for name, weight in train(head_lr=0.0).objective.named_parameters():
        assert torch.equal(weight, fresh[name]) == (not name.startswith("encoder.")), name


@pytest.mark.parametrize(("clip_norm", "expected"), [(None, 3000 * 8**0.5), (0.5, 0.5), (1e6, 3000 * 8**0.5)])
def test_a_gradient_longer_than_clip_norm_is_cut(a_run, clip_norm, expected):
    objective = a_run().objective
    optimizer = Optimizer(objective, encoder_lr=0.1, head_lr=0.1, schedule="constant", clip_norm=clip_norm)
    total = 3000 * objective.mu.detach().sum().item()
    loss = optimizer.step({"one": 1000 * objective.mu.sum(), "two": 2000 * objective.mu.sum()}, progress=0)
    assert loss == pytest.approx(total)
    assert objective.mu.grad.norm().item() == pytest.approx(expected)


def test_gradients_of_one_step_do_not_add_to_the_next(a_run):
    objective = a_run().objective
    optimizer = Optimizer(objective, encoder_lr=0.1, head_lr=0.1, schedule="constant", clip_norm=None)
    for _ in range(2):
        optimizer.step({"one": objective.mu.sum()}, progress=0)
    torch.testing.assert_close(objective.mu.grad, torch.ones(2, 4))


def test_weights_that_are_frozen_are_not_touched(train, toy, a_run):
    class Frozen(toy):
        def __init__(self, encoder):
            super().__init__(encoder)
            encoder.requires_grad_(False)

    fresh, trained = a_run(Frozen).objective, train(Frozen).objective
    assert_same(fresh.encoder.state_dict(), trained.encoder.state_dict())
    assert not torch.equal(fresh.mu, trained.mu)


def test_a_loss_that_is_no_number_is_refused_with_its_terms(a_run):
    objective = a_run().objective
    optimizer = Optimizer(objective, encoder_lr=0.1, head_lr=0.1, schedule="constant", clip_norm=None)
    before = objective.mu.detach().clone()
    with pytest.raises(TrainingError, match=r"no longer a number \(fine 2, broken nan\)"):
        optimizer.step({"fine": torch.tensor(2.0), "broken": objective.mu.sum() * torch.nan}, progress=0)
    assert torch.equal(objective.mu, before)


# -- randomness


def test_one_seed_gives_the_same_weights_to_the_bit(train):
    one, other = train(guard="on"), train(guard="on")
    assert_same(state(one), state(other))
    assert one.records == other.records
    np.testing.assert_array_equal(one.labels, other.labels)


def test_another_seed_gives_others(train):
    assert not torch.equal(train().objective.mu, train(seed=1).objective.mu)


def test_the_random_numbers_of_the_caller_are_neither_used_nor_moved(train):
    torch.manual_seed(11)
    before = torch.get_rng_state()
    one = state(train())
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(12)
    assert_same(one, state(train()))


def test_random_numbers_are_back_after_an_error():
    before = torch.get_rng_state()
    with pytest.raises(TypeError), seeded(3):
        len(torch.rand(5), "drawn, but refused")
    assert torch.equal(torch.get_rng_state(), before)


# -- watching


@pytest.mark.parametrize("guard", ["on", "off"])
def test_a_watcher_sees_the_start_and_every_epoch(train, guard, data):
    seen = []
    trained = train(guard=guard, watchers=[seen.append])
    assert [evaluation.record["epoch"] for evaluation in seen] == [0, 1, 2, 3]
    assert [evaluation.record for evaluation in seen[1:]] == trained.history
    np.testing.assert_allclose(seen[0].h, data[0])
    np.testing.assert_array_equal(seen[0].labels, data[1])
    assert not np.array_equal(seen[1].h, seen[2].h)


def test_what_a_watcher_draws_does_not_reach_the_training(train):
    assert_same(state(train()), state(train(watchers=[lambda _: torch.rand(7)])))


def test_labels_are_judged_without_dropout(train, toy):
    class Noisy(toy):
        def __init__(self, encoder):
            super().__init__(encoder)
            self.drop = nn.Dropout(0.5)

        def assign(self, h):
            return super().assign(self.drop(h))

    seen = []
    trained = train(Noisy, watchers=[seen.append], head_lr=0.0, encoder_lr=0.0)
    for evaluation in seen:
        np.testing.assert_array_equal(evaluation.labels, trained.labels)


def test_progress_is_told_step_by_step(train):
    heard = []

    @contextmanager
    def listener(label, total):
        yield lambda done, note="": heard.append((label, total, done, note.split(" ")[0]))

    with listening(listener):
        train()
    told = [event for event in heard if event[0] == "Training"]
    assert sum(done for _, _, done, _ in told) == 9
    assert {total for _, total, _, _ in told} == {9}
    assert told[-1] == ("Training", 9, 1, "pull")


# -- stopping


def test_ctrl_c_ends_after_the_step_in_a_sentence_and_gives_the_signal_back(train, toy):
    before = signal.getsignal(signal.SIGINT)

    class Impatient(toy):
        def after_step(self):
            if len(self.batches) == 5:
                signal.raise_signal(signal.SIGINT)
                self.events.append("step 5 was finished")

    made = []

    class Kept(Impatient):
        def __init__(self, encoder):
            super().__init__(encoder)
            made.append(self)

    with pytest.raises(TrainingStopped, match=r"Stopped at step 5 of 9\. Nothing was kept: with a checkpoint"):
        train(Kept)
    assert made[0].events[-1] == "step 5 was finished"
    assert len(made[0].batches) == 5
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_ctrl_c_does_not_wait_for_the_step(train, toy):
    class VeryImpatient(toy):
        def after_step(self):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            self.events.append("never")

    with pytest.raises(TrainingStopped, match="Stopped at step 0 of 9"):
        train(VeryImpatient)
