import pytest
import torch

from coterie.clustering.kmeans import kmeans_centers
from coterie.contracts import Corpus, Network
from coterie.losses.assignment import student_t
from coterie.objectives import student_t as module
from coterie.objectives.student_t import StudentTObjective


def make_objective(assign_by="kmeans"):
    objective = StudentTObjective(Network(4), 3, degrees_of_freedom=2.0, scale=1.5, assign_by=assign_by)
    corpus = make_corpus()
    objective.initialize(corpus, 0)
    return objective, corpus


def make_corpus(n=30):
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(n) % 3
    h = torch.randn(n, 4, generator=generator) + 2 * torch.eye(3, 4)[labels]
    return Corpus(h.numpy(), h, torch.arange(1, n + 1), labels)


def test_centers_start_at_the_weighted_means_of_the_initial_clusters():
    objective, corpus = make_objective("q")
    for k in range(3):
        own = corpus.labels == k
        weight = corpus.counts[own, None].float()
        torch.testing.assert_close(objective.mu[k].detach(), (weight * corpus.h[own]).sum(0) / weight.sum())


def test_q_is_the_student_t_kernel_of_scaled_distances():
    objective, corpus = make_objective("q")
    expected = student_t(1.5 * corpus.h.double(), 1.5 * objective.mu.double(), alpha=2.0).exp()
    torch.testing.assert_close(objective.assign(corpus.h), expected)
    assert objective.centers is objective.mu


def test_the_final_kmeans_starts_from_the_trained_centers():
    objective, corpus = make_objective("kmeans")
    objective.mu.data += 0.5
    objective.fit_assigner(corpus, 0)
    expected = kmeans_centers(corpus.h, corpus.counts, 3, seed=0, init=objective.mu.detach())
    torch.testing.assert_close(objective.centers, expected)
    assert torch.equal(objective.assign(corpus.h).argmax(dim=1), torch.cdist(corpus.h, expected).argmin(dim=1))


@pytest.mark.parametrize("seed", [0, 7])
def test_the_final_kmeans_gets_the_seed(monkeypatch, seed):
    seeds = []
    monkeypatch.setattr(module, "kmeans_centers", lambda *_, seed, init: seeds.append(seed) or init)
    objective, corpus = make_objective("kmeans")
    objective.fit_assigner(corpus, seed)
    assert seeds == [seed]


def test_without_a_final_kmeans_the_assigner_needs_no_fit(monkeypatch):
    monkeypatch.setattr(module, "kmeans_centers", None)
    objective, corpus = make_objective("q")
    objective.fit_assigner(corpus, 0)
    assert torch.equal(objective.centers, objective.mu)
