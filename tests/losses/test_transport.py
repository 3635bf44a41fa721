import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, linprog, minimize

from coterie.losses.transport import adaptive_transport, barrier_marginal, multiplicative_marginal

# -- what the release does, a text and a cluster at a time


def closed_form(difference, e2, lam):
    """b_j of (g_j - h), as it is printed."""
    x = difference * lam
    return (x + 2 * e2 - math.sqrt(x**2 + 4 * e2**2)) / (2 * x)


def level(g, e2, lam):
    """The h at which all b sum to one."""

    def excess(h):
        return sum(closed_form(g_j - h, e2, lam) if g_j != h else 0.5 for g_j in g) - 1

    return brentq(excess, min(g) - 1e4, max(g) + 1e4, xtol=1e-14)


def by_the_release(p, *, epsilon, e2, lam, steps):
    """Sinkhorn's two divisions, then b out of g; returns the plan, and every b on the way."""
    n, n_clusters = p.shape
    kernel = [[p[i][j] ** (1 / epsilon) for j in range(n_clusters)] for i in range(n)]
    b, u, history = [1 / n_clusters] * n_clusters, [1 / n] * n, []
    for _ in range(steps):
        v = [b[j] / sum(kernel[i][j] * u[i] for i in range(n)) for j in range(n_clusters)]
        u = [1 / n / sum(kernel[i][j] * v[j] for j in range(n_clusters)) for i in range(n)]
        g = [epsilon * math.log(v_j) for v_j in v]
        h = level(g, e2, lam)
        b = [closed_form(g_j - h, e2, lam) for g_j in g]
        history.append(b)
    return np.array([[u[i] * kernel[i][j] * v[j] for j in range(n_clusters)] for i in range(n)]), np.array(history)


def made_up(n=12, n_clusters=4, *, spread=1.5, seed=0, skew=0.0, dtype=torch.float64):
    """Return log p (N, K); with ``skew`` the first clusters are the likelier ones."""
    generator = torch.Generator().manual_seed(seed)
    logits = spread * torch.randn(n, n_clusters, generator=generator, dtype=torch.float64)
    return (logits - skew * torch.arange(n_clusters)).log_softmax(dim=1).to(dtype)


def columns(plan):
    return plan.log_pi.double().exp().sum(dim=0)


# -- the plan


@pytest.mark.parametrize("marginal", ["barrier", "average", "multiplicative", "fixed"])
@pytest.mark.parametrize(("n", "n_clusters"), [(12, 4), (7, 7), (40, 2), (9, 1), (1, 3)])
def test_rows_sum_to_one_nth_and_columns_to_b(marginal, n, n_clusters):
    plan = adaptive_transport(made_up(n, n_clusters), epsilon=1.0, weight=0.05, marginal=marginal, tolerance=1e-6)
    assert plan.log_pi.shape == (n, n_clusters)
    torch.testing.assert_close(plan.log_pi.exp().sum(dim=1), torch.full((n,), 1 / n, dtype=torch.float64))
    torch.testing.assert_close(columns(plan), plan.b, atol=1e-6, rtol=0)
    assert float(plan.b.sum()) == pytest.approx(1, abs=1e-12)
    assert plan.labels.tolist() == plan.log_pi.argmax(dim=1).tolist()


@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-6])
def test_it_ends_when_columns_are_near_enough_and_not_much_later(tolerance):
    plan = adaptive_transport(made_up(200, 5), epsilon=0.05, weight=0.05, tolerance=tolerance)
    off = float((columns(plan) - plan.b).abs().sum())
    assert tolerance / 1000 < off < tolerance


@pytest.mark.parametrize(("e2", "lam"), [(1.0, 10.0), (0.1, 1.0), (0.01, 0.1)])  # only the quotient 0.1 matters
def test_it_is_where_the_update_of_the_release_rests(e2, lam):
    log_p = made_up(12, 4, skew=0.5)
    expected, history = by_the_release(log_p.exp().numpy(), epsilon=0.5, e2=e2, lam=lam, steps=300)
    plan = adaptive_transport(log_p, epsilon=0.5, weight=0.1, tolerance=1e-12)
    np.testing.assert_allclose(plan.b, history[-1], atol=1e-9)
    np.testing.assert_allclose(plan.log_pi.exp(), expected, atol=1e-9)
    assert plan.b.max() > 1.2 * plan.b.min()  # neither equal sizes


