from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from coterie.clustering.kmeans import kmeans_centers
from coterie.contracts import Corpus, Network
from coterie.heads.classifier import Classifier
from coterie.objectives import pseudo_label as module
from coterie.objectives.pseudo_label import PseudoLabelObjective


class FixedLogits(PseudoLabelObjective):
    """Its logits are a given function of h."""

    def __init__(self, function, n_clusters=3, dim=4):
        super().__init__(Network(dim), n_clusters, Classifier(dim, n_clusters, width=8))
        self.function = function
        self.batch_sizes = []

    def logits(self, h):
        self.batch_sizes.append(len(h))
        return self.function(h)


def permuted(h):
    """Confident logits that number the clusters differently from the labels of the corpus."""
    return 9 * h[:, [2, 0, 1]].double()


def make_corpus(n=30, n_clusters=3, labels=None):
    """Return items around K corners; the labels are the corners."""
    generator = torch.Generator().manual_seed(0)
    corner = torch.arange(n) % n_clusters
    h = 0.3 * torch.randn(n, 4, generator=generator) + 2 * torch.eye(n_clusters, 4)[corner]
    return Corpus(h.numpy(), h, torch.ones(n, dtype=torch.long), corner.clone() if labels is None else labels)


def swapped_labels(n=30):
    """Return the labels of the corpus with the first two items exchanged."""
    return torch.tensor([1, 0, *(torch.arange(n) % 3)[2:].tolist()])


def initialized(corpus, function=permuted, **options):
    objective = FixedLogits(function, **options)
    objective.initialize(corpus, 0)
    return objective


def test_pseudo_labels_start_as_a_copy_of_the_initial_labels():
    corpus = make_corpus()
    objective = initialized(corpus)
    assert torch.equal(objective.pseudo_labels, corpus.labels)
    objective.pseudo_labels += 1
    assert torch.equal(corpus.labels, make_corpus().labels)


# -- head or nearest center


def test_before_the_head_is_trained_the_nearest_center_assigns():
    corpus = make_corpus(labels=swapped_labels())
    objective = initialized(corpus)
    objective.fit_assigner(corpus, 0)
    assert not objective.assign_by_head
    mu = kmeans_centers(corpus.h, corpus.counts, 3, seed=0, init=corpus.means(3))
    torch.testing.assert_close(objective.centers, mu)
    q = objective.assign(corpus.h)
    torch.testing.assert_close(q, objective.nearest(corpus.h))
    assert torch.equal(q.argmax(dim=1), torch.cdist(corpus.h, mu).argmin(dim=1))


def test_a_trained_head_assigns_and_centers_are_the_means_of_its_clusters():
    corpus = replace(make_corpus(), counts=torch.arange(1, 31))
    objective = initialized(corpus)
    objective.start_pseudo_labeling(corpus, 0)
    objective.fit_assigner(corpus, 0)
    assert objective.assign_by_head
    labels = objective.assign(corpus.h).argmax(dim=1)
    assert torch.equal(labels, corpus.h[:, [2, 0, 1]].argmax(dim=1))
    torch.testing.assert_close(objective.assign(corpus.h), permuted(corpus.h).softmax(dim=1))
    for k in range(3):
        own = labels == k
        mean = np.average(corpus.h[own].numpy(), axis=0, weights=corpus.counts[own].numpy())
        np.testing.assert_allclose(objective.centers[k], mean, atol=1e-5)


def test_a_head_that_never_predicts_a_cluster_does_not_assign():
    corpus = make_corpus()
    objective = initialized(corpus, lambda h: 9 * h[:, :3].double() - torch.tensor([0.0, 0.0, 99.0]))
    objective.start_pseudo_labeling(corpus, 0)
    objective.fit_assigner(corpus, 0)
    assert not objective.assign_by_head
    assert len(objective.assign(corpus.h).argmax(dim=1).unique()) == 3


def test_a_head_that_must_not_be_used_does_not_assign():
    corpus = make_corpus()
    objective = initialized(corpus)
    objective.use_head = False
    objective.start_pseudo_labeling(corpus, 0)
    objective.fit_assigner(corpus, 0)
    assert objective.head_trained
    assert not objective.assign_by_head


def test_the_decision_is_made_at_every_fit():
    corpus = make_corpus()
    objective = initialized(corpus)
    objective.start_pseudo_labeling(corpus, 0)
    decisions = []
    for function in (permuted, lambda h: torch.zeros(len(h), 3).double(), permuted):
        objective.function = function
        objective.fit_assigner(corpus, 0)
        decisions.append(bool(objective.assign_by_head))
    assert decisions == [True, False, True]


