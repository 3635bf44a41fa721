import math

import numpy as np
import pytest
import torch

from coterie.contracts import Network, Objective
from coterie.evaluation.contrast import attention_across, contrast_scores, same_class_cosine
from coterie.methods.aecl import AECL, AECLObjective
from coterie.methods.sccl import SCCL, SCCLObjective


def attention(n, seed=0):
    s = np.random.default_rng(seed).random((n, n))
    return s / s.sum(axis=1, keepdims=True)


def test_attention_to_other_classes_is_equation_18():
    s, y = attention(7), np.array([0, 1, 0, 2, 1, 1, 0])
    expected = 0.0
    for i in range(7):
        for j in range(7):
            expected += (y[i] != y[j]) * s[i, j] / 7
    assert attention_across(s, y) == pytest.approx(expected)


def test_attention_to_one_class_is_none_to_others_and_to_other_classes_is_all():
    y = np.array([0, 0, 1, 1])
    same = (y[:, None] == y) / 2
    assert attention_across(same, y) == 0
    assert attention_across(same[:, ::-1], y) == pytest.approx(1)
    assert attention_across(attention(4), np.zeros(4)) == 0


def cosine_of_pairs(z, y):
    """The mean over all pairs of two different texts of one class."""
    found = []
    for i in range(len(z)):
        for j in range(len(z)):
            if i < j and y[i] == y[j]:
                found.append(z[i] @ z[j] / (np.linalg.norm(z[i]) * np.linalg.norm(z[j])))
    return sum(found) / len(found)


@pytest.mark.parametrize("y", [[0, 1, 0, 2, 1, 1, 0, 3], [5] * 8, [0, 0, 1, 2, 3, 4, 5, 6]])
def test_the_cosine_of_a_class_is_the_mean_over_its_pairs(y):
    z = np.random.default_rng(0).normal(size=(8, 3))
    assert same_class_cosine(z, np.array(y)) == pytest.approx(cosine_of_pairs(z, y))


def test_the_cosine_lies_between_opposite_and_equal():
    z = np.array([[1.0, 0], [5, 0], [0, 2], [0, 3]])
    assert same_class_cosine(z, np.array([0, 0, 1, 1])) == pytest.approx(1)
    assert same_class_cosine(z, np.array([0, 1, 0, 1])) == pytest.approx(0)
    assert same_class_cosine(np.array([[1.0, 0], [-2, 0]]), np.array([4, 4])) == pytest.approx(-1)


def test_where_no_class_has_two_texts_there_is_no_cosine():
    assert math.isnan(same_class_cosine(np.eye(3), np.arange(3)))


def test_a_row_of_zeros_has_cosine_zero_with_all():
    assert same_class_cosine(np.array([[0.0, 0], [1, 0]]), np.array([0, 0])) == 0


# -- of a method


def aecl(dim=6):
    torch.manual_seed(0)
    objective = AECLObjective(AECL(n_clusters=2), Network(dim))
    with torch.no_grad():
        objective.g_h.into.weight *= 8  # attention that prefers somebody
    return objective


def texts(n, dim=6):
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, dim)).astype(np.float32), rng.integers(3, size=n)


def test_a_method_with_attention_has_all_scores_and_they_are_without_dropout():
    objective, (h, y) = aecl().train(), texts(30)
    scores = contrast_scores(objective, h, y)
    objective.eval()
    with torch.no_grad():
        z = objective.g_z(torch.from_numpy(h))
        _, s = objective.g_h(z)
    assert scores.keys() == {"same_class_cosine", "ns", "ps"}
    assert scores["ns"] + scores["ps"] == pytest.approx(1)
    assert scores["ns"] == pytest.approx(attention_across(s.numpy(), y), abs=1e-5)
    assert scores["ps"] == pytest.approx(attention_across(s.numpy(), y) * -1 + 1, abs=1e-5)
    assert scores["same_class_cosine"] == pytest.approx(cosine_of_pairs(z.numpy(), y), abs=1e-5)


def test_what_a_text_attends_to_in_its_own_class_is_ps():
    objective, (h, y) = aecl().eval(), texts(30)
    s = objective.inside(torch.from_numpy(h))["s"].detach().numpy()
    own = sum(s[i, j] for i in range(30) for j in range(30) if y[i] == y[j]) / 30
    assert contrast_scores(objective, h, y)["ps"] == pytest.approx(own)


def test_many_texts_attend_to_each_other_in_batches_of_400_of_a_shuffle():
    h, y = texts(900)
    order = np.argsort(y)  # as in a file that is sorted by class
    h, y = h[order], y[order]
    seen = []

    class Watched(AECLObjective):
        def inside(self, h):
            seen.append(h.clone())
            return super().inside(h)

    objective = aecl()
    objective.__class__ = Watched
    scores = contrast_scores(objective, h, y)
    assert [len(part) for part in seen] == [300, 300, 300]
    place = {row.tobytes(): i for i, row in enumerate(h)}
    rows = [place[row.tobytes()] for row in torch.cat(seen).numpy()]
    assert sorted(rows) == list(range(900))
    parts = [np.array(part) for part in (rows[:300], rows[300:600], rows[600:])]
    assert all(len(np.unique(y[part])) == 3 for part in parts)
    ns = [attention_across(aecl().inside(torch.from_numpy(h[part]))["s"].detach().numpy(), y[part]) for part in parts]
    assert scores["ns"] == pytest.approx(np.mean(ns), abs=1e-6)
    z = aecl().inside(torch.from_numpy(h))["z"].detach().numpy()
    assert scores["same_class_cosine"] == pytest.approx(same_class_cosine(z, y), abs=1e-6)


def test_a_method_without_attention_has_the_cosine_of_what_it_contrasts():
    torch.manual_seed(0)
    objective, (h, y) = SCCLObjective(SCCL(n_clusters=2), Network(6)), texts(20)
    z = objective.g(torch.from_numpy(h)).detach().numpy()
    scores = contrast_scores(objective, h, y)
    assert scores.keys() == {"same_class_cosine"}
    assert scores["same_class_cosine"] == pytest.approx(cosine_of_pairs(z, y), abs=1e-5)


def test_a_method_that_says_nothing_is_judged_by_its_vectors():
    class Plain(Objective):
        def start(self, corpus, seed): ...

        @property
        def centers(self):
            return torch.zeros(2, 6)

        def assign(self, h): ...

    h, y = texts(20)
    assert contrast_scores(Plain(Network(6)), h, y)["same_class_cosine"] == pytest.approx(
        cosine_of_pairs(h, y), abs=1e-6
    )
