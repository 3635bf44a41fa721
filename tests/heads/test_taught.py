import numpy as np
import pytest
import torch
from torch import nn

from coterie.contracts import Corpus, Network
from coterie.heads.centers import kmeans_centers
from coterie.heads.classifier import Classifier
from coterie.heads.taught import TaughtObjective


class Told(TaughtObjective):
    """Its classifier says what it is told to of each text."""

    def __init__(self, n_clusters=3, dim=4):
        super().__init__(Network(dim), n_clusters, Classifier(dim, n_clusters, width=8))
        self.told = None
        self.asked = []

    def logits(self, h):
        self.asked.append(len(h))
        return self.told(h)


def made_up(n=30, n_clusters=3, labels=None):
    """Return texts around K corners, with groups that are a few texts off."""
    generator = torch.Generator().manual_seed(0)
    corner = torch.arange(n) % n_clusters
    h = 0.3 * torch.randn(n, 4, generator=generator) + 2 * torch.eye(n_clusters, 4)[corner]
    labels = corner.clone() if labels is None else labels
    return Corpus(h.numpy(), h, torch.ones(n, dtype=torch.long), labels)


def first_two_swapped(n=30):
    """Return groups by which the first two texts are in each other's place."""
    return torch.tensor([1, 0, *(torch.arange(n) % 3)[2:].tolist()])


def started(corpus, *, says=None, **options):
    objective = Told(**options)
    objective.start(corpus, 0)
    objective.told = says or (lambda h: 9 * h[:, [2, 0, 1]].double())  # sure of other names of the corners
    return objective


def test_it_starts_with_the_first_grouping_and_keeps_a_copy():
    corpus = made_up()
    objective = started(corpus)
    assert torch.equal(objective.groups, corpus.labels)
    objective.groups += 1
    assert torch.equal(corpus.labels, made_up().labels)


def test_until_it_is_taught_centers_file_texts_whatever_the_classifier_says():
    corpus = made_up(labels=first_two_swapped())
    objective = started(corpus)
    objective.finish(corpus, 0)
    assert not objective.by_classifier
    mu = kmeans_centers(corpus.h, corpus.counts, 3, seed=0, start=corpus.means(3))
    torch.testing.assert_close(objective.centers, mu)
    q = objective.assign(corpus.h)
    torch.testing.assert_close(q, objective.nearest(corpus.h))
    assert torch.equal(q.argmax(dim=1), torch.cdist(corpus.h, mu).argmin(dim=1))


def test_taught_it_files_texts_itself_and_centers_are_the_means_of_what_it_files():
    corpus = made_up()
    counts = torch.arange(1, 31)
    corpus = Corpus(corpus.items, corpus.h, counts, corpus.labels)
    objective = started(corpus)
    objective.begin_to_teach(corpus)
    objective.finish(corpus, 0)
    assert objective.by_classifier
    labels = objective.assign(corpus.h).argmax(dim=1)
    assert torch.equal(labels, corpus.h[:, [2, 0, 1]].argmax(dim=1))
    torch.testing.assert_close(objective.assign(corpus.h), objective.told(corpus.h).softmax(dim=1))
    for k in range(3):
        own = labels == k
        mean = np.average(corpus.h[own].numpy(), axis=0, weights=counts[own].numpy())
        np.testing.assert_allclose(objective.centers[k], mean, atol=1e-5)


def test_taught_but_with_a_group_that_it_never_chooses_centers_file_texts():
    corpus = made_up()
    objective = started(corpus, says=lambda h: 9 * h[:, :3].double() - torch.tensor([0.0, 0.0, 99.0]))
    objective.begin_to_teach(corpus)
    objective.finish(corpus, 0)
    assert not objective.by_classifier
    assert len(objective.assign(corpus.h).argmax(dim=1).unique()) == 3


def test_it_may_lose_and_regain_the_right_to_file_texts():
    corpus = made_up()
    objective = started(corpus)
    objective.begin_to_teach(corpus)
    good, seen = objective.told, []
    for says in (good, lambda h: torch.zeros(len(h), 3).double(), good):
        objective.told = says
        objective.finish(corpus, 0)
        seen.append(bool(objective.by_classifier))
    assert seen == [True, False, True]


