import numpy as np
import pytest
import torch
from aecl_reference import (
    cluster_loss,
    entropy,
    imbalance,
    initialized,
    instance_loss,
    make_batch,
    official_instance_loss,
    pseudo_label_loss,
    small,
    values,
    view_arrays,
)

from coterie.contracts import Batch, Network
from coterie.errors import InputError
from coterie.methods.aecl import AECL, AECLObjective

each_implementation = pytest.mark.parametrize(
    ("implementation", "loss"), [("paper", instance_loss), ("official", official_instance_loss)]
)


@pytest.mark.parametrize(
    ("n_clusters", "total"), [(4, 67_910_020), (8, 67_913_096), (20, 67_922_324), (89, 67_975_385), (152, 68_023_832)]
)
def test_parameter_count_is_that_of_the_official_code(n_clusters, total):
    objective = AECLObjective(AECL(n_clusters=n_clusters), Network(768))
    encoder, unused = 66_362_880, 32_896
    assert sum(weight.numel() for weight in objective.parameters()) == total - encoder - unused


# -- the terms of each stage


@each_implementation
def test_stage_1_is_the_instance_loss_only(implementation, loss):
    (objective, corpus), batch = initialized(implementation=implementation), make_batch()
    expected = 7.0 * loss(view_arrays(objective, batch), corpus.labels[batch.rows].tolist(), 0.4)
    assert values(objective.contrast(batch)) == pytest.approx({"instance": expected}, rel=1e-4)


@pytest.mark.parametrize("implementation", ["paper", "official"])
def test_stage_2_adds_the_pseudo_labels_of_all_texts_for_the_second_view(implementation):
    (objective, corpus), batch = initialized(implementation=implementation, threshold=1.0), make_batch()
    _, (*_, q_1) = view_arrays(objective, batch)
    terms = values(objective.pseudo_label(batch))
    assert terms.keys() == {"instance", "pseudo_label"}
    assert terms["instance"] == values(objective.contrast(batch))["instance"]
    expected = 3.0 * pseudo_label_loss(q_1, corpus.labels[batch.rows].tolist())
    assert terms["pseudo_label"] == pytest.approx(expected, rel=1e-4)


def test_departure_stage_3_is_equation_15_with_the_signs_of_the_official_code():
    (objective, _), batch = initialized(threshold=0.6), make_batch()
    views = view_arrays(objective, batch)
    q_0, q_1 = views[0][3], views[1][3]
    y, mask = q_0.argmax(axis=1), q_0.max(axis=1) > 0.6
    assert sorted(np.bincount(y)) == [1, 2, 3]
    assert 0 < mask.sum() < 6
    expected = {
        "instance": 7.0 * instance_loss(views, y, 0.4),
        "cluster": cluster_loss(views, 0.6, positive_in_denominator=False),
        "pseudo_label": 3.0 * pseudo_label_loss(q_1, y, mask),
        "entropy": -0.5 * sum(entropy(row) for row in q_0) / 6,
        "balance": 2.0 * (imbalance(q_0) + imbalance(q_1)) / 2,
    }
    assert values(objective.refine(batch)) == pytest.approx(expected, rel=1e-4)


def test_the_official_stage_3_has_other_instance_and_cluster_losses_and_sums_the_imbalances():
    (objective, _), batch = initialized(threshold=0.6, implementation="official"), make_batch()
    views = view_arrays(objective, batch)
    official, paper = values(objective.refine(batch)), values(initialized(threshold=0.6)[0].refine(batch))
    expected = 7.0 * official_instance_loss(views, views[0][3].argmax(axis=1), 0.4)
    assert official["instance"] == pytest.approx(expected, rel=1e-4)
    assert official["cluster"] == pytest.approx(cluster_loss(views, 0.6, positive_in_denominator=True), rel=1e-4)
    assert official["balance"] == pytest.approx(2 * paper["balance"])
    assert all(official[name] == paper[name] for name in ("pseudo_label", "entropy"))


def test_the_implementations_exchange_the_default_temperatures():
    def temperatures(**options):
        objective = AECLObjective(AECL(**options), Network(8))
        return objective.tau_i, objective.tau_c

    assert temperatures() == temperatures(implementation="paper") == (1.0, 0.5)
    assert temperatures(implementation="official") == (0.5, 1.0)
    assert temperatures(temperature=0.2, implementation="official") == (0.2, 1.0)
    assert temperatures(cluster_temperature=0.3) == (1.0, 0.3)


def test_a_temperature_too_low_for_float32_is_refused(topics):
    with pytest.raises(InputError, match=r"`temperature` must be .*>= 0.05, got 0.02"):
        small(temperature=0.02).fit(topics[0])


def logits_gradient(name, logits):
    """Return the gradient of a term of stage 3 with respect to the given logits of the head."""
    objective, _ = initialized(threshold=0.0)
    logits = logits.clone().requires_grad_()
    views, *_ = objective.encode(make_batch())
    objective.encode = lambda batch: (views, logits.log_softmax(dim=1), logits.log_softmax(dim=1))
    objective.refine(make_batch())[name].backward()
    return logits.grad


def test_departure_a_step_on_the_row_entropy_makes_rows_less_confident():
    grad = logits_gradient("entropy", torch.tensor([[2.0, 0.0, 0.0]] * 6))
    assert (grad[:, 0] > 0).all()  # gradient descent lowers the largest logit
    assert (grad[:, 1:] < 0).all()


