from itertools import pairwise

import numpy as np
import pytest
import torch
from rstc_reference import classifier_logits, cross_entropy, initialized, make_batch, small, values

import coterie
from coterie.errors import InputError, TrainingStopped
from coterie.losses.transport import adaptive_transport
from coterie.methods.neighbors import Neighbors
from coterie.methods.rstc import RSTC

# -- labels of the transport


def test_departure_labels_come_from_predictions_without_dropout_by_the_minimum_from_a_uniform_b():
    objective, corpus = initialized(n_clusters=3, balance_weight=0.6, epsilon=0.2)
    objective.train()
    objective.relabel(corpus, 0)
    logits = torch.from_numpy(classifier_logits(objective, corpus.h, 2.0))
    plan = adaptive_transport(logits.log_softmax(dim=1), epsilon=0.2, weight=0.6 / 3)  # b is uniform by default
    assert objective.training
    assert torch.equal(objective.y, plan.labels)
    torch.testing.assert_close(objective.b, plan.b, atol=1e-4, rtol=0)
    assert torch.equal(objective.predictions, logits.argmax(dim=1))
    assert not torch.equal(plan.labels, corpus.labels)
    assert torch.equal(objective.pseudo_labels, corpus.labels)


def test_the_classifier_is_then_trained_on_the_labels_of_the_transport():
    objective, corpus = initialized()
    objective.eval()
    batch = make_batch()
    objective.relabel(corpus, 0)
    y = objective.y[batch.rows].tolist()
    assert y != corpus.labels[batch.rows].tolist()
    expected = sum(cross_entropy(classifier_logits(objective, h, 2.0), y) for h in batch.augmented)
    assert values(objective.joint(batch))["pseudo_label"] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("marginal", ["average", "multiplicative", "fixed"])
def test_the_other_marginals_reach_the_transport(marginal):
    objective, corpus = initialized(marginal=marginal)
    objective.b.copy_(torch.tensor([0.2, 0.3, 0.5]))
    objective.relabel(corpus, 0)
    log_p = torch.from_numpy(classifier_logits(objective, corpus.h, 2.0)).log_softmax(dim=1)
    b = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    plan = adaptive_transport(log_p, epsilon=0.1, weight=0.1, b=b, marginal=marginal)
    torch.testing.assert_close(objective.b, plan.b, atol=1e-4, rtol=0)
    assert torch.equal(objective.y, plan.labels)


# -- a whole training


def states(model, texts):
    """Fit, and return the state before training and after every epoch."""
    found = []

    def callback(evaluation):
        objective = evaluation.objective
        names = ("y", "pseudo_labels", "predictions", "change_rate", "b", "assign_by_head")
        buffers = {name: getattr(objective, name).clone() for name in names}
        found.append(buffers | {"stage": evaluation.record["stage"]})

    model.fit(texts, callback=callback)
    return found


@pytest.fixture(scope="module")
def course(topics):
    """Two epochs of warm-up and three of transport, with more clusters than there are topics."""
    texts = sorted(set(topics[0]))  # the order of the corpus
    return texts, states(small(n_clusters=5, warmup_epochs=2, epochs=5, guard="off"), texts)


def test_the_warm_up_uses_the_initial_labels(course):
    texts, found = course
    initial = Neighbors(n_clusters=5, encoder="tfidf").fit(texts).labels_
    assert [state["stage"] for state in found] == ["init", "warm-up", "warm-up", *["transport"] * 3]
    for state in found[:3]:
        np.testing.assert_array_equal(state["y"], initial)
        assert (state["predictions"] == -1).all()
        assert float(state["change_rate"]) == 1
        assert not state["assign_by_head"]


def test_departure_every_epoch_of_transport_computes_its_labels_and_their_changes(course):
    _, found = course
    for before, after in pairwise(found[2:]):
        changed = (after["predictions"] != before["predictions"]).double().mean()
        assert float(after["change_rate"]) == float(changed)
        assert float(after["b"].sum()) == pytest.approx(1)
        assert not torch.equal(after["b"], before["b"])


