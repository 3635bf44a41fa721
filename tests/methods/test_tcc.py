import math
import pickle
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import coterie
from coterie.contracts import Batch, Corpus, Network
from coterie.encoders.linear import LinearNetwork
from coterie.evaluation.metrics import accuracy
from coterie.heads.latent import Latent
from coterie.losses.contrastive import nt_xent
from coterie.methods.tcc import TCC, TCCObjective

# -- the equations, as slow loops


def length_one(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def equation_3(f, mu):
    """Return π by the plain product."""
    share = [[math.exp(mu_k @ f_i) for mu_k in mu] for f_i in f]
    return np.array([[s / sum(row) for s in row] for row in share])


def equation_4(q, f):
    return length_one(np.stack([sum(q[i][k] * f[i] for i in range(len(f))) for k in range(q.shape[1])]))


def found(z, z_hat, negatives, tau):
    """Return -log p of one row, Eq. 5 and 7."""
    own = math.exp(z_hat @ z / tau)
    return -math.log(own / (own + sum(math.exp(n @ z / tau) for n in negatives)))


class Steps:
    """TCC step by step in float64: what Eq. 3-9 say of one batch, with the queues as lists."""

    def __init__(self, objective):
        self.weights = {name: weight.detach().double().numpy() for name, weight in objective.named_parameters()}
        self.hp, self.p, self.q = objective.hp, [], []

    def side(self, weights, f):
        """Return r, e and π where c is π."""
        q = equation_3(f, weights["mu"])
        of_c = q @ weights["nn_c.weight"].T + weights["nn_c.bias"]
        e = {"both": f + of_c, "cluster": of_c, "plain": f}[self.hp.instance]
        return equation_4(q, f), length_one(e), q

    def terms(self, batch, slow):
        view_1, view_2 = (view.double().numpy() for view in batch.augmented)
        r, e, q = self.side(self.weights, view_1)
        r_hat, e_hat, _ = self.side(slow, view_2)
        tau, alpha = self.hp.temperature, self.hp.cluster_share
        l_1 = [found(r[k], r_hat[k], [p for i, p in enumerate(self.p) if i % 3 != k], tau) for k in range(3)]
        l_2 = [found(e[i], e_hat[i], [row for row, own in self.q if own != j], tau) for i, j in enumerate(batch.rows)]
        kl = sum(x * math.log(x * 3) for row in q for x in row) / len(q)
        self.p, self.q = self.p + list(r_hat), self.q + list(zip(e_hat, batch.rows, strict=True))
        return {"cluster": alpha * np.mean(l_1), "instance": (1 - alpha) * np.mean(l_2), "prior": (1 - alpha) * kl}


EXACT = {
    "n_clusters": 3, "cluster_share": 0.3, "temperature": 0.4, "stochastic": False, "variant": "paper",
    "prior": "sample", "prior_weight": 1.0, "momentum": 0.8, "batch_size": 6,
}  # fmt: skip


def objective_of(encoder=None, n_items=40, **options):
    torch.manual_seed(0)
    objective = TCCObjective(TCC(**EXACT | options), encoder or Network(4))
    h = torch.randn(n_items, 4)
    objective.start(Corpus(h.numpy(), h, torch.ones(n_items, dtype=torch.long), torch.arange(n_items) % 3), 0)
    objective.mu.data.copy_(torch.randn(3, 4))
    objective.slow.begin(objective)
    return objective


def batch_of(seed=1, first=0):
    h, h_1, h_2 = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(seed))
    return Batch(torch.arange(first, first + 6), h, (h_1, h_2))


def values(terms):
    return {name: term.detach().item() for name, term in terms.items()}


@pytest.mark.parametrize("instance", ["both", "cluster", "plain"])
def test_steps_are_the_equations_with_both_queues_and_the_slow_copy(instance):
    objective = objective_of(instance=instance)
    steps = Steps(objective)
    slow = dict(steps.weights)
    for number in range(4):  # the last batch is of items that the queue has seen
        batch = batch_of(number, first=6 * (number % 3))
        terms = values(objective.twin(batch))
        assert terms == pytest.approx(steps.terms(batch, slow), rel=1e-4)
        with torch.no_grad():
            objective.mu += 0.3 * torch.randn(3, 4)  # an optimiser's step
        objective.after_step()
        steps.weights["mu"] = objective.mu.detach().double().numpy()
        slow["mu"] = 0.8 * slow["mu"] + 0.2 * steps.weights["mu"]
    assert terms["cluster"] > 0 < terms["instance"]