def test_it_is_the_minimum_of_its_problem():
    log_p, epsilon, weight = made_up(5, 3, skew=0.8), 0.4, 0.03

    def cost(x):
        pi, b = x[:15].reshape(5, 3), x[15:]
        entropy = (pi * (np.log(pi) - 1)).sum()
        return -(pi * log_p.numpy()).sum() + epsilon * entropy - weight * (np.log(b) + np.log(1 - b)).sum()

    ties = [
        {"type": "eq", "fun": lambda x: x[:15].reshape(5, 3).sum(axis=1) - 1 / 5},
        {"type": "eq", "fun": lambda x: x[:15].reshape(5, 3).sum(axis=0) - x[15:]},
    ]
    start = np.r_[np.full(15, 1 / 15), np.full(3, 1 / 3)]
    found = minimize(
        cost, start, method="SLSQP", constraints=ties, bounds=[(1e-9, 1)] * 18, options={"ftol": 1e-14, "maxiter": 1000}
    )
    plan = adaptive_transport(log_p, epsilon=epsilon, weight=weight, tolerance=1e-12)
    ours = np.r_[plan.log_pi.exp().numpy().ravel(), plan.b.numpy()]
    assert cost(ours) == pytest.approx(found.fun, abs=1e-7)
    np.testing.assert_allclose(ours, found.x, atol=1e-3)
    assert plan.b.max() > 1.5 * plan.b.min()


def test_when_it_is_hard_it_is_the_plan_of_linear_programming():
    log_p, b = made_up(9, 3, seed=3), torch.tensor([2 / 9, 3 / 9, 4 / 9], dtype=torch.float64)
    rows, cols = np.kron(np.eye(9), np.ones(3)), np.kron(np.ones(9), np.eye(3))
    best = linprog(-log_p.numpy().ravel(), A_eq=np.r_[rows, cols], b_eq=np.r_[np.full(9, 1 / 9), b.numpy()])
    plan = adaptive_transport(log_p, epsilon=0.005, weight=1.0, b=b, marginal="fixed", tolerance=1e-6)
    np.testing.assert_allclose(plan.log_pi.exp(), best.x.reshape(9, 3), atol=1e-3)
    assert plan.labels.bincount().tolist() == [2, 3, 4]
    assert (plan.labels != log_p.argmax(dim=1)).any()  # the sizes did change something


@pytest.mark.parametrize("epsilon", [0.01, 0.1])
@pytest.mark.parametrize("far", [1.0, 50.0])
def test_single_precision_is_enough(epsilon, far):
    """Exponents reach -30000 here; exp underflows below -104."""
    log_p = made_up(300, 20, spread=3 * far)
    exact = adaptive_transport(log_p, epsilon=epsilon, weight=0.01)
    plan = adaptive_transport(log_p.float(), epsilon=epsilon, weight=0.01)
    assert plan.log_pi.dtype == torch.float32
    assert torch.isfinite(plan.log_pi).all()
    assert float((columns(plan) - plan.b).abs().sum()) < 5e-3
    torch.testing.assert_close(plan.b, exact.b, atol=2e-3, rtol=0)
    assert (plan.labels == exact.labels).float().mean() > 0.98


def test_a_cluster_that_is_nowhere_likely_gets_texts_all_the_same():
    log_p = made_up(60, 4)
    log_p[:, 3] = -400.0  # p is 0 in single precision
    plan = adaptive_transport(log_p.float(), epsilon=0.1, weight=1.0)
    assert torch.isfinite(plan.log_pi).all()
    assert float(plan.b[3]) == pytest.approx(1 / 400, rel=0.05)  # w over how far it is behind
    assert float(columns(plan)[3] - plan.b[3]) == pytest.approx(0, abs=1e-3)
    assert float(columns(plan)[3]) > 1e-3


def test_what_it_is_given_stays_as_it_is():
    log_p, b = made_up(), torch.tensor([0.1, 0.2, 0.3, 0.4])
    before, start = log_p.clone(), b.clone()
    adaptive_transport(log_p, epsilon=1.0, weight=0.1, b=b)
    assert torch.equal(log_p, before)
    assert torch.equal(b, start)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 30),
    n_clusters=st.integers(1, 8),
    spread=st.floats(0, 30),
    epsilon=st.floats(0.02, 2),
    weight=st.floats(1e-5, 10),
)
def test_sizes_sum_to_one_and_stay_inside(seed, n, n_clusters, spread, epsilon, weight):
    log_p = made_up(n, n_clusters, spread=spread, seed=seed)
    plan = adaptive_transport(log_p, epsilon=epsilon, weight=weight, tolerance=1e-2)
    assert torch.isfinite(plan.log_pi).all()
    assert float(plan.b.sum()) == pytest.approx(1, abs=1e-9)
    assert (plan.b > 0).all()
    assert (plan.b < 1).all() or n_clusters == 1


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_neither_the_order_of_texts_nor_that_of_clusters_matters(seed):
    log_p = made_up(15, 5, seed=seed, skew=0.4)
    generator = torch.Generator().manual_seed(seed)
    rows, cols = torch.randperm(15, generator=generator), torch.randperm(5, generator=generator)
    options = {"epsilon": 0.2, "weight": 0.02, "tolerance": 1e-10}
    plan, other = (adaptive_transport(x, **options) for x in (log_p, log_p[rows][:, cols]))
    torch.testing.assert_close(other.b, plan.b[cols], atol=1e-8, rtol=0)
    torch.testing.assert_close(other.log_pi.exp(), plan.log_pi[rows][:, cols].exp(), atol=1e-8, rtol=0)


