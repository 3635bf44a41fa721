import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.losses.similarity import (
    View,
    by_confidence,
    confident,
    similarity_as_coded,
    similarity_contrast,
    similarity_guided,
)

# -- the equations, a text at a time; h of the paper is c here


def e(x, y, tau):
    """exp(sim(x, y) / tau), Eq. 8."""
    return torch.exp(x @ y / (x.norm() * y.norm()) / tau)


def as_printed(views, groups, tau):
    """Eq. 6, 7 and 9."""
    (z_0, _, _), (z_1, _, _) = views
    n, total = len(z_0), 0.0
    for i in range(n):
        others = [k for k in range(n) if k != i]
        alike = [j for j in range(n) if groups[j] == groups[i]]  # i itself is one of them
        l_1 = e(z_0[i], z_1[i], tau) / sum(e(z_0[i], z_0[k], tau) + e(z_0[i], z_1[k], tau) for k in others)
        l_1 = l_1 + e(z_1[i], z_0[i], tau) / sum(e(z_1[i], z_1[k], tau) + e(z_1[i], z_0[k], tau) for k in others)
        for z, c, s in views:
            by_z = sum(s[i, j] * e(z[i], c[j], tau) for j in alike)
            by_c = sum(s[i, j] * e(c[i], z[j], tau) for j in alike)
            l_2 = by_z / sum(e(z[i], z[k], tau) + e(z[i], c[k], tau) for k in others)
            l_2 = l_2 + by_c / sum(e(c[i], c[k], tau) + e(c[i], z[k], tau) for k in others)
            total = total - torch.log(l_1 + l_2)
    return total / (2 * n)


def without_eq_7(views, tau):
    (z_0, _, _), (z_1, _, _) = views
    n, total = len(z_0), 0.0
    for i in range(n):
        others = [k for k in range(n) if k != i]
        forth = e(z_0[i], z_1[i], tau) / sum(e(z_0[i], z_0[k], tau) + e(z_0[i], z_1[k], tau) for k in others)
        back = e(z_1[i], z_0[i], tau) / sum(e(z_1[i], z_1[k], tau) + e(z_1[i], z_0[k], tau) for k in others)
        total = total - torch.log(forth + back)
    return total / n


def as_released(views, groups, tau, *, broadcast):
    """What the release does, a row and a column at a time: rows 0..n-1 are z (or view 0), n..2n-1 are c (or view 1)."""
    n = len(groups)
    rows = range(2 * n)

    def negatives(a, r):
        return sum(e(a[r], a[c], tau) for c in rows if c % n != r % n)

    both = [*views[0].z, *views[1].z]
    p = [e(both[r], both[(r + n) % (2 * n)], tau) for r in rows]
    d = [negatives(both, r) for r in rows]
    losses = []
    for z, c, s in views:
        a, soft = [*z, *c], []
        for r in rows:
            top = 0.0
            for k in rows:
                weight = (0.0 if r == k else s[r % n, k % n]) + 1e-5
                top = top + e(a[r], a[k], tau) * weight * float(groups[r % n] == groups[k % n])
            soft.append(top / negatives(a, r))
        pairs = [(r, k) for r in rows for k in rows] if broadcast else [(r, r) for r in rows]
        losses.append(-sum(torch.log(soft[k] + p[r] / d[k]) for r, k in pairs) / len(pairs))
    return sum(losses) / 2


