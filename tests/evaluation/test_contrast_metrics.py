import math

import numpy as np
import pytest
import torch

from coterie.contracts import Network, Objective
from coterie.evaluation.contrast_metrics import attention_to_other_classes, contrast_scores, same_class_cosine
from coterie.methods.aecl import AECL, AECLObjective
from coterie.methods.sccl import SCCL, SCCLObjective


def random_attention(n, seed=0):
    s = np.random.default_rng(seed).random((n, n))
    return s / s.sum(axis=1, keepdims=True)


def slow_same_class_cosine(z, y):
    """The mean over all pairs of two different rows of one class."""
    cosines = []
    for i in range(len(z)):
        for j in range(i + 1, len(z)):
            if y[i] == y[j]:
                cosines.append(z[i] @ z[j] / (np.linalg.norm(z[i]) * np.linalg.norm(z[j])))
    return sum(cosines) / len(cosines)


# -- attention_to_other_classes


def test_attention_to_other_classes_equals_slow_loop():
    s = random_attention(7)
    y = np.array([0, 1, 0, 2, 1, 1, 0])
    expected = 0.0
    for i in range(7):
        for j in range(7):
            expected += (y[i] != y[j]) * s[i, j] / 7
    assert attention_to_other_classes(s, y) == pytest.approx(expected)


def test_attention_to_other_classes_is_zero_within_a_class_and_one_across_classes():
    y = np.array([0, 0, 1, 1])
    within = (y[:, None] == y) / 2
    assert attention_to_other_classes(within, y) == 0
    assert attention_to_other_classes(within[:, ::-1], y) == pytest.approx(1)
    assert attention_to_other_classes(random_attention(4), np.zeros(4)) == 0


# -- same_class_cosine


@pytest.mark.parametrize("y", [[0, 1, 0, 2, 1, 1, 0, 3], [5] * 8, [0, 0, 1, 2, 3, 4, 5, 6]])
def test_same_class_cosine_equals_slow_loop(y):
    z = np.random.default_rng(0).normal(size=(8, 3))
    assert same_class_cosine(z, np.array(y)) == pytest.approx(slow_same_class_cosine(z, y))


def test_same_class_cosine_of_parallel_orthogonal_and_opposite_rows():
    z = np.array([[1.0, 0], [5, 0], [0, 2], [0, 3]])
    assert same_class_cosine(z, np.array([0, 0, 1, 1])) == pytest.approx(1)
    assert same_class_cosine(z, np.array([0, 1, 0, 1])) == pytest.approx(0)
    assert same_class_cosine(np.array([[1.0, 0], [-2, 0]]), np.array([4, 4])) == pytest.approx(-1)


def test_same_class_cosine_is_nan_if_no_class_has_two_rows():
    assert math.isnan(same_class_cosine(np.eye(3), np.arange(3)))


def test_same_class_cosine_of_a_row_of_zeros_is_zero():
    assert same_class_cosine(np.array([[0.0, 0], [1, 0]]), np.array([0, 0])) == 0


# -- contrast_scores


def aecl_objective(dim=6):
    torch.manual_seed(0)
    objective = AECLObjective(AECL(n_clusters=2), Network(dim))
    with torch.no_grad():
        objective.g_h.into.weight *= 8  # attention that is far from uniform
    return objective


def random_vectors(n, dim=6):
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, dim)).astype(np.float32), rng.integers(3, size=n)


def attention_of(objective, h):
    return objective.diagnostics(torch.from_numpy(h))["s"].detach().numpy()


def test_scores_of_a_method_with_attention_are_computed_without_dropout():
    objective = aecl_objective().train()
    h, y = random_vectors(30)
    scores = contrast_scores(objective, h, y)
    objective.eval()
    with torch.no_grad():
        z = objective.g_z(torch.from_numpy(h))
        _, s = objective.g_h(z)
    assert scores.keys() == {"same_class_cosine", "ns", "ps"}
    assert scores["ns"] == pytest.approx(attention_to_other_classes(s.numpy(), y), abs=1e-5)
    assert scores["same_class_cosine"] == pytest.approx(slow_same_class_cosine(z.numpy(), y), abs=1e-5)


def test_ps_is_the_attention_to_the_own_class():
    objective = aecl_objective().eval()
    h, y = random_vectors(30)
    s = attention_of(objective, h)
    own_class = sum(s[i, j] for i in range(30) for j in range(30) if y[i] == y[j]) / 30
    assert contrast_scores(objective, h, y)["ps"] == pytest.approx(own_class)


def test_large_data_are_shuffled_and_split_into_batches_of_at_most_400():
    h, y = random_vectors(900)
    order = np.argsort(y)  # like a file that is sorted by class
    h = h[order]
    y = y[order]
    batches = []

    class RecordingObjective(AECLObjective):
        def diagnostics(self, h):
            batches.append(h.clone())
            return super().diagnostics(h)

    objective = aecl_objective()
    objective.__class__ = RecordingObjective
    scores = contrast_scores(objective, h, y)
    assert [len(batch) for batch in batches] == [300, 300, 300]
    row_number = {row.tobytes(): i for i, row in enumerate(h)}
    rows = [np.array([row_number[row.tobytes()] for row in batch.numpy()]) for batch in batches]
    assert sorted(np.concatenate(rows).tolist()) == list(range(900))
    assert all(len(np.unique(y[batch_rows])) == 3 for batch_rows in rows)
    ns = [attention_to_other_classes(attention_of(aecl_objective(), h[r]), y[r]) for r in rows]
    assert scores["ns"] == pytest.approx(np.mean(ns), abs=1e-6)
    z = aecl_objective().diagnostics(torch.from_numpy(h))["z"].detach().numpy()
    assert scores["same_class_cosine"] == pytest.approx(same_class_cosine(z, y), abs=1e-6)


def test_a_method_without_attention_has_the_cosine_of_its_projections_only():
    torch.manual_seed(0)
    objective = SCCLObjective(SCCL(n_clusters=2), Network(6))
    h, y = random_vectors(20)
    z = objective.g(torch.from_numpy(h)).detach().numpy()
    scores = contrast_scores(objective, h, y)
    assert scores.keys() == {"same_class_cosine"}
    assert scores["same_class_cosine"] == pytest.approx(slow_same_class_cosine(z, y), abs=1e-5)


def test_an_objective_without_diagnostics_of_its_own_is_scored_by_its_vectors():
    class PlainObjective(Objective):
        def initialize(self, corpus, seed): ...

        @property
        def centers(self):
            return torch.zeros(2, 6)

        def assign(self, h): ...

    h, y = random_vectors(20)
    scores = contrast_scores(PlainObjective(Network(6)), h, y)
    assert scores["same_class_cosine"] == pytest.approx(slow_same_class_cosine(h, y), abs=1e-6)
