import numpy as np
import pytest
import torch
from sccl_reference import divergence, instance_loss, soft_assignment, target

from coterie.contracts import Batch, Network
from coterie.methods.sccl import SCCL, SCCLObjective


class ShiftedViews(Network):
    """Returns each view shifted by a known amount, in place of the random noise of dropout."""

    def forward(self, *views):
        return tuple(view + 0.1 * number for number, view in enumerate(views, start=1))


SETTINGS = {"n_clusters": 3, "instance_weight": 7.0, "temperature": 0.4, "degrees_of_freedom": 2.0, "scale": 1.5}


def make_objective(network=None, **options):
    torch.manual_seed(0)
    objective = SCCLObjective(SCCL(**SETTINGS | options), network or Network(4))
    objective.mu.data.copy_(torch.randn(3, 4))
    return objective


def batch_with_views():
    h, h_1, h_2 = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(1))
    return Batch(torch.arange(6), h, (h_1, h_2))


def batch_of_texts_as_views():
    h = batch_with_views().original
    return Batch(torch.arange(6), h, (h, h))


def values(terms):
    return {name: term.detach().item() for name, term in terms.items()}


def expected_instance(objective, h_1, h_2):
    with torch.no_grad():
        z_1, z_2 = (objective.g(h).double().numpy() for h in (h_1, h_2))
    return 7.0 * instance_loss(z_1, z_2, 0.4)


def expected_q(objective, h):
    return soft_assignment(1.5 * h.double().numpy(), 1.5 * objective.mu.detach().double().numpy(), 2.0)


# -- terms


def test_the_joint_loss_is_equation_7():
    objective, batch = make_objective(), batch_with_views()
    q = expected_q(objective, batch.original)
    terms = values(objective.joint(batch))
    assert terms.keys() == {"instance", "cluster"}
    assert terms["instance"] == pytest.approx(expected_instance(objective, *batch.augmented), rel=1e-4)
    assert terms["cluster"] == pytest.approx(divergence(target(q), q), rel=1e-4)


def test_a_single_loss_is_its_part_of_the_joint_loss():
    objective, batch = make_objective(), batch_with_views()
    joint = values(objective.joint(batch))
    assert values(objective.instance(batch)) == pytest.approx({"instance": joint["instance"]})
    assert values(objective.cluster(batch)) == pytest.approx({"cluster": joint["cluster"]})


def test_crossed_and_shared_targets_are_equations_8_and_9():
    batch = batch_with_views()
    q, q_1, q_2 = (expected_q(make_objective(), h) for h in (batch.original, *batch.augmented))
    crossed = divergence(target(q_1), q_2) + divergence(target(q_2), q_1)
    shared = divergence(target(q), q_1) + divergence(target(q), q_2)
    for stage in ("joint", "cluster"):
        for cluster_loss, expected in (("crossed", crossed), ("shared", shared)):
            terms = getattr(make_objective(cluster_loss=cluster_loss), stage)(batch)
            assert values(terms)["cluster"] == pytest.approx(expected, rel=1e-4)


def test_in_the_paper_the_cluster_loss_is_on_the_text_and_the_instance_loss_on_its_views():
    objective, batch = make_objective(ShiftedViews(4)), batch_of_texts_as_views()
    q = expected_q(objective, batch.original + 0.1)
    terms = values(objective.joint(batch))
    expected = expected_instance(objective, batch.original + 0.2, batch.original + 0.3)
    assert terms["instance"] == pytest.approx(expected, rel=1e-4)
    assert terms["cluster"] == pytest.approx(divergence(target(q), q), rel=1e-4)


def test_in_the_official_code_texts_as_views_have_half_the_cluster_loss_on_the_first_view():
    objective, batch = make_objective(ShiftedViews(4), implementation="official"), batch_of_texts_as_views()
    h_1, h_2 = batch.original + 0.1, batch.original + 0.2  # two forward passes, not three
    q = expected_q(objective, h_1)
    terms = values(objective.joint(batch))
    assert terms["instance"] == pytest.approx(expected_instance(objective, h_1, h_2), rel=1e-4)
    assert terms["cluster"] == pytest.approx(0.5 * divergence(target(q), q), rel=1e-4)


def test_with_augmented_views_both_implementations_are_equal():
    batch = batch_with_views()
    official, paper = (make_objective(implementation=name) for name in ("official", "paper"))
    assert values(official.joint(batch)) == values(paper.joint(batch))


# -- gradients


@pytest.mark.parametrize("cluster_loss", ["original", "crossed", "shared"])
def test_the_joint_loss_trains_centers_and_head(cluster_loss):
    objective = make_objective(cluster_loss=cluster_loss)
    sum(objective.joint(batch_with_views()).values()).backward()
    assert all(weight.grad is not None and weight.grad.abs().sum() > 0 for weight in objective.parameters())


def test_the_instance_loss_does_not_train_centers_and_the_cluster_loss_not_the_head():
    objective = make_objective()
    objective.instance(batch_with_views())["instance"].backward()
    assert objective.mu.grad is None
    objective = make_objective()
    objective.cluster(batch_with_views())["cluster"].backward()
    assert all(weight.grad is None for weight in objective.g.parameters())


# -- departures


def test_departure_scale_one_is_the_kernel_of_the_paper_and_another_scale_is_not():
    objective, h = make_objective(scale=1.0), batch_with_views().original
    expected = soft_assignment(h.double().numpy(), objective.mu.detach().double().numpy(), 2.0)
    np.testing.assert_allclose(objective.log_q(h).exp().detach(), expected, rtol=1e-4)
    assert not np.allclose(make_objective(scale=6.0).log_q(h).exp().detach(), expected, rtol=0.01)


def test_departure_by_default_the_kernel_is_less_flat_for_unit_vectors():
    h = torch.nn.functional.normalize(torch.randn(50, 4, generator=torch.Generator().manual_seed(0)), dim=1)
    confidence = {}
    for scale in (1.0, SCCL().scale):
        objective = make_objective(scale=scale, degrees_of_freedom=1.0, assign_by="q")
        objective.mu.data.copy_(h[:3])
        confidence[scale] = objective.assign_all(h.numpy()).max(axis=1).mean()
    assert confidence[6.0] > confidence[1.0] + 0.1
