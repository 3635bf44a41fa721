"""CC, SCAN and VaSCL: their losses against slow loops, and how their heads start."""

import numpy as np
import pytest
import torch

import coterie
from coterie.contracts import Batch, Corpus, Network
from coterie.losses.assignment import neighbor_consistency
from coterie.losses.contrastive import neighborhood_contrast

H = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(1))


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def slow_nt_xent(z_1, z_2, tau):
    z, n = np.concatenate([z_1, z_2]), len(z_1)
    losses = []
    for i in range(2 * n):
        e = [np.exp(cosine(z[i], z[j]) / tau) for j in range(2 * n)]
        losses.append(-np.log(e[(i + n) % (2 * n)] / (sum(e) - e[i])))
    return np.mean(losses)


def slow_q(objective, h):
    linear = objective.classifier.layers[-1]
    logits = objective.scale * h.double() @ linear.weight.detach().double().T + linear.bias.detach().double()
    return logits.softmax(dim=1).numpy()


def slow_imbalance(q):
    mean = [np.mean(q[:, k]) for k in range(q.shape[1])]
    return np.log(q.shape[1]) + sum(m * np.log(m) for m in mean)


def value(term):
    return term.detach().item()


def make(cls, n_clusters=3, **settings):
    torch.manual_seed(0)
    return cls(n_clusters=n_clusters, **settings).build_objective(Network(4))


def test_cc_contrasts_items_and_clusters():
    objective = make(coterie.CC, temperature=0.4, cluster_temperature=0.7, balance_weight=2.0, scale=1.5)
    terms = objective.joint(Batch(torch.arange(6), H[0], (H[1], H[2])))
    with torch.no_grad():
        z_1, z_2 = (objective.g(h).double().numpy() for h in H[1:])
    q_1, q_2 = (slow_q(objective, h) for h in H[1:])
    assert value(terms["instance"]) == pytest.approx(slow_nt_xent(z_1, z_2, 0.4), rel=1e-4)
    assert value(terms["cluster"]) == pytest.approx(slow_nt_xent(q_1.T, q_2.T, 0.7), rel=1e-4)
    assert value(terms["balance"]) == pytest.approx(2 * (slow_imbalance(q_1) + slow_imbalance(q_2)), rel=1e-3)


def test_scan_pulls_an_item_to_the_cluster_of_its_neighbor():
    objective = make(coterie.SCAN, balance_weight=3.0, scale=1.5)
    terms = objective.cluster(Batch(torch.arange(6), H[0], (H[1],)))
    q, q_n = slow_q(objective, H[0]), slow_q(objective, H[1])
    expected = np.mean([-np.log(sum(q[i, k] * q_n[i, k] for k in range(3))) for i in range(6)])
    assert value(terms["cluster"]) == pytest.approx(expected, rel=1e-4)
    assert value(terms["balance"]) == pytest.approx(3 * slow_imbalance(q), rel=1e-3)


def test_the_consistency_of_uniform_assignments_is_log_k():
    uniform = torch.zeros(5, 4).log_softmax(dim=1)
    assert value(neighbor_consistency(uniform, uniform)) == pytest.approx(np.log(4))
    certain = torch.tensor([[0.0, -50.0]] * 5).log_softmax(dim=1)
    assert value(neighbor_consistency(certain, certain)) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("cls", [coterie.CC, coterie.SCAN])
def test_the_head_starts_as_the_nearest_mean_of_the_initial_clusters(cls):
    objective = make(cls, scale=7.0)
    labels = torch.arange(6) % 3
    corpus = Corpus(["text"] * 6, H[0], torch.ones(6), labels)
    objective.initialize(corpus, 0)
    mu = corpus.means(3)
    expected = (-7.0 * torch.cdist(H[0], mu).square() / 2).softmax(dim=1)
    torch.testing.assert_close(objective.log_q(H[0]).exp(), expected, atol=1e-5, rtol=1e-4)
    objective.fit_assigner(corpus, 0)
    assert objective.assigned_by == "head"
    random = make(cls, head_init="random")
    random.initialize(corpus, 0)
    random.fit_assigner(corpus, 0)
    assert random.assigned_by == "kmeans"  # an untrained head does not assign


def test_the_neighborhood_contrast_is_that_of_a_slow_loop():
    z, z_delta = H[1].double().numpy(), H[2].double().numpy()
    near = torch.tensor([[(i + 1) % 6, (i + 3) % 6] for i in range(6)])
    losses = []
    for i in range(6):
        for a in (z[i], z_delta[i]):
            positive = np.exp(cosine(z[i], z_delta[i]) / 0.3)
            losses.append(-np.log(positive / (positive + sum(np.exp(cosine(a, z[k]) / 0.3) for k in near[i].tolist()))))
    assert value(neighborhood_contrast(H[1], H[2], near, tau=0.3)) == pytest.approx(sum(losses) / 6, rel=1e-5)
    same = torch.ones(6, 4)
    assert value(neighborhood_contrast(same, same, near, tau=0.3)) == pytest.approx(2 * np.log(3), rel=1e-5)


def test_vascl_perturbs_towards_the_neighborhood():
    objective = make(coterie.VaSCL, neighborhood_size=2, temperature=0.3, radius=0.5)
    near = objective.neighborhoods(H[0])
    slow = [sorted((j for j in range(6) if j != i), key=lambda j: -(H[0, i] @ H[0, j]).item())[:2] for i in range(6)]
    assert [sorted(row) for row in near.tolist()] == [sorted(row) for row in slow]
    delta = objective.perturbation(H[0], near)
    length = 0.5 * H[0].norm(dim=1).mean()
    torch.testing.assert_close(delta.norm(dim=1), length.expand(6))

    def loss(shift):
        return value(neighborhood_contrast(objective.g(H[0]), objective.g(H[0] + shift), near, tau=0.3))

    others = [length * torch.nn.functional.normalize(torch.randn(6, 4), dim=1) for _ in range(20)]
    assert loss(delta) > np.mean([loss(other) for other in others])
    terms = objective.contrast(Batch(torch.arange(6), H[0], (H[1], H[2])))
    assert terms.keys() == {"instance", "neighborhood"}
    sum(terms.values()).backward()
    assert objective.g[0].weight.grad.abs().sum() > 0


def test_a_batch_of_one_text_has_no_neighborhood():
    objective = make(coterie.VaSCL)
    assert objective.contrast(Batch(torch.arange(1), H[0, :1], (H[1, :1], H[2, :1]))).keys() == {"instance"}
