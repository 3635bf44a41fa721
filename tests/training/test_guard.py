import numpy as np
import pytest
import torch

import coterie
from coterie.contracts import Network, Objective
from coterie.errors import InputError, TrainingError
from coterie.graph.evidence import neighbourhood
from coterie.graph.nearest import Links, nearest
from coterie.graph.smoothing import unit_rows
from coterie.methods.sccl import SCCL
from coterie.training.guard import CollapseWarning, Guard, Verdict
from coterie.training.trainer import Evaluation


class State(Objective):
    """Nothing but a number that is learnt."""

    def __init__(self):
        super().__init__(Network(2))
        self.value = torch.nn.Parameter(torch.zeros(1))
        self.register_buffer("follows", torch.zeros(1))

    def start(self, corpus, seed): ...

    def assign(self, h): ...

    @property
    def centers(self):
        return self.value[None]


TRUTH = np.repeat(np.arange(4), 10)
H = np.eye(4)[TRUTH] + 0.1 * np.random.default_rng(0).normal(size=(40, 4))
LINKS = nearest(unit_rows(H), 5)


def moved(labels, n):
    """Put the first ``n`` texts of each group into the next one."""
    labels = labels.copy()
    for k in range(4):
        labels[10 * k : 10 * k + n] = (k + 1) % 4
    return labels


def judged(*labels, mode="on", baseline=TRUTH, links=LINKS):
    """Return a guard and an objective after the guard has seen a state a labelling: values 0, 1, 2, ..."""
    guard, objective = Guard(mode, links, baseline, 4), State()
    records = [{} for _ in labels]
    guard.begin(Evaluation(records[0], H, labels[0], objective))
    for value, (record, labelling) in enumerate(zip(records[1:], labels[1:], strict=True), start=1):
        objective.value.data.fill_(value)
        objective.follows.fill_(value)
        guard.see(Evaluation(record, H, labelling, objective))
    return guard, objective, records


# -- the score


def test_groups_that_neighbours_share_score_one_and_chance_nearly_nothing():
    guard, _, _ = judged(TRUTH)
    assert guard.score(TRUTH) == pytest.approx(1)
    assert guard.score(np.zeros(40, dtype=int)) == 0
    assert guard.score(np.random.default_rng(1).permutation(TRUTH)) < 0.2


def test_the_fewer_texts_agree_with_their_neighbours_the_lower_the_score():
    guard, _, _ = judged(TRUTH)
    scores = [guard.score(moved(TRUTH, n)) for n in (0, 1, 2, 4)]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 4


def test_the_names_of_groups_do_not_matter_to_the_score():
    guard, _, _ = judged(TRUTH)
    labels = moved(TRUTH, 2)
    assert guard.score(3 - labels) == pytest.approx(guard.score(labels))


def test_only_the_ten_nearest_are_asked():
    rows = np.tile(np.arange(40), (40, 1))
    many = Links(rows, np.ones((40, 40), dtype=np.float32))
    ten = Links(rows[:, :10], np.ones((40, 10), dtype=np.float32))
    assert Guard("on", many, TRUTH, 4).score(moved(TRUTH, 3)) == Guard("on", ten, TRUTH, 4).score(moved(TRUTH, 3))


# -- the best state


def test_the_best_state_is_kept_with_everything_that_was_learnt():
    labels = [moved(TRUTH, n) for n in (4, 2, 1, 3)]
    guard, objective, records = judged(*labels, baseline=moved(TRUTH, 3))
    guard.settle(objective)
    assert objective.value.item() == objective.follows.item() == 2
    assert guard.verdict.kept == 2
    assert guard.verdict.epochs == 3
    assert guard.verdict.score == pytest.approx(guard.score(labels[2]))
    assert guard.verdict.baseline == pytest.approx(guard.score(moved(TRUTH, 3)))
    assert [record.get("guard") for record in records] == [*map(guard.score, labels)]


def test_what_was_kept_is_a_copy():
    guard, objective, _ = judged(moved(TRUTH, 1), TRUTH)
    objective.value.data.fill_(99)
    assert guard.best["value"].item() == 1
    guard.settle(objective)
    assert objective.value.item() == 1


def test_of_equals_the_earlier_is_kept():
    guard, objective, _ = judged(moved(TRUTH, 2), TRUTH, TRUTH, TRUTH)
    guard.settle(objective)
    assert objective.value.item() == guard.verdict.kept == 1


def test_the_state_before_training_is_kept_when_everything_is_worse():
    guard, objective, _ = judged(TRUTH, moved(TRUTH, 1), moved(TRUTH, 2))
    guard.settle(objective)
    assert objective.value.item() == guard.verdict.kept == 0


MANY = np.tile(TRUTH, 250)
MANY_LINKS = Links(np.vstack([LINKS.rows + 40 * i for i in range(250)]), np.tile(LINKS.cosine, (250, 1)))


