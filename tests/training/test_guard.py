"""The guard by itself: its score, the state that it keeps, and what it calls a collapse."""

import numpy as np
import pytest
import torch

from coterie.arrays import unit_rows
from coterie.clustering.mixture import Evidence, MixtureSettings, fit_mixture, neighbor_weights
from coterie.contracts import Network, Objective
from coterie.errors import CollapseWarning, TrainingError
from coterie.knn.graph import knn_graph
from coterie.training.guard import Guard, Verdict
from coterie.training.trainer import Evaluation


class State(Objective):
    """One trained number, and a buffer."""

    def __init__(self):
        super().__init__(Network(2))
        self.value = torch.nn.Parameter(torch.zeros(1))
        self.register_buffer("buffer", torch.zeros(1))

    def initialize(self, corpus, seed): ...

    def assign(self, h): ...

    @property
    def centers(self):
        return self.value[None]


LABELS = np.repeat(np.arange(4), 10)
H = (np.eye(4)[LABELS] + 0.1 * np.random.default_rng(0).normal(size=(40, 4))).astype(np.float32)
COUNTS = np.ones(40)
EVIDENCE = Evidence(unit_rows(H), COUNTS, None, neighbor_weights(knn_graph(unit_rows(H), 5), COUNTS))
_joined_and_divided = np.where(LABELS == 1, 0, np.where((LABELS == 2) & (np.arange(40) % 2 == 1), 1, LABELS))
WRONG = fit_mixture(EVIDENCE, _joined_and_divided, 4).labels
"""EM finds no way from here to the right clusters."""


def moved(labels, n):
    """Move the first ``n`` items of each cluster to the next cluster."""
    labels = labels.copy()
    for k in range(4):
        labels[10 * k : 10 * k + n] = (k + 1) % 4
    return labels


def entropy(labels):
    share = np.unique(labels, return_counts=True)[1] / len(labels)
    return -(share * np.log(share)).sum()


def evaluated(*labels, mode="on", baseline=LABELS, evidence=EVIDENCE):
    """Return guard, objective and records after one evaluation for each of ``labels``; the states are 0, 1, 2, ..."""
    guard, objective = Guard(mode, evidence, baseline, 4), State()
    records = [{} for _ in labels]
    guard.begin(Evaluation(records[0], H, labels[0], objective))
    for value, (record, of_epoch) in enumerate(zip(records[1:], labels[1:], strict=True), start=1):
        objective.value.data.fill_(value)
        objective.buffer.fill_(value)
        guard.update(Evaluation(record, H, of_epoch, objective))
    return guard, objective, records


# -- the score


def test_the_score_is_that_of_the_mixture_for_the_labels_as_they_are():
    guard, _, _ = evaluated(LABELS)
    for labels in (LABELS, WRONG, moved(LABELS, 2), np.where(np.arange(40) < 5, 1, LABELS)):
        as_they_are = fit_mixture(EVIDENCE, labels, 4, MixtureSettings(max_rounds=0))
        assert guard.score(labels) == pytest.approx(as_they_are.score - 2 * entropy(labels))
    assert guard.score(moved(LABELS, 2)) < guard.score(WRONG) < guard.score(LABELS)


def test_clusters_of_equal_size_get_no_advantage():
    guard, _, _ = evaluated(LABELS)
    same = Evidence(np.tile(H[:1], (40, 1)), COUNTS)
    guard = Guard("on", same, LABELS, 4)
    assert guard.score(LABELS) < guard.score(np.where(LABELS == 1, 0, LABELS))


def test_the_score_decreases_with_the_number_of_wrong_labels():
    guard, _, _ = evaluated(LABELS)
    scores = [guard.score(moved(LABELS, n)) for n in (1, 2, 3, 4)]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 4


def test_the_score_does_not_depend_on_the_numbering_of_the_clusters():
    guard, _, _ = evaluated(LABELS)
    assert guard.score(3 - WRONG) == pytest.approx(guard.score(WRONG))


# -- the best state


def test_the_best_state_is_kept_with_its_buffers():
    labels = [WRONG, WRONG, LABELS, WRONG]
    guard, objective, records = evaluated(*labels, baseline=WRONG)
    guard.restore_best(objective)
    assert objective.value.item() == objective.buffer.item() == 2
    assert guard.verdict.kept == 2
    assert guard.verdict.epochs == 3
    assert guard.verdict.score == guard.score(LABELS)
    assert guard.verdict.untrained == guard.verdict.baseline == guard.score(WRONG)
    assert [record["guard"] for record in records] == [*map(guard.score, labels)]


def test_the_best_state_is_a_copy_without_what_assigns_in_its_place():
    objective = State()
    objective.closing = State()
    guard = Guard("on", EVIDENCE, WRONG, 4)
    guard.begin(Evaluation({}, H, WRONG, objective))
    objective.value.data.fill_(99)
    assert guard.best["value"].item() == 0
    assert guard.best.keys() == {"value", "buffer"}


def test_of_equal_scores_the_earlier_state_is_kept():
    guard, objective, _ = evaluated(WRONG, LABELS, LABELS, LABELS)
    guard.restore_best(objective)
    assert objective.value.item() == guard.verdict.kept == 1


