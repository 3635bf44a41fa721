"""The updates of the cluster sizes in adaptive transport: barrier, average, multiplicative, fixed."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transport_reference import closed_form, column_sums, multiplier, official_transport, random_log_p

from coterie.losses.transport import adaptive_transport, barrier_marginal, multiplicative_marginal

# -- barrier, RSTC's H1


def test_barrier_gives_equal_sizes_to_equally_probable_clusters():
    first = random_log_p(1, 6)
    log_p = torch.cat([first.roll(shift, dims=1) for shift in range(6)])  # the same row, shifted to every cluster
    plan = adaptive_transport(log_p, epsilon=0.1, weight=1e-3, tolerance=1e-12)
    torch.testing.assert_close(plan.b, torch.full((6,), 1 / 6, dtype=torch.float64))
    assert torch.equal(plan.labels, log_p.argmax(dim=1))


def test_barrier_with_a_large_weight_makes_sizes_equal():
    log_p = random_log_p(60, 4, skew=1.5)
    plan = adaptive_transport(log_p, epsilon=0.1, weight=1e4, tolerance=1e-9)
    torch.testing.assert_close(plan.b, torch.full((4,), 0.25, dtype=torch.float64), atol=1e-4, rtol=0)
    assert plan.labels.bincount(minlength=4).tolist() == pytest.approx([15] * 4, abs=1)
    assert log_p.argmax(dim=1).bincount(minlength=4).max() > 30


def test_barrier_with_a_tiny_weight_assigns_texts_to_their_most_probable_cluster():
    log_p = random_log_p(60, 4, skew=1.5)
    plan = adaptive_transport(log_p, epsilon=0.1, weight=1e-9, tolerance=1e-9)
    unconstrained = (log_p / 0.1).softmax(dim=1)
    torch.testing.assert_close(plan.log_pi.exp(), unconstrained / 60, atol=1e-6, rtol=0)
    torch.testing.assert_close(plan.b, unconstrained.mean(dim=0), atol=1e-6, rtol=0)
    assert torch.equal(plan.labels, log_p.argmax(dim=1))


def test_barrier_sizes_become_more_equal_with_the_weight():
    log_p = random_log_p(60, 4, skew=1.0)
    deviations = [float(adaptive_transport(log_p, epsilon=0.1, weight=w).b.std()) for w in (1e-4, 1e-2, 1e-1, 1.0)]
    assert deviations == sorted(deviations, reverse=True)
    assert deviations[0] > 3 * deviations[-1]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), weight=st.sampled_from([1e-4, 1e-2, 1.0]))
def test_barrier_does_not_depend_on_the_initial_sizes(seed, weight):
    log_p = random_log_p(20, 4, seed=seed, skew=0.5)
    initial = torch.rand(4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 1e-3
    options = {"epsilon": 0.2, "weight": weight, "tolerance": 1e-11}
    default = adaptive_transport(log_p, **options)
    other = adaptive_transport(log_p, b=initial / initial.sum(), **options)
    torch.testing.assert_close(default.b, other.b, atol=1e-8, rtol=0)


def test_initial_sizes_that_equal_the_first_column_sums_do_not_stop_the_algorithm():
    """They are the column sums of the first plan, but not the minimum."""
    log_p = random_log_p(30, 3, skew=1.0)
    initial = (log_p / 0.5).softmax(dim=1).mean(dim=0)
    plan = adaptive_transport(log_p, epsilon=0.5, weight=1.0, b=initial)
    assert (plan.b - 1 / 3).abs().max() < 0.5 * (initial - 1 / 3).abs().max()


@settings(max_examples=50, deadline=None)
@given(
    log_s=st.lists(st.floats(-300, 5), min_size=2, max_size=9),
    epsilon=st.floats(0.01, 1),
    weight=st.floats(1e-4, 1e3),
)
def test_barrier_marginal_has_the_closed_form_of_the_paper(log_s, epsilon, weight):
    log_s = torch.tensor(log_s, dtype=torch.float64)
    b = barrier_marginal(log_s, epsilon=epsilon, weight=weight)
    assert float(b.sum()) == pytest.approx(1, abs=1e-12)
    assert (b > 0).all()
    assert (b < 1).all()
    g = epsilon * (b.log() - log_s)
    multipliers = g - weight * (1 / b - 1 / (1 - b))  # each is h
    magnitude = max(float(g.abs().max()), weight * float((1 / b + 1 / (1 - b)).max()))
    assert float(multipliers.max() - multipliers.min()) < 1e-5 * magnitude  # 1 - b loses precision for b near 1
    h = float(multipliers.median())
    for b_j, difference in zip(b.tolist(), (g - h).tolist(), strict=True):
        if 1e-3 * weight < abs(difference) < 1e3 * weight:  # elsewhere the quotient of the paper loses precision
            assert closed_form(difference, weight, 1.0) == pytest.approx(b_j, abs=1e-6, rel=1e-4)
            assert 1 / (1 + math.exp(math.asinh(difference / (2 * weight)))) == pytest.approx(b_j, abs=1e-6, rel=1e-4)


def test_barrier_marginal_of_two_equal_clusters_is_a_half():
    """The quotient of the paper is 0/0 here."""
    b = barrier_marginal(torch.tensor([-0.3, -0.3], dtype=torch.float64), epsilon=0.1, weight=0.1)
    assert b.tolist() == pytest.approx([0.5, 0.5], abs=1e-12)


def test_barrier_converges_where_the_official_code_oscillates():
    """With the official settings for Tweet: epsilon 0.1, e2 0.1, lambda 100, and a cluster of a third of the texts."""
    log_p = random_log_p(30, 4, scale=2.0, skew=0.8)
    _, history = official_transport(log_p.exp().numpy(), epsilon=0.1, e2=0.1, lam=100, steps=120)
    last_changes = np.abs(np.diff(history[-20:], axis=0)).sum(axis=1)
    assert last_changes.min() > 0.05
    plan = adaptive_transport(log_p, epsilon=0.1, weight=0.001, tolerance=1e-9)
    torch.testing.assert_close(column_sums(plan), plan.b, atol=1e-8, rtol=0)
    g = 0.1 * (plan.log_pi[0] - log_p[0] / 0.1)  # up to a constant, which h absorbs
    h = multiplier(g.tolist(), 0.1, 100)
    np.testing.assert_allclose(plan.b, [closed_form(g_j - h, 0.1, 100) for g_j in g.tolist()], atol=1e-6)


# -- average, RSTC's H2


def test_average_is_mostly_the_share_of_texts_per_most_probable_cluster():
    log_p = random_log_p(50, 4, skew=0.5, seed=1)
    initial = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64)
    labels = log_p.argmax(dim=1).tolist()
    assert list(dict.fromkeys(labels)) != [0, 1, 2, 3]  # the official code depends on the order of appearance
    expected = [0.1 * b + 0.9 * labels.count(k) / 50 for k, b in enumerate(initial.tolist())]
    plan = adaptive_transport(log_p, epsilon=0.5, weight=0.1, b=initial, marginal="average", tolerance=1e-9)
    assert plan.b.tolist() == pytest.approx(expected)
    torch.testing.assert_close(column_sums(plan), plan.b, atol=1e-8, rtol=0)


def test_average_keeps_a_tenth_of_the_initial_size_for_a_cluster_that_is_never_the_most_probable():
    log_p = random_log_p(50, 3)
    log_p[:, 2] = -300.0
    plan = adaptive_transport(log_p.float(), epsilon=0.1, weight=0.1, marginal="average")
    assert float(plan.b[2]) == pytest.approx(0.1 / 3)
    assert torch.isfinite(plan.log_pi).all()


# -- multiplicative, RSTC's H3


@pytest.mark.parametrize("weight", [0.01, 0.1, 1.0])
def test_multiplicative_marginal_satisfies_its_equation(weight):
    log_s = random_log_p(1, 5)[0]
    b = torch.tensor([0.1, 0.2, 0.3, 0.15, 0.25], dtype=torch.float64)
    new = multiplicative_marginal(log_s, epsilon=0.1, weight=weight, b=b)
    v = new / log_s.exp()
    share = [b_j * v_j ** (-0.1 / weight) for b_j, v_j in zip(b.tolist(), v.tolist(), strict=True)]
    assert new.tolist() == pytest.approx([s / sum(share) for s in share])
    assert not torch.allclose(new, b, atol=1e-3)


def test_multiplicative_converges_to_the_most_probable_clusters():
    log_p = random_log_p(60, 4, skew=1.5)
    plan = adaptive_transport(log_p, epsilon=0.1, weight=0.5, marginal="multiplicative", tolerance=1e-9)
    torch.testing.assert_close(plan.b, (log_p / 0.1).softmax(dim=1).mean(dim=0), atol=1e-6, rtol=0)
    assert torch.equal(plan.labels, log_p.argmax(dim=1))


# -- fixed


def test_fixed_sizes_do_not_change():
    log_p = random_log_p(60, 4, skew=1.5)
    equal = torch.full((4,), 0.25, dtype=torch.float64)
    unequal = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
    for initial, expected in ((None, equal), (unequal, unequal)):
        plan = adaptive_transport(log_p, epsilon=0.2, weight=0.1, b=initial, marginal="fixed", tolerance=1e-9)
        assert torch.equal(plan.b, expected)
        torch.testing.assert_close(column_sums(plan), expected, atol=1e-8, rtol=0)