def test_first_groups_must_be_clearly_better_because_the_score_flatters_them():
    slightly, clearly = moved(MANY, 1), moved(MANY, 5)
    guard, _, _ = judged(MANY, clearly, slightly, clearly, baseline=MANY, links=MANY_LINKS)
    assert 1 - guard.score(clearly) > 0.01 > 1 - guard.score(slightly) > 0
    assert guard.verdict.kept == 2
    assert guard.verdict.score == guard.score(slightly)


def test_between_trained_states_the_score_decides_alone():
    guard, _, _ = judged(moved(MANY, 5), MANY, moved(MANY, 1), baseline=MANY, links=MANY_LINKS)
    assert guard.verdict.kept == 1


def test_without_a_guard_the_last_state_stays():
    guard, objective, records = judged(TRUTH, moved(TRUTH, 1), np.zeros(40, dtype=int), mode="off")
    guard.settle(objective)
    assert objective.value.item() == 2
    assert guard.best == {}
    assert all("guard" not in record for record in records)


def test_a_resumed_guard_goes_on_as_the_first_would_have():
    labels = [moved(TRUTH, n) for n in (4, 2, 3, 1)]
    first, objective, _ = judged(*labels[:3])
    second = Guard("on", LINKS, TRUTH, 4)
    second.resume(first.notes(), first.best)
    for guard in (first, second):
        guard.see(Evaluation({}, H, labels[3], objective))
    assert first.verdict == second.verdict
    assert first.best["value"].item() == second.best["value"].item()


# -- collapse


def test_more_than_half_of_the_clusters_empty_is_a_collapse():
    one_cluster = np.zeros(40, dtype=int)
    with pytest.raises(TrainingError, match="3 of 4 clusters are empty"):
        judged(TRUTH, one_cluster)


def test_half_of_the_clusters_empty_is_none():
    guard, _, _ = judged(TRUTH, TRUTH % 2)
    assert guard.verdict.epochs == 1


def test_nearly_everything_in_one_cluster_is_a_collapse():
    labels = np.zeros(40, dtype=int)
    labels[:3] = 1, 2, 3
    with pytest.raises(
        TrainingError, match=r"nearly everything is in a few clusters \(entropy 0\.\d\d, k-means 1\.39\)"
    ):
        judged(TRUTH, labels)


def test_what_was_uneven_from_the_beginning_is_none():
    labels = np.zeros(40, dtype=int)
    labels[:3] = 1, 2, 3
    guard, _, _ = judged(labels, labels, baseline=labels)
    assert guard.verdict.epochs == 1


def test_stopping_says_why_and_what_to_do():
    guard, _, _ = judged(TRUTH)
    with pytest.warns(
        CollapseWarning, match=r"stopped at step 7: it broke\. The best state before that is kept\. Lower"
    ):
        guard.stop(7, "it broke")
    assert guard.verdict.stopped == "it broke"


def test_stopping_without_a_guard_is_an_error():
    guard, _, _ = judged(TRUTH, mode="off")
    with pytest.raises(TrainingError, match=r"Training stopped at step 7: it broke\. Lower encoder_lr or head_lr"):
        guard.stop(7, "it broke")


# -- the sentence


def test_the_verdict_is_a_sentence():
    assert str(Verdict(0.5, 0.625, kept=3, epochs=10)) == (
        "Guard: kept epoch 3 of 10, better than k-means on the untouched encoder "
        "(neighbours agree 0.625, k-means 0.500)."
    )
    assert str(Verdict(0.5, 0.5, kept=0, epochs=4, stopped="it broke")) == (
        "Guard: kept the state before training, no better than k-means on the untouched encoder "
        "(neighbours agree 0.500, k-means 0.500). Training stopped early: it broke."
    )


# -- in a training


@pytest.fixture
def scripted(toy):
    """An objective whose centers are put somewhere each epoch: ``places`` are mixtures of the true ones, swapped."""

    def build(*places):
        class Scripted(toy):
            def after_step(self):
                epoch = (len(self.batches) - 1) // 3
                self.mu.data.copy_(places[epoch](self))

        return Scripted

    return build


def shifted(by):
    def place(objective):
        middle = objective.true.mean(dim=0)
        return objective.true + by * (objective.true[1] - middle)

    return place


@pytest.fixture
def placing(scripted):
    def build(*places):
        class Placing(scripted(*places)):
            def start(self, corpus, seed):
                super().start(corpus, seed)
                self.true = self.mu.detach().clone()
                self.mu.data += 1.0 * (self.true[1] - self.true.mean(dim=0))  # a poor start

        return Placing

    return build


def test_the_labels_of_the_state_that_is_kept_are_those_of_its_epoch(train, placing):
    seen = []
    trained = train(
        placing(shifted(0.9), shifted(0.0), shifted(-0.8)), guard="on", watchers=[seen.append], encoder_lr=0.0
    )
    assert trained.guard.verdict.kept == 2
    assert [record["guard"] for record in trained.history] == [trained.guard.score(e.labels) for e in seen[1:]]
    np.testing.assert_array_equal(trained.labels, seen[2].labels)
    assert not np.array_equal(seen[2].labels, seen[3].labels)
    assert trained.guard.verdict.score == trained.history[1]["guard"]