# -- H1, the barrier


def test_clusters_that_are_equally_likely_get_equally_much():
    first = made_up(1, 6)
    log_p = torch.cat([first.roll(shift, dims=1) for shift in range(6)])  # every text six times, once for each cluster
    plan = adaptive_transport(log_p, epsilon=0.1, weight=1e-3, tolerance=1e-12)
    torch.testing.assert_close(plan.b, torch.full((6,), 1 / 6, dtype=torch.float64))
    assert torch.equal(plan.labels, log_p.argmax(dim=1))


def test_a_heavy_barrier_makes_sizes_equal():
    log_p = made_up(60, 4, skew=1.5)
    plan = adaptive_transport(log_p, epsilon=0.1, weight=1e4, tolerance=1e-9)
    torch.testing.assert_close(plan.b, torch.full((4,), 0.25, dtype=torch.float64), atol=1e-4, rtol=0)
    assert plan.labels.bincount(minlength=4).tolist() == pytest.approx([15] * 4, abs=1)
    assert log_p.argmax(dim=1).bincount(minlength=4).max() > 30


def test_without_a_barrier_texts_go_where_they_are_likeliest():
    log_p = made_up(60, 4, skew=1.5)
    plan = adaptive_transport(log_p, epsilon=0.1, weight=1e-9, tolerance=1e-9)
    free = (log_p / 0.1).softmax(dim=1)
    torch.testing.assert_close(plan.log_pi.exp(), free / 60, atol=1e-6, rtol=0)
    torch.testing.assert_close(plan.b, free.mean(dim=0), atol=1e-6, rtol=0)
    assert torch.equal(plan.labels, log_p.argmax(dim=1))


def test_the_heavier_the_barrier_the_more_equal_the_sizes():
    log_p = made_up(60, 4, skew=1.0)
    spread = [float(adaptive_transport(log_p, epsilon=0.1, weight=w).b.std()) for w in (1e-4, 1e-2, 1e-1, 1.0)]
    assert spread == sorted(spread, reverse=True)
    assert spread[0] > 3 * spread[-1]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), weight=st.sampled_from([1e-4, 1e-2, 1.0]))