def test_one_group_of_many_that_it_misses_is_raised():
    corpus = made_up(60, labels=torch.arange(60) % 12)
    logits = torch.rand(60, 12, generator=torch.Generator().manual_seed(0)).double() + 4 * torch.eye(12)[corpus.labels]
    logits[:, 7] -= 6
    assert 7 not in logits.argmax(dim=1)
    objective = started(corpus, n_clusters=12, says=lambda h: logits)
    objective.begin_to_teach(corpus)
    objective.finish(corpus, 0)
    assert objective.by_classifier
    labels = objective.assign(corpus.h).argmax(dim=1)
    assert len(labels.unique()) == 12
    means = torch.stack([corpus.h[labels == k].mean(dim=0) for k in range(12)])
    torch.testing.assert_close(objective.centers, means, atol=1e-5, rtol=0)


def test_groups_are_kept_when_teaching_begins():
    corpus = made_up(labels=first_two_swapped())
    objective = started(corpus)
    objective.begin_to_teach(corpus)
    assert objective.taught
    assert torch.equal(objective.groups, first_two_swapped())


def test_or_made_anew_by_kmeans_as_the_vectors_are_now_but_only_the_first_time():
    corpus = made_up(labels=first_two_swapped())
    objective = started(corpus)
    objective.anew = True
    objective.begin_to_teach(corpus)
    mu = kmeans_centers(corpus.h, corpus.counts, 3, n_init=10, seed=0)
    assert torch.equal(objective.groups, torch.cdist(corpus.h, mu).argmin(dim=1))
    assert objective.groups[0] != objective.groups[1]
    assert objective.groups[0] == objective.groups[3]  # which the first groups had otherwise
    frozen = objective.groups.clone()
    objective.begin_to_teach(Corpus(corpus.items, corpus.h.flip(0), corpus.counts, corpus.labels))
    assert torch.equal(objective.groups, frozen)


def test_a_checkpoint_has_the_groups_and_a_saved_model_needs_none():
    objective = started(made_up())
    assert objective.scratch == {"groups", "taught"}
    assert objective.scratch < set(objective.learnt())
    assert {"by_classifier", "classifier.offset", "nearest.mu", "nearest.scale"} <= set(objective.learnt())


@pytest.mark.parametrize("together", [None, 7])
def test_the_classifier_is_asked_as_it_files(together):
    """What decides who files texts, and where the centers are, is what it says when it files them."""
    corpus = made_up()
    objective = started(corpus, says=lambda h: 9 * (h - h.mean(dim=0))[:, [2, 0, 1]].double())  # depends on the rest
    objective.together = together
    objective.begin_to_teach(corpus)
    objective.finish(corpus, 0)
    assert objective.by_classifier
    assert objective.asked == ([30] if together is None else [7, 7, 7, 7, 2])
    q = objective.assign_all(corpus.h.numpy())
    if together:  # in a fixed shuffle, and each answer in its text's place
        order = torch.randperm(30, generator=torch.Generator().manual_seed(0))
        expected = torch.cat([objective.told(corpus.h[part]).softmax(dim=1) for part in order.split(7)])
        np.testing.assert_allclose(q[order], expected, atol=1e-12)
    labels = torch.from_numpy(q.argmax(axis=1))
    means = torch.stack([corpus.h[labels == k].mean(dim=0) for k in range(3)])
    torch.testing.assert_close(objective.centers, means, atol=1e-5, rtol=0)


def test_finish_leaves_no_trace_of_gradients():
    corpus = made_up()
    head = nn.Linear(4, 3).double()
    objective = started(corpus, says=lambda h: head(h.double()) + 9 * h[:, :3].double())
    objective.begin_to_teach(corpus)
    objective.finish(corpus, 0)
    assert objective.by_classifier
    assert not any(buffer.requires_grad for buffer in objective.buffers())