def test_cosines_over_a_temperature_take_the_place_of_the_product():
    objective, h = objective_of(variant="cosine", assign_temperature=0.2), 5 * torch.randn(7, 4)
    mu = objective.mu.detach().double().numpy()
    expected = equation_3(length_one(h.double().numpy()), length_one(mu) / 0.2)
    np.testing.assert_allclose(objective.log_q(h).exp().detach(), expected, rtol=1e-4)
    np.testing.assert_allclose(objective.assign(h).detach(), expected, rtol=1e-12)


def test_with_cosines_the_length_of_a_vector_says_nothing():
    objective, batch = objective_of(variant="cosine", assign_temperature=0.2), batch_of()
    longer = Batch(batch.rows, batch.original, tuple(3 * view for view in batch.augmented))
    assert values(objective.twin(longer)) == pytest.approx(values(objective.twin(batch)), rel=1e-4)


def test_within_a_batch_clusters_are_told_from_the_others_of_both_views():
    objective, batch = objective_of(contrast="batch"), batch_of()
    r, r_hat = (objective(view)[1] for view in batch.augmented)
    assert values(objective.twin(batch))["cluster"] == pytest.approx(0.3 * nt_xent(r, r_hat, tau=0.4).item(), rel=1e-5)


def test_the_prior_of_the_batch_is_of_the_mean_row():
    objective, batch = objective_of(prior="batch", prior_weight=0.2), batch_of()
    q = objective(batch.augmented[0])[3].detach().exp().mean(dim=0).double()
    expected = 0.7 * 0.2 * float((q * (3 * q).log()).sum())
    assert values(objective.twin(batch))["prior"] == pytest.approx(expected, rel=1e-4)


# -- clusters that are drawn


def test_an_undrawn_cluster_is_its_probability_and_a_drawn_one_is_another_each_time():
    batch = batch_of()
    for stochastic in (False, True):
        objective = objective_of(stochastic=stochastic)
        first, again = (objective(batch.augmented[0])[2] for _ in range(2))
        assert torch.equal(first, again) != stochastic
        torch.manual_seed(3)
        drawn = objective(batch.augmented[0])[2]
        torch.manual_seed(3)
        assert torch.equal(objective(batch.augmented[0])[2], drawn)  # from the generator that training seeds


def test_clusters_are_drawn_as_often_as_they_are_probable():
    log_q = torch.tensor([[0.6, 0.3, 0.1]]).log().repeat(20_000, 1)
    torch.manual_seed(0)
    c = F.gumbel_softmax(log_q, tau=0.3)  # softmax((log π + ε) / λ)
    torch.testing.assert_close(c.sum(dim=1), torch.ones(20_000))
    share = c.argmax(dim=1).bincount(minlength=3) / 20_000
    torch.testing.assert_close(share, torch.tensor([0.6, 0.3, 0.1]), atol=0.02, rtol=0)
    assert F.gumbel_softmax(log_q, tau=0.01).amax(dim=1).mean() > c.amax(dim=1).mean() > 0.8


def test_the_slow_copy_draws_its_own_clusters():
    objective = objective_of(stochastic=True)
    objective.twin(Batch(torch.arange(6), None, (batch_of().augmented[0],) * 2))
    e_hat, _ = objective.past_items.waiting
    assert not torch.allclose(e_hat, objective(batch_of().augmented[0])[2], atol=1e-3)


# -- what learns


def test_gradients_reach_everything_but_the_slow_copy_and_the_queues():
    objective = objective_of(Latent(LinearNetwork(4, np.asarray), None))
    for number in range(2):  # at first the queues are empty and there is nothing to contrast with
        objective.zero_grad()
        sum(objective.twin(batch_of(number, first=6 * number)).values()).backward()
        objective.after_step()
    learn = dict(objective.named_parameters())
    assert all(learn[name].grad.abs().sum() > 0 for name in ("mu", "nn_c.weight", "encoder.fc_e.weight"))
    assert not any(buffer.requires_grad for buffer in objective.buffers())