# -- convergence


def test_it_converges_when_few_predictions_change():
    objective, corpus = initialized(tolerance=0.11)
    assert not objective.converged
    objective.relabel(corpus, 0)
    assert not objective.converged  # there were no predictions before
    objective.predictions[:4] = (objective.predictions[:4] + 1) % 3
    objective.relabel(corpus, 0)
    assert float(objective.change_rate) == pytest.approx(4 / 30)
    assert not objective.converged
    objective.predictions[:3] = (objective.predictions[:3] + 1) % 3
    objective.relabel(corpus, 0)
    assert float(objective.change_rate) == pytest.approx(3 / 30)
    assert objective.converged


def test_the_default_tolerance_is_that_of_the_official_code():
    assert RSTC().tolerance == 0.01


def test_with_a_tolerance_of_zero_it_never_converges():
    objective, corpus = initialized(tolerance=0.0)
    for _ in range(3):
        objective.relabel(corpus, 0)
    assert float(objective.change_rate) == 0
    assert not objective.converged


def test_training_stops_after_the_epoch_in_which_it_converged(topics):
    options = {"epochs": 7, "warmup_epochs": 2, "head_lr": 0.0, "encoder_lr": 0.0, "guard": "off", "epoch_steps": 1}
    assert len(small(**options, tolerance=0.01).fit(topics[0]).history_) == 4
    assert len(small(**options, tolerance=0.0).fit(topics[0]).history_) == 7


CONVERGING = {"epochs": 9, "warmup_epochs": 2, "tolerance": 0.2, "n_clusters": 5}


def stop_at(epoch):
    def callback(evaluation):
        if evaluation.record["step"] == 4 * epoch and evaluation.record["stage"] != "init":
            raise KeyboardInterrupt

    return callback


@pytest.fixture(scope="module")
def uninterrupted(topics):
    model = small(**CONVERGING).fit(topics[0])
    assert len(model.history_) == 4
    return model


@pytest.mark.parametrize("epoch", [1, 3, 4])
def test_resumed_it_ends_with_the_same_model_after_the_same_epoch(topics, uninterrupted, tmp_path, epoch):
    options = CONVERGING | {"checkpoint": tmp_path / "run.checkpoint", "checkpoint_every": 3}
    with pytest.raises(TrainingStopped):
        small(**options).fit(topics[0], callback=stop_at(epoch))
    stages = []
    resumed = small(**options).fit(topics[0], callback=lambda evaluation: stages.append(evaluation.record["stage"]))
    assert "init" not in stages
    for name, value in uninterrupted.objective_.state_dict().items():
        assert torch.equal(value, resumed.objective_.state_dict()[name]), name
    assert [record["loss"] for record in resumed.history_] == [record["loss"] for record in uninterrupted.history_]
    assert resumed.guard_ == uninterrupted.guard_


# -- small inputs


@pytest.mark.parametrize("options", [{"n_clusters": 1}, {"n_clusters": 1, "marginal": "average"}, {"n_clusters": 2}])
def test_one_or_two_clusters_are_possible(topics, options):
    model = small(**options, epochs=3, warmup_epochs=1, guard="off").fit(topics[0])
    assert set(model.labels_) == set(range(options["n_clusters"]))
    assert np.isfinite(model.cluster_centers_).all()


@pytest.mark.parametrize("init", ["kmeans", "neighbors"])
def test_the_labels_start_from_the_clusters_of_another_method(topics, init):
    texts = sorted(set(topics[0]))  # the order of the corpus
    model = small(init=init, epochs=0, n_clusters=7).fit(texts)
    initial = {"kmeans": coterie.KMeans, "neighbors": Neighbors}[init](n_clusters=7, encoder="tfidf").fit(texts)
    np.testing.assert_array_equal(model.objective_.y, initial.labels_)


def test_it_cannot_be_its_own_init(topics):
    with pytest.raises(InputError, match="`init` is 'rstc'"):
        small(init="rstc").fit(topics[0])