def made_up(n=5, dim=4, *, seed=0, dtype=torch.float32):
    """Return two views whose S is not symmetric, and two groups."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    views = [View(draw(n, dim), draw(n, dim), draw(n, n).softmax(dim=1)) for _ in range(2)]
    return [View(*(part.to(dtype) for part in view)) for view in views], torch.arange(n) % 2


def pairs(groups):
    return (groups[:, None] == groups).float()


def learning(views):
    return [View(*(part.clone().requires_grad_() for part in view)) for view in views]


LOSSES = {
    "printed": (similarity_guided, lambda v, y, tau: as_printed(v, y, tau)),
    "released": (
        lambda v, same, tau: similarity_as_coded(v, same, tau=tau, broadcast=True),
        lambda v, y, tau: as_released(v, y, tau, broadcast=True),
    ),
    "mended": (
        lambda v, same, tau: similarity_as_coded(v, same, tau=tau, broadcast=False),
        lambda v, y, tau: as_released(v, y, tau, broadcast=False),
    ),
    "alone": (
        lambda v, same, tau: similarity_contrast(v, same, tau=tau, form="alone"),
        lambda v, y, tau: without_eq_7(v, tau),
    ),
}
each_loss = pytest.mark.parametrize("name", LOSSES)


@each_loss
@pytest.mark.parametrize("tau", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("n", [2, 5])
def test_equals_its_equation(name, tau, n):
    fast, slow = LOSSES[name]
    views, groups = made_up(n)
    loss = fast(views, pairs(groups), tau=tau)
    assert loss.shape == ()
    double, _ = made_up(n, dtype=torch.float64)
    torch.testing.assert_close(loss.double(), slow(double, groups, tau), rtol=1e-5, atol=1e-5)


@each_loss
def test_gradients_equal_those_of_the_equation(name):
    fast, slow = LOSSES[name]
    views, groups = made_up(4)
    ours, theirs = learning(views), learning(made_up(4, dtype=torch.float64)[0])
    fast(ours, pairs(groups), tau=0.5).backward()
    slow(theirs, groups, 0.5).backward()
    for view, expected in zip(ours, theirs, strict=True):
        for part in ["z"] if name == "alone" else ["z", "c", "s"]:
            gradient, right = getattr(view, part).grad, getattr(expected, part).grad
            assert float(right.norm()) > 1e-3, part
            torch.testing.assert_close(gradient.double(), right, rtol=1e-3, atol=1e-5)


def test_a_form_is_its_loss():
    views, groups = made_up()
    same = pairs(groups)
    values = {form: similarity_contrast(views, same, tau=0.5, form=form) for form in ("paper", "code", "alone")}
    assert torch.equal(values["paper"], similarity_guided(views, same, tau=0.5))
    assert torch.equal(values["code"], similarity_as_coded(views, same, tau=0.5, broadcast=True))
    assert len({round(float(value), 4) for value in values.values()}) == 3


def test_the_missing_dimension_of_the_release_changes_the_loss():
    views, groups = made_up()
    with_it, without = (similarity_as_coded(views, pairs(groups), tau=0.5, broadcast=b) for b in (True, False))
    assert abs(float(with_it - without)) > 0.01


# -- closed forms


def all_alike(n, own=0.0):
    """Views whose rows are all the same; S gives ``own`` to a text itself and the rest evenly to the others."""
    row = torch.tensor([[0.3, -2.0, 1.0]]).repeat(n, 1)
    s = torch.full((n, n), (1 - own) / (n - 1)).fill_diagonal_(own)
    return [View(row, 3 * row, s)] * 2


@pytest.mark.parametrize("n", [2, 3, 50])
@pytest.mark.parametrize("tau", [0.1, 1.0])
def test_when_all_rows_are_alike_l_1_is_2_of_2n_less_2(n, tau):
    loss = similarity_contrast(all_alike(n), torch.ones(n, n), tau=tau, form="alone")
    assert math.exp(-float(loss)) == pytest.approx(2 / (2 * n - 2), rel=1e-5)


@pytest.mark.parametrize("n", [2, 3, 50])
def test_when_all_rows_are_alike_l_2_is_as_much_again_for_a_group_of_all(n):
    loss = similarity_guided(all_alike(n, 0.4), torch.ones(n, n), tau=0.5)
    assert math.exp(-float(loss)) == pytest.approx(4 / (2 * n - 2), rel=1e-5)


def test_a_group_of_one_counts_what_a_text_attends_to_itself():
    loss = similarity_guided(all_alike(6, 0.4), torch.eye(6), tau=0.5)
    assert math.exp(-float(loss)) == pytest.approx((2 + 2 * 0.4) / 10, rel=1e-5)


@pytest.mark.parametrize("broadcast", [True, False])
def test_the_release_leaves_out_what_a_text_attends_to_itself_once_and_adds_a_little(broadcast):
    n, own = 6, 0.4
    loss = similarity_as_coded(all_alike(n, own), torch.ones(n, n), tau=0.5, broadcast=broadcast)
    soft = (2 - own + 2 * n * 1e-5) / (2 * n - 2)  # of the two times S_ii in a row, z-c is left
    assert math.exp(-float(loss)) == pytest.approx(soft + 1 / (2 * n - 2), rel=1e-5)


def test_the_loss_falls_when_attention_goes_to_the_own_group():
    views, groups = made_up(6)
    same = pairs(groups)

    def attending(s):
        return similarity_guided([view._replace(s=s) for view in views], same, tau=0.5)

    assert attending(same / 3) < attending(torch.full((6, 6), 1 / 6)) < attending((1 - same) / 3)


def test_the_loss_has_no_lower_bound_because_positives_are_not_among_the_negatives():
    z = torch.eye(4)
    views = [View(z, z, z)] * 2
    assert float(similarity_guided(views, torch.eye(4), tau=0.1)) < -5


# -- symmetries


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 6), scale=st.floats(0.01, 100))
def test_texts_may_be_reordered_and_rows_made_longer(seed, n, scale):
    views, groups = made_up(n, seed=seed)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    moved = [View(scale * z[order], c[order] / scale, s[order][:, order]) for z, c, s in views]
    for fast, _ in LOSSES.values():
        loss = fast(views, pairs(groups), tau=0.5)
        torch.testing.assert_close(fast(moved, pairs(groups[order]), tau=0.5), loss, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ["printed", "alone"])
def test_as_printed_views_may_be_exchanged(name):
    views, groups = made_up()
    fast, _ = LOSSES[name]
    torch.testing.assert_close(fast(views[::-1], pairs(groups), tau=0.5), fast(views, pairs(groups), tau=0.5))


def test_it_matters_who_attends_to_whom():
    views, groups = made_up()
    turned = [view._replace(s=view.s.T) for view in views]
    for name in ("printed", "released", "mended"):
        fast, _ = LOSSES[name]
        assert abs(float(fast(turned, pairs(groups), tau=0.5) - fast(views, pairs(groups), tau=0.5))) > 1e-4, name


# -- where gradients go


@pytest.mark.parametrize("name", ["printed", "released", "mended"])
def test_attention_within_a_group_is_learnt_and_no_other(name):
    views, groups = made_up()
    views, (fast, _) = learning(views), LOSSES[name]
    fast(views, pairs(groups), tau=0.5).backward()
    for view in views:
        assert torch.equal(view.s.grad != 0, pairs(groups).bool())


def test_without_eq_7_only_z_is_learnt():
    views = learning(made_up()[0])
    similarity_contrast(views, pairs(torch.zeros(5)), tau=0.5, form="alone").backward()
    for z, c, s in views:
        assert float(z.grad.norm()) > 1e-3
        assert all(part.grad is None or not part.grad.any() for part in (c, s))


def test_what_is_given_stays_as_it_is():
    views, groups = made_up()
    same = pairs(groups)
    before = [part.clone() for view in views for part in view]
    for fast, _ in LOSSES.values():
        fast(views, same, tau=0.5)
    assert all(torch.equal(part, old) for part, old in zip((p for v in views for p in v), before, strict=True))
    assert torch.equal(same, pairs(groups))


# -- extremes


def known_views(n=8, dim=16):
    """Views in which a text is close to its other view and at right angles to all others: nothing is left to learn."""
    generator = torch.Generator().manual_seed(0)

    def near(x):
        return x + 0.01 * torch.randn(x.shape, generator=generator)

    return [View(near(torch.eye(n, dim)), near(torch.eye(n, dim)), torch.full((n, n), 1 / n)) for _ in range(2)]


@each_loss
@pytest.mark.parametrize(
    ("tau", "views"),
    [(0.05, known_views()), (0.05, made_up(8, 16)[0]), (0.02, made_up(8, 16)[0])],
    ids=["known", "random", "random and colder"],
)
def test_loss_and_gradient_are_finite_when_it_is_cold(name, tau, views):
    views, (fast, slow) = learning(views), LOSSES[name]
    groups = torch.arange(8) % 2
    loss = fast(views, pairs(groups), tau=tau)
    loss.backward()
    expected = slow([View(*(part.detach().double() for part in view)) for view in views], groups, tau)
    torch.testing.assert_close(loss.detach().double(), expected, rtol=1e-3, atol=1e-3)
    for view in views:
        assert all(part.grad is None or torch.isfinite(part.grad).all() for part in view)


@each_loss
def test_loss_and_gradient_are_finite_when_nothing_is_attended_to_and_rows_are_zero(name):
    nothing = [View(torch.zeros(4, 3), torch.zeros(4, 3), torch.zeros(4, 4))] * 2
    views, (fast, _) = learning(nothing), LOSSES[name]
    loss = fast(views, torch.eye(4), tau=0.5)
    loss.backward()
    assert torch.isfinite(loss)
    assert all(part.grad is None or torch.isfinite(part.grad).all() for view in views for part in view)


@pytest.mark.parametrize("form", ["paper", "code", "alone"])
def test_one_text_costs_nothing_and_teaches_nothing(form):
    views = learning(made_up(1)[0])
    loss = similarity_contrast(views, torch.ones(1, 1), tau=0.5, form=form)
    loss.backward()
    assert float(loss.detach()) == 0
    assert all(part.grad is None or not part.grad.any() for view in views for part in view)


# -- confidence


def test_sure_is_above_the_threshold():
    q = torch.tensor([[0.96, 0.03, 0.01], [0.01, 0.94, 0.05], [0.02, 0.01, 0.97], [0.5, 0.25, 0.25]])
    assert confident(q.log(), 0.95).tolist() == [1, 0, 1, 0]
    assert confident(q.log(), 0.0).tolist() == [1, 1, 1, 1]
    assert confident(q.log(), 1.0).tolist() == [0, 0, 0, 0]
    assert confident(torch.tensor([[0.5, 0.5]]).log(), 0.5).tolist() == [0]  # Eq. 4: more than the threshold


def test_by_confidence_all_sure_texts_of_a_group_count_alike():
    q = torch.tensor([[0.97, 0.03], [0.96, 0.04], [0.9, 0.1], [0.99, 0.01], [0.01, 0.99]])
    weight = by_confidence(pairs(torch.tensor([0, 0, 0, 0, 1])), q.log(), 0.95)
    third = 1 / 3
    expected = [
        [third, third, 0, third, 0],
        [third, third, 0, third, 0],
        [0, 0, 0, 0, 0],
        [third, third, 0, third, 0],
        [0, 0, 0, 0, 1],
    ]
    torch.testing.assert_close(weight, torch.tensor(expected))


def test_confidence_is_not_learnt():
    log_q = torch.randn(4, 3).log_softmax(dim=1).requires_grad_()
    assert not confident(log_q, 0.5).requires_grad
    assert not by_confidence(torch.ones(4, 4), log_q, 0.5).requires_grad
