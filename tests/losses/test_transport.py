"""The transport plan. The updates of the cluster sizes are tested in test_transport_marginals.py."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from transport_reference import column_sums, official_transport, random_log_p

from coterie.losses.transport import adaptive_transport


@pytest.mark.parametrize("marginal", ["barrier", "average", "multiplicative", "fixed"])
@pytest.mark.parametrize(("n", "n_clusters"), [(12, 4), (7, 7), (40, 2), (9, 1), (1, 3)])
def test_rows_sum_to_one_nth_and_columns_to_b(marginal, n, n_clusters):
    log_p = random_log_p(n, n_clusters)
    plan = adaptive_transport(log_p, epsilon=1.0, weight=0.05, marginal=marginal, tolerance=1e-6)
    assert plan.log_pi.shape == (n, n_clusters)
    torch.testing.assert_close(plan.log_pi.exp().sum(dim=1), torch.full((n,), 1 / n, dtype=torch.float64))
    torch.testing.assert_close(column_sums(plan), plan.b, atol=1e-6, rtol=0)
    assert float(plan.b.sum()) == pytest.approx(1, abs=1e-12)
    assert plan.labels.tolist() == plan.log_pi.argmax(dim=1).tolist()


@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-6])
def test_stops_soon_after_the_tolerance_is_reached(tolerance):
    plan = adaptive_transport(random_log_p(200, 5), epsilon=0.05, weight=0.05, tolerance=tolerance)
    difference = float((column_sums(plan) - plan.b).abs().sum())
    assert tolerance / 1000 < difference < tolerance


@pytest.mark.parametrize(("e2", "lam"), [(1.0, 10.0), (0.1, 1.0), (0.01, 0.1)])  # only the quotient 0.1 matters
def test_equals_the_fixed_point_of_the_official_code(e2, lam):
    log_p = random_log_p(12, 4, skew=0.5)
    expected, history = official_transport(log_p.exp().numpy(), epsilon=0.5, e2=e2, lam=lam, steps=300)
    plan = adaptive_transport(log_p, epsilon=0.5, weight=0.1, tolerance=1e-12)
    np.testing.assert_allclose(plan.b, history[-1], atol=1e-9)
    np.testing.assert_allclose(plan.log_pi.exp(), expected, atol=1e-9)
    assert plan.b.max() > 1.2 * plan.b.min()  # the sizes are not trivially equal


def test_is_the_minimum_of_the_optimization_problem():
    log_p = random_log_p(5, 3, skew=0.8)
    epsilon = 0.4
    weight = 0.03

    def objective(x):
        pi = x[:15].reshape(5, 3)
        b = x[15:]
        entropy = (pi * (np.log(pi) - 1)).sum()
        return -(pi * log_p.numpy()).sum() + epsilon * entropy - weight * (np.log(b) + np.log(1 - b)).sum()

    constraints = [
        {"type": "eq", "fun": lambda x: x[:15].reshape(5, 3).sum(axis=1) - 1 / 5},
        {"type": "eq", "fun": lambda x: x[:15].reshape(5, 3).sum(axis=0) - x[15:]},
    ]
    initial = np.r_[np.full(15, 1 / 15), np.full(3, 1 / 3)]
    best = minimize(
        objective,
        initial,
        method="SLSQP",
        constraints=constraints,
        bounds=[(1e-9, 1)] * 18,
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    plan = adaptive_transport(log_p, epsilon=epsilon, weight=weight, tolerance=1e-12)
    solution = np.r_[plan.log_pi.exp().numpy().ravel(), plan.b.numpy()]
    assert objective(solution) == pytest.approx(best.fun, abs=1e-7)
    np.testing.assert_allclose(solution, best.x, atol=1e-3)
    assert plan.b.max() > 1.5 * plan.b.min()


def test_equals_linear_programming_for_small_epsilon():
    log_p = random_log_p(9, 3, seed=3)
    b = torch.tensor([2 / 9, 3 / 9, 4 / 9], dtype=torch.float64)
    row_sums = np.kron(np.eye(9), np.ones(3))
    col_sums = np.kron(np.ones(9), np.eye(3))
    best = linprog(-log_p.numpy().ravel(), A_eq=np.r_[row_sums, col_sums], b_eq=np.r_[np.full(9, 1 / 9), b.numpy()])
    plan = adaptive_transport(log_p, epsilon=0.005, weight=1.0, b=b, marginal="fixed", tolerance=1e-6)
    np.testing.assert_allclose(plan.log_pi.exp(), best.x.reshape(9, 3), atol=1e-3)
    assert plan.labels.bincount().tolist() == [2, 3, 4]
    assert (plan.labels != log_p.argmax(dim=1)).any()  # the sizes are a binding constraint


@pytest.mark.parametrize("epsilon", [0.01, 0.1])
@pytest.mark.parametrize("scale", [3.0, 150.0])
def test_float32_is_accurate_enough(epsilon, scale):
    """Exponents reach -30000 here; exp underflows below -104."""
    log_p = random_log_p(300, 20, scale=scale)
    exact = adaptive_transport(log_p, epsilon=epsilon, weight=0.01)
    plan = adaptive_transport(log_p.float(), epsilon=epsilon, weight=0.01)
    assert plan.log_pi.dtype == torch.float32
    assert torch.isfinite(plan.log_pi).all()
    assert float((column_sums(plan) - plan.b).abs().sum()) < 5e-3
    torch.testing.assert_close(plan.b, exact.b, atol=2e-3, rtol=0)
    assert (plan.labels == exact.labels).float().mean() > 0.98


def test_a_cluster_without_probable_texts_still_receives_mass():
    log_p = random_log_p(60, 4)
    log_p[:, 3] = -400.0  # p is 0 in float32
    plan = adaptive_transport(log_p.float(), epsilon=0.1, weight=1.0)
    assert torch.isfinite(plan.log_pi).all()
    assert float(plan.b[3]) == pytest.approx(1 / 400, rel=0.05)  # the weight over the gap of log p
    assert float(column_sums(plan)[3] - plan.b[3]) == pytest.approx(0, abs=1e-3)
    assert float(column_sums(plan)[3]) > 1e-3


def test_inputs_are_not_modified():
    log_p = random_log_p()
    b = torch.tensor([0.1, 0.2, 0.3, 0.4])
    log_p_before = log_p.clone()
    b_before = b.clone()
    adaptive_transport(log_p, epsilon=1.0, weight=0.1, b=b)
    assert torch.equal(log_p, log_p_before)
    assert torch.equal(b, b_before)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 30),
    n_clusters=st.integers(1, 8),
    scale=st.floats(0, 30),
    epsilon=st.floats(0.02, 2),
    weight=st.floats(1e-5, 10),
)
def test_cluster_sizes_sum_to_one_and_are_between_zero_and_one(seed, n, n_clusters, scale, epsilon, weight):
    log_p = random_log_p(n, n_clusters, scale=scale, seed=seed)
    plan = adaptive_transport(log_p, epsilon=epsilon, weight=weight, tolerance=1e-2)
    assert torch.isfinite(plan.log_pi).all()
    assert float(plan.b.sum()) == pytest.approx(1, abs=1e-9)
    assert (plan.b > 0).all()
    assert (plan.b < 1).all() or n_clusters == 1


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_order_of_texts_and_clusters_does_not_matter(seed):
    log_p = random_log_p(15, 5, seed=seed, skew=0.4)
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randperm(15, generator=generator)
    columns = torch.randperm(5, generator=generator)
    options = {"epsilon": 0.2, "weight": 0.02, "tolerance": 1e-10}
    plan = adaptive_transport(log_p, **options)
    reordered = adaptive_transport(log_p[rows][:, columns], **options)
    torch.testing.assert_close(reordered.b, plan.b[columns], atol=1e-8, rtol=0)
    torch.testing.assert_close(reordered.log_pi.exp(), plan.log_pi[rows][:, columns].exp(), atol=1e-8, rtol=0)