def test_the_untrained_clusters_are_kept_where_every_epoch_is_clearly_worse():
    guard, _, _ = evaluated(LABELS, moved(LABELS, 1), WRONG, moved(LABELS, 2))
    assert guard.verdict.kept == 0
    assert guard.verdict.score == guard.verdict.untrained


@pytest.mark.parametrize(
    ("max_loss", "loss", "kept"), [(0.05, 0.049, 1), (0.05, 0.051, 0), (0.1, 0.099, 1), (0.1, 0.101, 0)]
)
def test_an_epoch_is_kept_if_its_score_is_nearly_that_of_the_untrained_clusters(max_loss, loss, kept):
    class Scored(Guard):
        def score(self, labels):
            return {0: 0.0, 1: -loss * np.log(4), 2: -0.2 * np.log(4)}.get(labels[0], 0.0)

    guard, state = Scored("on", EVIDENCE, LABELS, 4), State()
    state.max_loss = max_loss
    for first, judge in ((0, guard.begin), (1, guard.update), (2, guard.update)):
        judge(Evaluation({}, H, np.where(np.arange(40) == 0, first, LABELS), state))
    assert guard.verdict.kept == kept


def test_without_evidence_the_last_state_that_did_not_collapse_is_kept():
    guard = Guard("on", None, LABELS, 4)
    objective = State()
    guard.begin(Evaluation({}, H, LABELS, objective))
    for labels in (WRONG, moved(LABELS, 5)):
        guard.update(Evaluation({}, H, labels, objective))
    with pytest.raises(TrainingError, match="empty"):
        guard.update(Evaluation({}, H, np.zeros(40, dtype=int), objective))
    assert guard.verdict.kept == 2
    assert "watches for collapse only" in str(guard.verdict)


def test_with_the_guard_off_the_last_state_is_kept():
    guard, objective, records = evaluated(LABELS, moved(LABELS, 1), np.zeros(40, dtype=int), mode="off")
    guard.restore_best(objective)
    assert objective.value.item() == 2
    assert guard.best == {}
    assert all("guard" not in record for record in records)


def test_a_restored_guard_continues_the_same():
    first, objective, _ = evaluated(WRONG, WRONG, baseline=WRONG)
    second = Guard("on", EVIDENCE, WRONG, 4)
    second.restore(first.state(), first.best)
    for guard in (first, second):
        guard.update(Evaluation({}, H, LABELS, objective))
    assert first.verdict.kept == 2
    assert first.verdict == second.verdict
    assert first.best["value"].item() == second.best["value"].item()


# -- collapse


def test_more_than_half_of_the_clusters_empty_is_a_collapse():
    one_cluster = np.zeros(40, dtype=int)
    with pytest.raises(TrainingError, match="3 of 4 clusters are empty"):
        evaluated(LABELS, one_cluster)


def test_half_of_the_clusters_empty_is_no_collapse():
    guard, _, _ = evaluated(LABELS, LABELS % 2)
    assert guard.verdict.epochs == 1


def test_nearly_all_items_in_one_cluster_is_a_collapse():
    labels = np.zeros(40, dtype=int)
    labels[:3] = 1, 2, 3
    with pytest.raises(
        TrainingError, match=r"nearly all items are in a few clusters \(entropy 0\.\d\d, k-means 1\.39\)"
    ):
        evaluated(LABELS, labels)


def test_clusters_as_uneven_as_those_of_kmeans_are_no_collapse():
    labels = np.zeros(40, dtype=int)
    labels[:3] = 1, 2, 3
    guard, _, _ = evaluated(labels, labels, baseline=labels)
    assert guard.verdict.epochs == 1


def test_stopping_warns_with_the_reason_and_advice():
    guard, _, _ = evaluated(LABELS)
    with pytest.warns(
        CollapseWarning, match=r"stopped at step 7: the loss is NaN\. The best state before that is kept\. Lower"
    ):
        guard.stop(7, "the loss is NaN")
    assert guard.verdict.stopped == "the loss is NaN"


def test_stopping_with_the_guard_off_is_an_error():
    guard, _, _ = evaluated(LABELS, mode="off")
    with pytest.raises(TrainingError, match=r"stopped at step 7: the loss is NaN\. Lower encoder_lr or head_lr"):
        guard.stop(7, "the loss is NaN")


# -- the verdict


def test_the_verdict_as_a_string():
    assert str(Verdict(1.5, 2.625, kept=3, epochs=10, untrained=2.5)) == (
        "Guard: kept epoch 3 of 10, which explains the items better than the clusters without training "
        "(score 2.625, without training 2.500, k-means 1.500)."
    )
    assert "explains the items nearly as well as the clusters" in str(Verdict(1, 2.4, kept=3, epochs=10, untrained=2.5))
    assert str(Verdict(0.5, 0.5, kept=0, epochs=4, stopped="the loss is NaN", untrained=0.5)) == (
        "Guard: kept the clusters without training; every epoch explains the items worse (score 0.500). "
        "Training stopped early: the loss is NaN."
    )
    assert str(Verdict(0.5, 0.5, kept=0, epochs=0, untrained=0.5)) == (
        "Guard: kept the clusters without training; no epoch was trained."
    )
    assert str(Verdict(0.5, 0.5, kept=0, epochs=4, mode="off")) == "Guard: off; the state after the last epoch is kept."
