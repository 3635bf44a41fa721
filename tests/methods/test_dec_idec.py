"""DEC and IDEC: the losses against slow loops, the target of an epoch, the start of the auto-encoder, what is saved."""

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from scipy.spatial import procrustes

import coterie
from coterie.contracts import Batch, Corpus, Network
from coterie.encoders.networks.autoencoder import AutoEncoderNetwork

X = torch.from_numpy(np.random.default_rng(0).normal(size=(12, 6)) + 3 * np.eye(6)[np.arange(12) % 3]).float()


def make(cls, **settings):
    """Return an initialized objective on 12 vectors in three groups, and the batch of rows 2 to 6."""
    model = cls(n_clusters=3, width=12, latent_dim=2, **settings)
    network = AutoEncoderNetwork(Network(6), 2, 12)
    objective = model.build_objective(network)
    labels = torch.arange(12) % 3
    objective.initialize(Corpus(X, X, torch.ones(12), labels, prepared=X), 0)
    rows = torch.arange(2, 7)
    return objective, Batch(rows, X[rows], ())


def value(term):
    return term.detach().item()


def slow_q(h, mu):
    q = np.zeros((len(h), len(mu)))
    for j in range(len(h)):
        for k in range(len(mu)):
            q[j, k] = 1 / (1 + ((h[j] - mu[k]) ** 2).sum())
        q[j] /= q[j].sum()
    return q


def slow_target(q):
    p = np.zeros_like(q)
    for j in range(len(q)):
        for k in range(q.shape[1]):
            p[j, k] = q[j, k] ** 2 / q[:, k].sum()
        p[j] /= p[j].sum()
    return p


def slow_kl(p, q):
    return np.mean([sum(p[j, k] * np.log(p[j, k] / q[j, k]) for k in range(q.shape[1])) for j in range(len(q))])


@pytest.mark.parametrize("target", ["corpus", "batch"])
def test_the_cluster_loss_is_that_of_a_slow_loop(target):
    objective, batch = make(coterie.DEC, target=target)
    h = objective.network.encode(X)
    objective.update_target(Corpus(X, h, torch.ones(12)), 0)
    q_all = slow_q(h.double().numpy(), objective.mu.detach().double().numpy())
    q = q_all[2:7]
    p = slow_target(q_all)[2:7] if target == "corpus" else slow_target(q)
    assert value(objective.cluster(batch)["cluster"]) == pytest.approx(slow_kl(p, q), rel=1e-4)


def test_idec_adds_the_reconstruction_in_both_stages():
    objective, batch = make(coterie.IDEC, target="batch", cluster_weight=0.3)
    h = objective.network.encode(batch.original)
    x = objective.network.scale * batch.original
    squared = ((objective.decoder.g(h) - x) ** 2).detach().numpy()
    l_r = sum(squared[j].sum() for j in range(5)) / 5 / 6
    terms = objective.cluster(batch)
    plain = make(coterie.DEC, target="batch")[0]
    plain.load_state_dict(objective.state_dict())
    assert value(terms["reconstruction"]) == pytest.approx(l_r, rel=1e-4)
    assert value(objective.pretrain(batch)["reconstruction"]) == pytest.approx(l_r, rel=1e-4)
    assert value(terms["cluster"]) == pytest.approx(0.3 * value(plain.cluster(batch)["cluster"]), rel=1e-4)


def test_the_target_of_an_epoch_does_not_follow_the_code():
    objective, batch = make(coterie.DEC)
    objective.update_target(Corpus(X, objective.network.encode(X), torch.ones(12)), 0)
    before = objective.p.clone()
    objective.mu.data.add_(1)
    objective.cluster(batch)["cluster"].backward()
    assert torch.equal(objective.p, before)
    assert objective.mu.grad.abs().sum() > 0


def test_the_auto_encoder_starts_as_the_principal_directions():
    objective, _ = make(coterie.DEC)
    h = objective.network.encode(X).double().numpy()
    centered = (X - X.mean(dim=0)).double().numpy()
    y = centered @ np.linalg.svd(centered)[2][:2].T
    y /= np.sqrt((y**2).mean())
    assert procrustes(y, h)[2] < 1e-3  # the same up to a rotation
    assert np.sqrt((h**2).mean()) == pytest.approx(1, rel=1e-3)


def test_a_code_wider_than_the_embeddings_vary_starts_without_rounding_errors():
    network = AutoEncoderNetwork(Network(6), 5, 8)
    before = network.f[-1].weight.clone()
    x = torch.randn(40, 2, generator=torch.Generator().manual_seed(0)) @ torch.randn(2, 6)
    network.initialize(x)
    changed = (network.f[-1].weight != before).any(dim=1)
    assert changed.tolist() == [True, True, False, False, False]  # x has two directions; a third would be noise


def test_pretraining_takes_at_most_half_of_the_epochs():
    objective, _ = make(coterie.DEC, pretrain_epochs=15)
    assert [(stage.name, stage.epochs) for stage in objective.stages(30)] == [("pretrain", 15), ("cluster", 15)]
    assert [stage.epochs for stage in objective.stages(5)] == [2, 3]


def test_a_saved_model_has_no_decoder_and_no_targets(topics, tmp_path):
    model = coterie.IDEC(n_clusters=3, encoder="tfidf", width=8, epochs=2, max_steps=3).fit(topics[0])
    model.save(tmp_path / "model")
    names = load_file(tmp_path / "model" / "weights.safetensors")
    assert not [name for name in names if "decoder" in name or name == "p"]
    assert "network.f.0.weight" in names