def test_departure_a_step_on_the_balance_fills_small_clusters():
    grad = logits_gradient("balance", torch.tensor([[2.0, 0.0, 0.0]] * 5 + [[0.0, 2.0, 0.0]]))
    assert (grad[:, 0] > 0).all()  # gradient descent lowers the logit of the large cluster
    assert (grad[:, 2] < 0).all()


@pytest.mark.parametrize(
    ("setting", "term"),
    [("pseudo_label_weight", "pseudo_label"), ("entropy_weight", "entropy"), ("balance_weight", "balance")],
)
def test_a_weight_of_zero_removes_only_its_term(setting, term):
    batch = make_batch()
    whole = values(initialized(threshold=0.6)[0].refine(batch))
    without = values(initialized(threshold=0.6, **{setting: 0.0})[0].refine(batch))
    assert without == whole | {term: 0.0}
    assert whole[term] != 0


# -- positives of the instance loss


def test_without_positives_only_the_other_view_is_one():
    (objective, _), batch = initialized(positives="none"), make_batch()
    z_0, z_1 = (z for z, *_ in view_arrays(objective, batch))
    zeros = np.zeros((6, 6))
    expected = 7.0 * instance_loss([(z_0, z_0, zeros, None), (z_1, z_1, zeros, None)], range(6), 0.4)
    for stage in (objective.contrast, objective.pseudo_label, objective.refine):
        assert values(stage(batch))["instance"] == pytest.approx(expected, rel=1e-4)


@each_implementation
def test_by_confidence_all_pairs_of_confident_texts_have_equal_weights(implementation, loss):
    objective, _ = initialized(positives="confidence", threshold=0.45, implementation=implementation)
    batch = make_batch()
    views = view_arrays(objective, batch)
    q_0 = views[0][3]
    y, mask = q_0.argmax(axis=1), q_0.max(axis=1) > 0.45
    weight = np.array([[float(y[i] == y[j] and mask[i] and mask[j]) for j in range(6)] for i in range(6)])
    assert weight.sum() > mask.sum()  # some confident texts share a cluster, ...
    assert not mask.all()  # ... and some texts are not confident
    weight /= np.maximum(weight.sum(axis=1, keepdims=True), 1)
    expected = 7.0 * loss([(z, c, weight, q) for z, c, _, q in views], y, 0.4)
    assert values(objective.refine(batch))["instance"] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("stage", ["contrast", "pseudo_label"])
def test_before_stage_3_positives_come_from_the_pseudo_labels_or_the_untrained_head(stage):
    batch = make_batch()
    (by_labels, corpus), (by_head, _) = initialized(positives_by="pseudo_labels"), initialized(positives_by="head")
    views = view_arrays(by_labels, batch)
    expected_by_labels = 7.0 * instance_loss(views, corpus.labels[batch.rows].tolist(), 0.4)
    expected_by_head = 7.0 * instance_loss(views, views[0][3].argmax(axis=1).tolist(), 0.4)
    assert abs(expected_by_labels - expected_by_head) > 0.01
    assert values(getattr(by_labels, stage)(batch))["instance"] == pytest.approx(expected_by_labels, rel=1e-4)
    assert values(getattr(by_head, stage)(batch))["instance"] == pytest.approx(expected_by_head, rel=1e-4)


def test_in_stage_3_positives_come_from_the_head():
    batch = make_batch()
    one, other = (values(initialized(positives_by=by)[0].refine(batch)) for by in ("pseudo_labels", "head"))
    assert one == other


# -- gradients


def has_gradients(objective, *names):
    """Return True if all weights of these modules have a nonzero gradient, False if none has one."""
    grads = [weight.grad for name in names for weight in getattr(objective, name).parameters()]
    found = {grad is not None and bool(grad.abs().sum() > 0) for grad in grads}
    assert len(found) == 1
    return found.pop()


@pytest.mark.parametrize("implementation", ["paper", "official"])
@pytest.mark.parametrize("positives_by", ["pseudo_labels", "head"])
def test_stage_1_trains_projection_and_attention_but_not_the_classifier(implementation, positives_by):
    objective, _ = initialized(implementation=implementation, positives_by=positives_by)
    objective.contrast(make_batch())["instance"].backward()
    assert has_gradients(objective, "g_z", "g_h")
    assert not has_gradients(objective, "classifier")


@pytest.mark.parametrize("stage", ["pseudo_label", "refine"])
def test_later_stages_train_all_three(stage):
    objective, _ = initialized(threshold=0.6)
    sum(getattr(objective, stage)(make_batch()).values()).backward()
    assert has_gradients(objective, "g_z", "g_h", "classifier")


@pytest.mark.parametrize("stage", ["pseudo_label", "refine"])
def test_pseudo_labels_train_through_the_second_view_only(stage):
    (objective, _), batch = initialized(threshold=0.0), make_batch()
    h, h_1 = batch.original.clone().requires_grad_(), batch.augmented[0].clone().requires_grad_()
    getattr(objective, stage)(Batch(batch.rows, h, (h_1,)))["pseudo_label"].backward()
    assert h.grad is None or not h.grad.any()
    assert h_1.grad.abs().sum() > 0


def test_dropout_is_active_in_training():
    (objective, _), batch = initialized(), make_batch()
    objective.train()
    one, two = values(objective.pseudo_label(batch)), values(objective.pseudo_label(batch))
    assert one["instance"] != two["instance"]  # dropout of the attention
    assert one["pseudo_label"] != two["pseudo_label"]  # dropout of the classifier