def test_a_collapse_ends_training_and_keeps_the_best_state(train, placing, data):
    far = lambda objective: torch.stack([objective.true.mean(dim=0), objective.true[0] + 1e6])  # noqa: E731
    seen = []
    with pytest.warns(CollapseWarning, match=r"stopped at step 6: nearly everything is in a few clusters"):
        trained = train(placing(shifted(0.0), far, shifted(0.0)), guard="on", watchers=[seen.append], encoder_lr=0.0)
    assert len(trained.objective.batches) == 6
    assert trained.guard.verdict.kept == 1
    assert trained.guard.verdict.stopped.startswith("nearly everything")
    np.testing.assert_array_equal(trained.labels, seen[1].labels)
    assert set(seen[2].labels) == {0}
    assert not trained.objective.training


@pytest.fixture
def breaking(toy):
    class Breaking(toy):
        def pull(self, batch):
            terms = super().pull(batch)
            return terms | {"same": terms["same"] * torch.nan} if len(self.batches) == 5 else terms

    return Breaking


def test_a_loss_that_is_no_number_ends_training_and_keeps_the_best_state(train, breaking):
    with pytest.warns(CollapseWarning, match=r"step 4: the loss is no longer a number \(near [\d.]+, same nan\)"):
        trained = train(breaking, guard="on")
    assert all(torch.isfinite(value).all() for value in trained.objective.state_dict().values())
    assert [record["step"] for record in trained.history] == [3]
    assert "no longer a number" in str(trained.guard.verdict)


def test_without_a_guard_a_loss_that_is_no_number_is_an_error(train, breaking):
    with pytest.raises(TrainingError, match=r"Training stopped at step 4: the loss is no longer a number .*Lower"):
        train(breaking)


def test_vectors_that_are_no_numbers_end_training(train, toy):
    class Exploding(toy):
        def after_step(self):
            if len(self.batches) == 6:  # the last step of the second epoch
                self.encoder.outward.weight.data.fill_(torch.nan)

    with pytest.warns(CollapseWarning, match="step 6: the vectors are no longer numbers"):
        trained = train(Exploding, guard="on")
    assert np.isfinite(trained.objective.encoder.embed(np.ones((1, 4)))).all()


def test_texts_that_become_alike_end_training(train, toy):
    class Merging(toy):
        def finish(self, corpus, seed):
            if len(self.batches) == 6:
                raise InputError("2 clusters were asked for, but the encoder tells fewer texts apart.")

    with pytest.warns(CollapseWarning, match="step 6: the texts have become too much alike"):
        train(Merging, guard="on")


def test_texts_that_are_alike_from_the_start_are_the_users_matter(train, toy):
    class Alike(toy):
        def finish(self, corpus, seed):
            raise InputError("2 clusters were asked for, but the encoder tells fewer texts apart.")

    with pytest.raises(InputError, match="tells fewer texts apart"):
        train(Alike, guard="on")


# -- in a method


def test_the_baseline_is_kmeans_on_the_untouched_vectors(topics):
    texts = topics[0]
    model = SCCL(n_clusters=5, encoder="tfidf", epochs=2, encoder_lr=0.1, init="neighbours").fit(texts)
    kmeans = coterie.KMeans(n_clusters=5, encoder="tfidf").fit(texts)
    distinct = list(dict.fromkeys(texts))
    labels = kmeans.predict(distinct)
    links = neighbourhood(kmeans.transform(distinct), distinct, labels, 5, k=10, seed=0)
    assert model.guard_.baseline == pytest.approx(Guard("on", links, labels, 5).score(labels))
    assert model.guard_.baseline < 1


@pytest.mark.parametrize(("lr", "why"), [(1e30, "too much alike"), (1e38, "no longer numbers")])
def test_a_ruinous_learning_rate_leaves_what_was_there_before(topics, lr, why):
    model = SCCL(n_clusters=3, encoder="tfidf", epochs=3, encoder_lr=lr)
    with pytest.warns(CollapseWarning, match=why):
        model.fit(topics[0])
    untouched = SCCL(n_clusters=3, encoder="tfidf", epochs=0).fit(topics[0])
    assert model.guard_.kept == 0
    np.testing.assert_array_equal(model.labels_, untouched.labels_)
    np.testing.assert_array_equal(model.transform(topics[0]), untouched.transform(topics[0]))


@pytest.mark.parametrize("epochs", [1, 3])
def test_without_a_guard_a_ruinous_learning_rate_is_an_error(topics, epochs):
    with pytest.raises(TrainingError, match=r"no longer (a number|numbers).*Lower encoder_lr"):
        SCCL(n_clusters=3, encoder="tfidf", epochs=epochs, encoder_lr=1e38, guard="off").fit(topics[0])


def test_the_score_of_every_epoch_is_in_the_history(topics):
    model = SCCL(n_clusters=3, encoder="tfidf", epochs=3).fit(topics[0])
    assert all(0 <= record["guard"] <= 1 for record in model.history_)
    assert model.guard_.epochs == 3
    assert model.guard_.score == max([model.guard_.score, *(record["guard"] for record in model.history_)])
