"""The guard by itself: its score, the state that it keeps, and what it calls a collapse."""

import numpy as np
import pytest
import torch

from coterie.arrays import unit_rows
from coterie.contracts import Network, Objective
from coterie.errors import CollapseWarning, TrainingError
from coterie.knn.graph import KNNGraph, knn_graph
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
H = np.eye(4)[LABELS] + 0.1 * np.random.default_rng(0).normal(size=(40, 4))
GRAPH = knn_graph(unit_rows(H), 5)


def moved(labels, n):
    """Move the first ``n`` items of each cluster to the next cluster."""
    labels = labels.copy()
    for k in range(4):
        labels[10 * k : 10 * k + n] = (k + 1) % 4
    return labels


def evaluated(*labels, mode="on", baseline=LABELS, graph=GRAPH):
    """Return guard, objective and records after one evaluation for each of ``labels``; the states are 0, 1, 2, ..."""
    guard, objective = Guard(mode, graph, baseline, 4), State()
    records = [{} for _ in labels]
    guard.begin(Evaluation(records[0], H, labels[0], objective))
    for value, (record, of_epoch) in enumerate(zip(records[1:], labels[1:], strict=True), start=1):
        objective.value.data.fill_(value)
        objective.buffer.fill_(value)
        guard.update(Evaluation(record, H, of_epoch, objective))
    return guard, objective, records


# -- the score


def test_labels_that_neighbors_share_score_one_and_random_labels_nearly_zero():
    guard, _, _ = evaluated(LABELS)
    assert guard.score(LABELS) == pytest.approx(1)
    assert guard.score(np.zeros(40, dtype=int)) == 0
    assert guard.score(np.random.default_rng(1).permutation(LABELS)) < 0.2


def test_the_score_decreases_when_fewer_neighbors_agree():
    guard, _, _ = evaluated(LABELS)
    scores = [guard.score(moved(LABELS, n)) for n in (0, 1, 2, 4)]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 4


def test_the_score_does_not_depend_on_the_numbering_of_the_clusters():
    guard, _, _ = evaluated(LABELS)
    labels = moved(LABELS, 2)
    assert guard.score(3 - labels) == pytest.approx(guard.score(labels))


def test_the_score_uses_the_ten_nearest_neighbors():
    rows = np.tile(np.arange(40), (40, 1))
    many = KNNGraph(rows, np.ones((40, 40), dtype=np.float32))
    ten = KNNGraph(rows[:, :10], np.ones((40, 10), dtype=np.float32))
    assert Guard("on", many, LABELS, 4).score(moved(LABELS, 3)) == Guard("on", ten, LABELS, 4).score(moved(LABELS, 3))


# -- the best state


def test_the_best_state_is_kept_with_its_buffers():
    labels = [moved(LABELS, n) for n in (4, 2, 1, 3)]
    guard, objective, records = evaluated(*labels, baseline=moved(LABELS, 3))
    guard.restore_best(objective)
    assert objective.value.item() == objective.buffer.item() == 2
    assert guard.verdict.kept == 2
    assert guard.verdict.epochs == 3
    assert guard.verdict.score == pytest.approx(guard.score(labels[2]))
    assert guard.verdict.baseline == pytest.approx(guard.score(moved(LABELS, 3)))
    assert [record.get("guard") for record in records] == [*map(guard.score, labels)]


def test_the_best_state_is_a_copy():
    guard, objective, _ = evaluated(moved(LABELS, 1), LABELS)
    objective.value.data.fill_(99)
    assert guard.best["value"].item() == 1
    guard.restore_best(objective)
    assert objective.value.item() == 1


def test_of_equal_scores_the_earlier_state_is_kept():
    guard, objective, _ = evaluated(moved(LABELS, 2), LABELS, LABELS, LABELS)
    guard.restore_best(objective)
    assert objective.value.item() == guard.verdict.kept == 1


def test_the_state_before_training_is_kept_if_every_epoch_is_worse():
    guard, objective, _ = evaluated(LABELS, moved(LABELS, 1), moved(LABELS, 2))
    guard.restore_best(objective)
    assert objective.value.item() == guard.verdict.kept == 0


MANY = np.tile(LABELS, 250)
MANY_GRAPH = KNNGraph(np.vstack([GRAPH.indices + 40 * i for i in range(250)]), np.tile(GRAPH.similarities, (250, 1)))


def test_a_trained_state_may_score_slightly_below_the_initial_labels():
    slightly, clearly = moved(MANY, 1), moved(MANY, 5)
    guard, _, _ = evaluated(MANY, clearly, slightly, clearly, baseline=MANY, graph=MANY_GRAPH)
    assert 1 - guard.score(clearly) > 0.01 > 1 - guard.score(slightly) > 0
    assert guard.verdict.kept == 2
    assert guard.verdict.score == guard.score(slightly)


def test_between_trained_states_the_higher_score_is_kept():
    guard, _, _ = evaluated(moved(MANY, 5), MANY, moved(MANY, 1), baseline=MANY, graph=MANY_GRAPH)
    assert guard.verdict.kept == 1


def test_with_the_guard_off_the_last_state_is_kept():
    guard, objective, records = evaluated(LABELS, moved(LABELS, 1), np.zeros(40, dtype=int), mode="off")
    guard.restore_best(objective)
    assert objective.value.item() == 2
    assert guard.best == {}
    assert all("guard" not in record for record in records)


def test_a_restored_guard_continues_the_same():
    labels = [moved(LABELS, n) for n in (4, 2, 3, 1)]
    first, objective, _ = evaluated(*labels[:3])
    second = Guard("on", GRAPH, LABELS, 4)
    second.restore(first.state(), first.best)
    for guard in (first, second):
        guard.update(Evaluation({}, H, labels[3], objective))
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
    assert str(Verdict(0.5, 0.625, kept=3, epochs=10)) == (
        "Guard: kept epoch 3 of 10, better than k-means on the pretrained encoder "
        "(neighbor agreement 0.625, k-means 0.500)."
    )
    assert str(Verdict(0.5, 0.5, kept=0, epochs=4, stopped="the loss is NaN")) == (
        "Guard: kept the state before training, no better than k-means on the pretrained encoder "
        "(neighbor agreement 0.500, k-means 0.500). Training stopped early: the loss is NaN."
    )
    assert str(Verdict(0.5, 0.5, kept=0, epochs=4, mode="off")) == "Guard: off; the state after the last epoch is kept."
