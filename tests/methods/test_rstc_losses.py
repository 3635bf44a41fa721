import math

import pytest
import torch
from rstc_reference import (
    classifier_logits,
    cross_entropy,
    initialized,
    instance_loss,
    make_batch,
    make_objective,
    small,
    values,
)

from coterie.clustering.kmeans import kmeans_centers
from coterie.contracts import Batch, Corpus
from coterie.methods import rstc as module
from coterie.objectives import pseudo_label


def test_the_loss_is_its_equation():
    objective, corpus = initialized()
    objective.eval()
    batch = make_batch()
    terms = values(objective.joint(batch))
    assert terms.keys() == {"instance", "pseudo_label"}
    with torch.no_grad():
        z_1, z_2 = (objective.g(h).double().numpy() for h in batch.augmented)
    assert terms["instance"] == pytest.approx(7.0 * instance_loss(z_1, z_2, 0.4), rel=1e-4)
    y = corpus.labels[batch.rows].tolist()
    expected = sum(cross_entropy(classifier_logits(objective, h, 2.0), y) for h in batch.augmented)
    assert terms["pseudo_label"] == pytest.approx(expected, rel=1e-4)


def test_departure_the_classifier_sees_scaled_vectors():
    objective, _ = initialized(scale=5.0)
    h = make_batch().original
    torch.testing.assert_close(objective.logits(h), torch.from_numpy(classifier_logits(objective, h, 5.0)))


def test_the_instance_loss_only_is_its_part_of_the_loss():
    objective, _ = initialized()
    batch = make_batch()
    assert values(objective.contrast(batch)) == pytest.approx({"instance": values(objective.joint(batch))["instance"]})


def test_the_instance_loss_of_identical_rows():
    objective, _ = initialized(instance_weight=1.0)
    ones = torch.ones(6, 4)
    loss = values(objective.contrast(Batch(torch.arange(6), ones, (ones, ones))))["instance"]
    assert loss == pytest.approx(2 * math.log(11), rel=1e-5)


def test_dropout_is_active_for_the_pseudo_labels():
    objective, _ = initialized()
    batch = make_batch()
    torch.manual_seed(5)
    one, two = values(objective.joint(batch)), values(objective.joint(batch))
    assert one["instance"] == two["instance"]
    assert one["pseudo_label"] != two["pseudo_label"]


def test_each_loss_trains_its_own_head():
    objective, _ = initialized()
    objective.contrast(make_batch())["instance"].backward()
    assert all(weight.grad.abs().sum() > 0 for weight in objective.g.parameters())
    assert all(weight.grad is None for weight in objective.classifier.parameters())
    objective.zero_grad(set_to_none=True)
    objective.joint(make_batch())["pseudo_label"].backward()
    assert all(weight.grad.abs().sum() > 0 for weight in objective.classifier.parameters())
    assert all(weight.grad is None for weight in objective.g.parameters())


def test_pseudo_labels_train_through_both_views():
    objective, _ = initialized()
    objective.eval()
    batch = make_batch()
    views = [h.clone().requires_grad_() for h in batch.augmented]
    objective.joint(Batch(batch.rows, batch.original, tuple(views)))["pseudo_label"].backward()
    assert all(h.grad.abs().sum() > 1e-4 for h in views)


# -- stages


@pytest.mark.parametrize(
    ("contrast", "warmup", "epochs", "lengths"),
    [(0, 3, 8, (0, 3, 5)), (2, 3, 8, (2, 3, 3)), (0, 0, 4, (0, 0, 4)), (0, 3, 2, (0, 2, 0)), (5, 3, 4, (4, 0, 0))],
)
def test_the_stages_are_contrast_warm_up_and_transport(contrast, warmup, epochs, lengths):
    stages = make_objective(contrast_epochs=contrast, warmup_epochs=warmup).stages(epochs)
    assert [stage.name for stage in stages] == ["contrast", "warm-up", "transport"]
    assert tuple(stage.epochs for stage in stages) == lengths
    assert (stages[1].before is not None) == (contrast > 0)


def test_after_the_contrast_stage_kmeans_updates_the_labels_from_their_means():
    objective, corpus = initialized(contrast_epochs=1)
    objective.pseudo_labels[:6] = 0
    objective.y[:6] = 0
    moved = Corpus(corpus.items, 2 * corpus.h + 0.1, corpus.counts, objective.pseudo_labels.clone())
    _, warm_up, _ = objective.stages(3)
    warm_up.before(moved, 0)
    mu = kmeans_centers(moved.h, moved.counts, 3, seed=0, init=moved.means(3))
    expected = torch.cdist(moved.h, mu).argmin(dim=1)
    assert torch.equal(objective.pseudo_labels, expected)
    assert torch.equal(objective.y, expected)
    assert not torch.equal(expected, moved.labels)


@pytest.mark.parametrize("seed", [0, 7])
def test_that_kmeans_gets_the_seed(monkeypatch, seed):
    seeds = []
    monkeypatch.setattr(pseudo_label, "kmeans_centers", lambda *_, seed, init: seeds.append(seed) or init)
    objective, corpus = initialized()
    objective.recluster_from_labels(corpus, seed)
    assert seeds == [seed]
    assert not hasattr(module, "kmeans_centers")  # there is no other k-means in RSTC


@pytest.mark.parametrize("contrast_epochs", [0, 2])
def test_a_stage_minimizes_its_terms(topics, contrast_epochs):
    model = small(contrast_epochs=contrast_epochs, warmup_epochs=1, epochs=4, epoch_steps=1, guard="off")
    history = model.fit(topics[0]).history_
    usual = {"stage", "epoch", "step", "seconds", "loss"}
    terms = [set(record) - usual for record in history]
    assert terms == [{"instance"}] * contrast_epochs + [{"instance", "pseudo_label"}] * (4 - contrast_epochs)


def test_the_loss_decreases(topics):
    history = small(epochs=4, warmup_epochs=4, epoch_steps=6, guard="off").fit(topics[0]).history_
    assert history[-1]["pseudo_label"] < 0.7 * history[0]["pseudo_label"]
    assert history[-1]["loss"] < history[0]["loss"]
