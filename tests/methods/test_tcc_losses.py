import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from coterie.contracts import Batch, Corpus, Network
from coterie.encoders.networks.fc import FCNetwork
from coterie.encoders.networks.linear import LinearNetwork
from coterie.losses.contrastive import nt_xent
from coterie.methods import tcc as module
from coterie.methods.tcc import TCC, TCCObjective

# -- the equations as slow loops


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def equation_3(f, mu):
    """Return π by the dot product."""
    exp = [[math.exp(mu_k @ f_i) for mu_k in mu] for f_i in f]
    return np.array([[x / sum(row) for x in row] for row in exp])


def equation_4(q, f):
    return unit(np.stack([sum(q[i][k] * f[i] for i in range(len(f))) for k in range(q.shape[1])]))


def info_nce(z, z_hat, negatives, tau):
    """Return the loss of one row, Eq. 5 and 7."""
    positive = math.exp(z_hat @ z / tau)
    return -math.log(positive / (positive + sum(math.exp(n @ z / tau) for n in negatives)))


class SlowTCC:
    """Eq. 3-9 of one batch after the other in float64, with lists as queues and c = π."""

    def __init__(self, objective):
        self.weights = {name: weight.detach().double().numpy() for name, weight in objective.named_parameters()}
        self.hp = objective.hp
        self.past_clusters = []
        self.past_items = []

    def view(self, weights, f):
        """Return r, e and π."""
        q = equation_3(f, weights["mu"])
        nn_c = q @ weights["nn_c.weight"].T + weights["nn_c.bias"]
        e = {"both": f + nn_c, "cluster": nn_c, "features": f}[self.hp.instance_embedding]
        return equation_4(q, f), unit(e), q

    def terms(self, batch, momentum_weights):
        view_1, view_2 = (view.double().numpy() for view in batch.augmented)
        r, e, q = self.view(self.weights, view_1)
        r_hat, e_hat, _ = self.view(momentum_weights, view_2)
        tau, alpha = self.hp.temperature, self.hp.cluster_weight
        l_1 = [
            info_nce(r[k], r_hat[k], [row for place, row in enumerate(self.past_clusters) if place % 3 != k], tau)
            for k in range(3)
        ]
        l_2 = [
            info_nce(e[i], e_hat[i], [row for row, item in self.past_items if item != batch.rows[i]], tau)
            for i in range(len(e))
        ]
        kl = sum(x * math.log(x * 3) for row in q for x in row) / len(q)
        self.past_clusters += list(r_hat)
        self.past_items += list(zip(e_hat, batch.rows, strict=True))
        return {"cluster": alpha * np.mean(l_1), "instance": (1 - alpha) * np.mean(l_2), "prior": (1 - alpha) * kl}


PAPER = {
    "n_clusters": 3, "cluster_weight": 0.3, "temperature": 0.4, "stochastic": False, "similarity": "dot",
    "prior": "sample", "prior_weight": 1.0, "momentum": 0.8, "batch_size": 6,
}  # fmt: skip


def make_corpus(n_items=40):
    h = torch.randn(n_items, 4)
    return Corpus(h.numpy(), h, torch.ones(n_items, dtype=torch.long), torch.arange(n_items) % 3)


def initialized(network=None, n_items=40, **options):
    torch.manual_seed(0)
    objective = TCCObjective(TCC(**PAPER | options), network or Network(4))
    objective.initialize(make_corpus(n_items), 0)
    objective.mu.data.copy_(torch.randn(3, 4))
    objective.momentum_encoder.reset(objective)
    return objective


def make_batch(seed=1, first=0):
    h, h_1, h_2 = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(seed))
    return Batch(torch.arange(first, first + 6), h, (h_1, h_2))


def values(terms):
    return {name: term.detach().item() for name, term in terms.items()}


# -- terms


@pytest.mark.parametrize("instance_embedding", ["both", "cluster", "features"])
def test_several_steps_are_the_equations_with_queues_and_momentum_encoder(instance_embedding):
    objective = initialized(instance_embedding=instance_embedding)
    slow = SlowTCC(objective)
    momentum_weights = dict(slow.weights)
    for number in range(4):
        batch = make_batch(number, first=6 * (number % 3))  # the items of the last batch are in the queue
        terms = values(objective.joint(batch))
        assert terms == pytest.approx(slow.terms(batch, momentum_weights), rel=1e-4)
        with torch.no_grad():
            objective.mu += 0.3 * torch.randn(3, 4)  # in place of an optimizer step
        objective.after_step()
        slow.weights["mu"] = objective.mu.detach().double().numpy()
        momentum_weights["mu"] = 0.8 * momentum_weights["mu"] + 0.2 * slow.weights["mu"]
    assert terms["cluster"] > 0
    assert terms["instance"] > 0