@pytest.mark.parametrize("variant", ["paper", "cosine"])
def test_items_alone_are_told_from_past_items_by_their_own_vectors(variant):
    objective = objective_of(variant=variant)
    past = []
    for number in range(3):
        batch = batch_of(number, first=4 * number)  # two of the items are in the batch before, too
        f, f_hat = (length_one(view.double().numpy()) for view in batch.augmented)
        slowly = [found(f[i], f_hat[i], [p for p, own in past if own != j], 0.4) for i, j in enumerate(batch.rows)]
        assert values(objective.items(batch)) == pytest.approx({"instance": np.mean(slowly)}, rel=1e-4)
        objective.after_step()
        past += zip(f_hat, batch.rows, strict=True)
    assert len(objective.past_clusters) == 0


@pytest.mark.parametrize(("alone", "lengths"), [(0, [0, 5]), (2, [2, 3]), (9, [5, 0])])
def test_items_alone_come_first_and_end_with_the_epochs(alone, lengths):
    items, twin = objective_of(alone_epochs=alone).stages(5)
    assert [items.epochs, twin.epochs] == lengths
    assert (twin.before is not None) == (alone > 0)


def test_after_items_alone_the_prototypes_are_where_kmeans_finds_groups():
    objective, rng = objective_of(), torch.Generator().manual_seed(0)
    centers = length_one(np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]]))
    h = 5 * torch.from_numpy(centers).float().repeat(20, 1) + 0.1 * torch.randn(60, 4, generator=rng)
    objective.items(batch_of())
    objective.after_step()
    objective.place(Corpus(h.numpy(), h, torch.ones(60, dtype=torch.long)))
    cosine = length_one(objective.mu.detach().numpy()) @ centers.T
    assert sorted(cosine.argmax(axis=1)) == [0, 1, 2]
    assert (cosine.max(axis=1) > 0.999).all()
    assert len(objective.past_items) == 0
    assert torch.equal(objective.slow.get_buffer("mu"), objective.mu)


@pytest.mark.parametrize(("alpha", "silent"), [(0.0, {"cluster"}), (1.0, {"instance", "prior"})])
def test_a_share_of_nothing_or_everything_is_an_ablation(alpha, silent):
    objective = objective_of(cluster_share=alpha)
    objective.twin(batch_of(1))
    objective.after_step()
    terms = values(objective.twin(batch_of(2, first=6)))
    assert {name for name, value in terms.items() if value == 0} == silent


@pytest.mark.parametrize(
    ("n_items", "options", "size"),
    [(40, {}, 18), (13, {}, 6), (5, {}, 5), (40, {"queue_size": 7}, 7), (100_000, {"batch_size": 200}, 16_200)],
)
def test_the_queue_of_items_keeps_whole_batches_of_at_most_half_of_them(n_items, options, size):
    objective = objective_of(n_items=n_items, **options)
    assert len(objective.past_items.rows) == size
    assert len(objective.past_clusters.rows) == 60


@pytest.mark.parametrize("start", ["groups", "random"])
def test_prototypes_start_from_the_first_groups_or_anywhere(topics, start):
    model = small(prototypes=start, epochs=0, init="kmeans").fit(topics[0])
    first = coterie.KMeans(n_clusters=3, encoder="tfidf").fit(topics[0])
    cosine = (length_one(model.cluster_centers_) * length_one(first.cluster_centers_)).sum(axis=1)
    assert (cosine > 0.99).all() == (start == "groups")
    if start == "groups":
        np.testing.assert_array_equal(model.labels_, first.labels_)


# -- training


def small(**options):
    defaults = {"n_clusters": 3, "encoder": "tfidf", "epochs": 3, "epoch_steps": 4, "batch_size": 30, "guard": "off"}
    return TCC(**defaults | options)