def test_one_empty_cluster_of_many_gets_an_item_by_the_offset():
    corpus = make_corpus(60, labels=torch.arange(60) % 12)
    logits = torch.rand(60, 12, generator=torch.Generator().manual_seed(0)).double() + 4 * torch.eye(12)[corpus.labels]
    logits[:, 7] -= 6
    assert 7 not in logits.argmax(dim=1)
    objective = initialized(corpus, lambda h: logits, n_clusters=12)
    objective.start_pseudo_labeling(corpus, 0)
    objective.fit_assigner(corpus, 0)
    assert objective.assign_by_head
    labels = objective.assign(corpus.h).argmax(dim=1)
    assert len(labels.unique()) == 12
    means = torch.stack([corpus.h[labels == k].mean(dim=0) for k in range(12)])
    torch.testing.assert_close(objective.centers, means, atol=1e-5, rtol=0)


@pytest.mark.parametrize("assign_batch_size", [None, 7])
def test_fitting_computes_logits_in_the_batches_of_assignment(assign_batch_size):
    corpus = make_corpus()

    def function(h):
        return 9 * (h - h.mean(dim=0))[:, [2, 0, 1]].double()  # depends on the rest of the batch

    objective = initialized(corpus, function)
    objective.assign_batch_size = assign_batch_size
    objective.start_pseudo_labeling(corpus, 0)
    objective.fit_assigner(corpus, 0)
    assert objective.assign_by_head
    assert objective.batch_sizes == ([30] if assign_batch_size is None else [7, 7, 7, 7, 2])
    q = objective.assign_all(corpus.h.numpy())
    if assign_batch_size:  # in a fixed random order, with each result in the row of its item
        order = torch.randperm(30, generator=torch.Generator().manual_seed(0))
        expected = torch.cat([function(corpus.h[part]).softmax(dim=1) for part in order.split(7)])
        np.testing.assert_allclose(q[order], expected, atol=1e-12)
    labels = torch.from_numpy(q.argmax(axis=1))
    means = torch.stack([corpus.h[labels == k].mean(dim=0) for k in range(3)])
    torch.testing.assert_close(objective.centers, means, atol=1e-5, rtol=0)


def test_fitting_leaves_no_gradients():
    corpus = make_corpus()
    head = nn.Linear(4, 3).double()
    objective = initialized(corpus, lambda h: head(h.double()) + 9 * h[:, :3].double())
    objective.start_pseudo_labeling(corpus, 0)
    objective.fit_assigner(corpus, 0)
    assert objective.assign_by_head
    assert not any(buffer.requires_grad for buffer in objective.buffers())


# -- pseudo-labels


def test_the_initial_labels_stay_the_pseudo_labels():
    corpus = make_corpus(labels=swapped_labels())
    objective = initialized(corpus)
    objective.start_pseudo_labeling(corpus, 0)
    assert objective.head_trained
    assert torch.equal(objective.pseudo_labels, swapped_labels())


def test_kmeans_may_replace_them_but_only_before_the_head_is_trained():
    corpus = make_corpus(labels=swapped_labels())
    objective = initialized(corpus)
    objective.recluster_labels = True
    objective.start_pseudo_labeling(corpus, 0)
    mu = kmeans_centers(corpus.h, corpus.counts, 3, n_init=10, seed=0)
    assert torch.equal(objective.pseudo_labels, torch.cdist(corpus.h, mu).argmin(dim=1))
    assert objective.pseudo_labels[0] == objective.pseudo_labels[3]  # not so in the initial labels
    before = objective.pseudo_labels.clone()
    objective.start_pseudo_labeling(replace(corpus, h=corpus.h.flip(0)), 0)
    assert torch.equal(objective.pseudo_labels, before)


@pytest.mark.parametrize("seed", [0, 7])
def test_every_kmeans_gets_the_seed(monkeypatch, seed):
    corpus = make_corpus()
    seeds = []

    def spy(h, counts, n_clusters, *, seed, **options):
        seeds.append(seed)
        return corpus.means(n_clusters)

    monkeypatch.setattr(module, "kmeans_centers", spy)
    objective = initialized(corpus)
    objective.recluster(corpus, seed)
    objective.fit_assigner(corpus, seed)
    assert seeds == [seed, seed]


def test_transient_state_is_not_needed_for_assignment():
    objective = initialized(make_corpus())
    assert objective.transient == {"pseudo_labels", "head_trained"}
    assert objective.transient < set(objective.trained_state())
    assert {"assign_by_head", "classifier.offset", "nearest.mu", "nearest.scale"} <= set(objective.trained_state())