def test_it_ends_the_same_wherever_it_starts(seed, weight):
    log_p = made_up(20, 4, seed=seed, skew=0.5)
    start = torch.rand(4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 1e-3
    options = {"epsilon": 0.2, "weight": weight, "tolerance": 1e-11}
    one, other = adaptive_transport(log_p, **options), adaptive_transport(log_p, b=start / start.sum(), **options)
    torch.testing.assert_close(one.b, other.b, atol=1e-8, rtol=0)


def test_sizes_given_at_the_start_do_not_end_it_by_chance():
    """They are the columns of the first plan here, but not what the barrier wants."""
    log_p = made_up(30, 3, skew=1.0)
    free = (log_p / 0.5).softmax(dim=1).mean(dim=0)
    plan = adaptive_transport(log_p, epsilon=0.5, weight=1.0, b=free)
    assert (plan.b - 1 / 3).abs().max() < 0.5 * (free - 1 / 3).abs().max()


@settings(max_examples=50, deadline=None)
@given(
    log_s=st.lists(st.floats(-300, 5), min_size=2, max_size=9),
    epsilon=st.floats(0.01, 1),
    weight=st.floats(1e-4, 1e3),
)
def test_the_learnt_sizes_have_the_closed_form_of_the_paper(log_s, epsilon, weight):
    log_s = torch.tensor(log_s, dtype=torch.float64)
    b = barrier_marginal(log_s, epsilon=epsilon, weight=weight)
    assert float(b.sum()) == pytest.approx(1, abs=1e-12)
    assert (b > 0).all()
    assert (b < 1).all()
    g = epsilon * (b.log() - log_s)
    rises = g - weight * (1 / b - 1 / (1 - b))  # each is h
    size = max(float(g.abs().max()), weight * float((1 / b + 1 / (1 - b)).max()))
    assert float(rises.max() - rises.min()) < 1e-5 * size  # 1 - b has few digits where b is nearly 1
    h = float(rises.median())
    for b_j, difference in zip(b.tolist(), (g - h).tolist(), strict=True):
        if 1e-3 * weight < abs(difference) < 1e3 * weight:  # elsewhere the printed quotient has no digits left
            assert closed_form(difference, weight, 1.0) == pytest.approx(b_j, abs=1e-6, rel=1e-4)
            assert 1 / (1 + math.exp(math.asinh(difference / (2 * weight)))) == pytest.approx(b_j, abs=1e-6, rel=1e-4)


def test_two_equal_clusters_get_a_half_where_the_quotient_is_0_over_0():
    b = barrier_marginal(torch.tensor([-0.3, -0.3], dtype=torch.float64), epsilon=0.1, weight=0.1)
    assert b.tolist() == pytest.approx([0.5, 0.5], abs=1e-12)
    with pytest.raises(ZeroDivisionError):
        closed_form(0.0, 0.1, 1.0)


def test_it_rests_where_the_update_of_the_release_circles():
    """With the release's numbers for Tweet: epsilon 0.1, e2 0.1, lambda 100, and a cluster of a third of the texts."""
    log_p = made_up(30, 4, spread=2.0, skew=0.8)
    _, history = by_the_release(log_p.exp().numpy(), epsilon=0.1, e2=0.1, lam=100, steps=120)
    last = np.abs(np.diff(history[-20:], axis=0)).sum(axis=1)
    assert last.min() > 0.05
    plan = adaptive_transport(log_p, epsilon=0.1, weight=0.001, tolerance=1e-9)
    torch.testing.assert_close(columns(plan), plan.b, atol=1e-8, rtol=0)
    g = 0.1 * (plan.log_pi[0] - log_p[0] / 0.1)  # up to a constant, which h takes in
    h = level(g.tolist(), 0.1, 100)
    np.testing.assert_allclose(plan.b, [closed_form(g_j - h, 0.1, 100) for g_j in g.tolist()], atol=1e-6)


# -- H2, H3 and equal sizes


def test_the_average_is_mostly_how_often_a_cluster_is_the_likeliest():
    log_p = made_up(50, 4, skew=0.5, seed=1)
    start = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64)
    labels = log_p.argmax(dim=1).tolist()
    assert list(dict.fromkeys(labels)) != [0, 1, 2, 3]  # they appear in another order, which the release goes by
    expected = [0.1 * b + 0.9 * labels.count(k) / 50 for k, b in enumerate(start.tolist())]
    plan = adaptive_transport(log_p, epsilon=0.5, weight=0.1, b=start, marginal="average", tolerance=1e-9)
    assert plan.b.tolist() == pytest.approx(expected)
    torch.testing.assert_close(columns(plan), plan.b, atol=1e-8, rtol=0)


def test_a_cluster_that_is_never_the_likeliest_keeps_a_tenth_of_its_average():
    log_p = made_up(50, 3)
    log_p[:, 2] = -300.0
    plan = adaptive_transport(log_p.float(), epsilon=0.1, weight=0.1, marginal="average")
    assert float(plan.b[2]) == pytest.approx(0.1 / 3)
    assert torch.isfinite(plan.log_pi).all()


@pytest.mark.parametrize("weight", [0.01, 0.1, 1.0])
def test_the_multiplicative_update_is_its_equation(weight):
    log_s, b = made_up(1, 5)[0], torch.tensor([0.1, 0.2, 0.3, 0.15, 0.25], dtype=torch.float64)
    new = multiplicative_marginal(log_s, epsilon=0.1, weight=weight, b=b)
    v = new / log_s.exp()
    share = [b_j * v_j ** (-0.1 / weight) for b_j, v_j in zip(b.tolist(), v.tolist(), strict=True)]
    assert new.tolist() == pytest.approx([s / sum(share) for s in share])
    assert not torch.allclose(new, b, atol=1e-3)


def test_multiplied_long_enough_sizes_follow_the_likeliest_clusters():
    log_p = made_up(60, 4, skew=1.5)
    plan = adaptive_transport(log_p, epsilon=0.1, weight=0.5, marginal="multiplicative", tolerance=1e-9)
    torch.testing.assert_close(plan.b, (log_p / 0.1).softmax(dim=1).mean(dim=0), atol=1e-6, rtol=0)
    assert torch.equal(plan.labels, log_p.argmax(dim=1))


def test_fixed_sizes_stay():
    log_p, b = made_up(60, 4, skew=1.5), torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
    for start, expected in ((None, torch.full((4,), 0.25, dtype=torch.float64)), (b, b)):
        plan = adaptive_transport(log_p, epsilon=0.2, weight=0.1, b=start, marginal="fixed", tolerance=1e-9)
        assert torch.equal(plan.b, expected)
        torch.testing.assert_close(columns(plan), expected, atol=1e-8, rtol=0)