def test_a_new_start_after_items_alone_makes_good_groups_of_prototypes_from_anywhere(topics):
    options = {"prototypes": "random", "epochs": 6, "encoder_lr": 1e-3}
    model = small(**options, alone_epochs=3).fit(topics[0])
    first = coterie.KMeans(n_clusters=3, encoder="tfidf").fit(topics[0])
    assert accuracy(first.labels_, model.labels_) > 0.95
    assert [record["stage"] for record in model.history_] == ["items"] * 3 + ["twin"] * 3


def test_the_loss_goes_down(topics):
    history = small(epochs=10, queue_steps=1, encoder_lr=3e-3).fit(topics[0]).history_
    assert history[-1]["loss"] < history[1]["loss"]  # from when there are as many negatives as there will ever be


def test_the_slow_copy_stays_behind_what_learns(topics):
    start, end = (small(epochs=n, encoder_lr=1e-2).fit(topics[0]).objective_ for n in (0, 3))
    slow = end.slow.get_buffer("mu")
    assert 0 < (slow - start.mu).norm() < (end.mu - start.mu).norm()


@pytest.mark.parametrize(
    "options",
    [
        {"cluster_share": 0.0}, {"cluster_share": 1.0}, {"contrast": "batch"}, {"stochastic": False},
        {"instance": "cluster"}, {"instance": "plain"}, {"prior": "sample"}, {"variant": "paper"}, {"latent_dim": 8},
        {"alone_epochs": 1},
    ],
    ids=str,
)  # fmt: skip
def test_every_variant_trains_and_keeps_its_labels(topics, tmp_path, options):
    model = small(**options).fit(topics[0])
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(topics[0]), model.labels_)
    np.testing.assert_array_equal(loaded.predict_proba(topics[0]), model.predict_proba(topics[0]))
    assert model.transform(topics[0][:2]).shape[1] == options.get("latent_dim", model.encoder_.embed(["goal"]).shape[1])


def test_a_saved_model_has_no_queue_and_no_slow_copy(topics, tmp_path):
    from safetensors.numpy import load_file

    small().fit(topics[0]).save(tmp_path / "model")
    kept = set(load_file(tmp_path / "model" / "weights.safetensors"))
    assert "mu" in kept
    assert not [name for name in kept if name.partition(".")[0] in TCCObjective.scratch]


@pytest.mark.parametrize(("stop", "alone"), [(4, 0), (8, 0), (4, 2), (8, 2)])
def test_killed_and_resumed_it_ends_bit_for_bit_the_same(topics, tmp_path, stop, alone):
    small_one = partial(small, alone_epochs=alone)
    whole, path = small_one().fit(topics[0]), tmp_path / "run.checkpoint"

    def kill(evaluation):
        if evaluation.record["step"] == stop:
            raise MemoryError("killed")

    with pytest.raises(MemoryError, match="killed"):
        small_one(checkpoint=path, checkpoint_every=1).fit(topics[0], watch=kill)
    assert path.exists()
    resumed = small_one(checkpoint=path, checkpoint_every=1).fit(topics[0])
    for name, value in whole.objective_.state_dict().items():
        assert torch.equal(resumed.objective_.state_dict()[name], value), name
    np.testing.assert_array_equal(resumed.labels_, whole.labels_)


def test_survives_pickle(topics):
    model = small().fit(topics[0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(topics[0]), model.labels_)


def test_a_transformer_learns_and_its_frozen_layers_are_not_copied(topics, tiny_bert):
    model = small(encoder=f"transformer:{tiny_bert}", trainable_layers=1, encoder_lr=1e-3).fit(topics[0])
    slow = model.objective_.slow
    assert not [name for name in slow.weights if ".layers.0." in name or ".words." in name]
    assert [name for name in slow.weights if ".layers.1." in name]
    np.testing.assert_array_equal(model.predict(topics[0]), model.labels_)


def test_what_is_contrasted_can_be_looked_at(topics):
    model = small().fit(topics[0])
    z = model.objective_.inside(torch.from_numpy(model.transform(topics[0][:4])))["z"]
    torch.testing.assert_close(z.norm(dim=1), torch.ones(4))