def test_departure_an_item_is_no_negative_of_itself_when_views_show_neighbors():
    objective = initialized(instance_embedding="features", temperature=1.0)
    past, batch = make_batch(1), make_batch(2, first=20)
    shown = (torch.tensor([1, 30, 31, 32, 33, 34]), torch.tensor([2, 3, 35, 36, 37, 38]))  # 1, 2 and 3 are in the queue
    objective.instance(past)
    objective.after_step()
    loss = objective.instance(replace(batch, shown=shown))["instance"].item()
    e, e_hat, queue = (unit(view.numpy()) for view in (*batch.augmented, past.augmented[1]))
    expected = [
        info_nce(e[i], e_hat[i], [row for j, row in enumerate(queue) if j not in (shown[0][i], shown[1][i])], 1.0)
        for i in range(6)
    ]
    assert loss == pytest.approx(np.mean(expected), rel=1e-5)
    objective.after_step()
    assert objective.past_items.filled[1].tolist() == [*range(6), *shown[1].tolist()]  # who is shown, not whose view


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_departure_the_instance_stage_contrasts_items_with_past_items_but_not_with_themselves(similarity):
    objective = initialized(similarity=similarity)
    past = []
    for number in range(3):
        batch = make_batch(number, first=4 * number)  # two items are also in the batch before
        f, f_hat = (unit(view.double().numpy()) for view in batch.augmented)
        expected = [
            info_nce(f[i], f_hat[i], [row for row, item in past if item != batch.rows[i]], 0.4) for i in range(6)
        ]
        assert values(objective.instance(batch)) == pytest.approx({"instance": np.mean(expected)}, rel=1e-4)
        objective.after_step()
        past += zip(f_hat, batch.rows, strict=True)
    assert len(objective.past_clusters) == 0


def test_departure_by_default_the_similarity_is_the_cosine_over_a_temperature():
    assert TCC().similarity == "cosine"
    objective, h = initialized(similarity="cosine", assign_temperature=0.2), 5 * torch.randn(7, 4)
    mu = objective.mu.detach().double().numpy()
    expected = equation_3(unit(h.double().numpy()), unit(mu) / 0.2)
    np.testing.assert_allclose(objective.log_q(h).exp().detach(), expected, rtol=1e-4)
    np.testing.assert_allclose(objective.assign(h).detach(), expected, rtol=1e-12)


def test_with_cosines_the_length_of_a_vector_has_no_effect():
    objective, batch = initialized(similarity="cosine", assign_temperature=0.2), make_batch()
    longer = Batch(batch.rows, batch.original, tuple(3 * view for view in batch.augmented))
    assert values(objective.joint(longer)) == pytest.approx(values(objective.joint(batch)), rel=1e-4)


def test_negatives_of_a_cluster_may_be_the_other_clusters_of_the_batch():
    objective, batch = initialized(cluster_negatives="batch"), make_batch()
    r, r_hat = (objective(view).r for view in batch.augmented)
    expected = 0.3 * nt_xent(r, r_hat, tau=0.4).item()
    assert values(objective.joint(batch))["cluster"] == pytest.approx(expected, rel=1e-5)


def test_the_prior_of_the_batch_is_that_of_the_mean_row():
    objective, batch = initialized(prior="batch", prior_weight=0.2), make_batch()
    q = objective(batch.augmented[0]).log_q.detach().exp().mean(dim=0).double()
    expected = 0.7 * 0.2 * float((q * (3 * q).log()).sum())
    assert values(objective.joint(batch))["prior"] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("alpha", "zero"), [(0.0, {"cluster"}), (1.0, {"instance", "prior"})])
def test_a_cluster_weight_of_zero_or_one_is_an_ablation(alpha, zero):
    objective = initialized(cluster_weight=alpha)
    objective.joint(make_batch(1))
    objective.after_step()
    terms = values(objective.joint(make_batch(2, first=6)))
    assert {name for name, value in terms.items() if value == 0} == zero


# -- drawn clusters, Eq. 6


@pytest.mark.parametrize("stochastic", [False, True])
def test_clusters_are_drawn_anew_in_every_forward_pass_or_are_pi(stochastic):
    objective, view = initialized(stochastic=stochastic), make_batch().augmented[0]
    assert torch.equal(objective(view).e, objective(view).e) != stochastic
    torch.manual_seed(3)
    drawn = objective(view).e
    torch.manual_seed(3)
    assert torch.equal(objective(view).e, drawn)  # by the global generator, which training seeds


def test_the_momentum_encoder_draws_its_own_clusters():
    objective, view = initialized(stochastic=True), make_batch().augmented[0]
    torch.manual_seed(3)
    objective.joint(Batch(torch.arange(6), None, (view, view)))
    e_hat, _ = objective.past_items.pending
    torch.manual_seed(3)
    assert not torch.allclose(e_hat, objective(view).e, atol=1e-3)


# -- gradients


def test_everything_is_trained_but_momentum_encoder_and_queues():
    objective = initialized(FCNetwork(LinearNetwork(4, np.asarray), None))
    for number in range(2):  # the queues are empty in the first step
        objective.zero_grad()
        sum(objective.joint(make_batch(number, first=6 * number)).values()).backward()
        objective.after_step()
    weights = dict(objective.named_parameters())
    assert all(weights[name].grad.abs().sum() > 0 for name in ("mu", "nn_c.weight", "network.fc_e.weight"))
    assert not any(buffer.requires_grad for buffer in objective.buffers())


# -- stages and initialization


@pytest.mark.parametrize(("instance_epochs", "lengths"), [(0, [0, 5]), (2, [2, 3]), (9, [5, 0])])
def test_the_instance_stage_comes_first(instance_epochs, lengths):
    stages = initialized(instance_epochs=instance_epochs).stages(5)
    assert [stage.name for stage in stages] == ["instance", "joint"]
    assert [stage.epochs for stage in stages] == lengths
    assert (stages[1].before is not None) == (instance_epochs > 0)


def test_departure_after_the_instance_stage_kmeans_places_the_prototypes():
    objective = initialized(instance_epochs=1)
    centers = unit(np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]]))
    noise = 0.1 * torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
    h = 5 * torch.from_numpy(centers).float().repeat(20, 1) + noise
    objective.instance(make_batch())
    objective.after_step()
    _, joint = objective.stages(2)
    joint.before(Corpus(h.numpy(), h, torch.ones(60, dtype=torch.long)), 0)
    cosine = unit(objective.mu.detach().numpy()) @ centers.T
    assert sorted(cosine.argmax(axis=1)) == [0, 1, 2]
    assert (cosine.max(axis=1) > 0.999).all()
    assert len(objective.past_items) == 0
    assert torch.equal(objective.momentum_encoder.get_buffer("mu"), objective.mu)


@pytest.mark.parametrize("seed", [0, 7])
def test_that_kmeans_gets_the_seed(monkeypatch, seed):
    seeds = []
    monkeypatch.setattr(module, "kmeans_centers", lambda *_, seed, n_init: seeds.append(seed) or torch.eye(3, 4))
    initialized().place_prototypes(make_corpus(), seed)
    assert seeds == [seed]


def test_the_queues_have_their_sizes():
    assert len(initialized(n_items=40).past_items.rows) == 18  # three batches, less than half of the items
    objective = initialized(queue_size=7, queue_steps=5)
    assert len(objective.past_items.rows) == 7
    assert len(objective.past_clusters.rows) == 5 * 3


def test_diagnostics_are_unit_vectors_e_with_c_equal_to_pi():
    objective, h = initialized(stochastic=True), make_batch().original
    z = objective.diagnostics(h)["z"]
    torch.testing.assert_close(z.norm(dim=1), torch.ones(6))
    objective.hp.stochastic = False
    torch.testing.assert_close(z, objective(h).e)
    assert not torch.allclose(z, F.normalize(h, dim=1), atol=1e-3)


def test_the_guard_does_not_judge_the_stage_before_the_prototypes_are_placed():
    stages = initialized(instance_epochs=2).stages(5)
    assert [(stage.name, stage.labeled) for stage in stages] == [("instance", False), ("joint", True)]
