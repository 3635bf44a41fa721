"""The similarity-guided loss against its equations, closed forms and gradients."""

import math

import pytest
import torch
from similarity_reference import LOSSES, random_views, same_label, with_gradients

from coterie.losses.similarity import (
    View,
    similarity_contrast,
    similarity_contrast_official,
    similarity_contrast_paper,
)

each_loss = pytest.mark.parametrize("name", LOSSES)
each_loss_with_attention = pytest.mark.parametrize("name", ["paper", "official", "official_without_broadcast"])


@each_loss
@pytest.mark.parametrize("tau", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("n", [2, 5])
def test_equals_slow_loop(name, tau, n):
    fast, slow = LOSSES[name]
    views, labels = random_views(n)
    loss = fast(views, same_label(labels), tau=tau)
    assert loss.shape == ()
    double_views, _ = random_views(n, dtype=torch.float64)
    torch.testing.assert_close(loss.double(), slow(double_views, labels, tau), rtol=1e-5, atol=1e-5)


@each_loss
def test_gradients_equal_those_of_the_slow_loop(name):
    fast, slow = LOSSES[name]
    views, labels = random_views(4)
    fast_views = with_gradients(views)
    slow_views = with_gradients(random_views(4, dtype=torch.float64)[0])
    fast(fast_views, same_label(labels), tau=0.5).backward()
    slow(slow_views, labels, 0.5).backward()
    for view, expected in zip(fast_views, slow_views, strict=True):
        for field in ["z"] if name == "instance_only" else ["z", "c", "s"]:
            grad = getattr(view, field).grad
            expected_grad = getattr(expected, field).grad
            assert float(expected_grad.norm()) > 1e-3, field
            torch.testing.assert_close(grad.double(), expected_grad, rtol=1e-3, atol=1e-5)


def test_form_selects_the_loss():
    views, labels = random_views()
    same = same_label(labels)
    values = {
        form: similarity_contrast(views, same, tau=0.5, form=form) for form in ("paper", "official", "instance_only")
    }
    assert torch.equal(values["paper"], similarity_contrast_paper(views, same, tau=0.5))
    assert torch.equal(values["official"], similarity_contrast_official(views, same, tau=0.5, broadcast=True))
    assert len({round(float(value), 4) for value in values.values()}) == 3


def test_the_broadcast_of_the_official_code_changes_the_loss():
    views, labels = random_views()
    same = same_label(labels)
    with_broadcast = similarity_contrast_official(views, same, tau=0.5, broadcast=True)
    without_broadcast = similarity_contrast_official(views, same, tau=0.5, broadcast=False)
    assert abs(float(with_broadcast - without_broadcast)) > 0.01


# -- closed forms


def identical_rows(n, own_attention=0.0):
    """Return views of identical rows; S gives ``own_attention`` to a text itself and the rest evenly to the others."""
    row = torch.tensor([[0.3, -2.0, 1.0]]).repeat(n, 1)
    s = torch.full((n, n), (1 - own_attention) / (n - 1)).fill_diagonal_(own_attention)
    return [View(row, 3 * row, s)] * 2


@pytest.mark.parametrize("n", [2, 3, 50])
@pytest.mark.parametrize("tau", [0.1, 1.0])
def test_instance_only_loss_of_identical_rows(n, tau):
    loss = similarity_contrast(identical_rows(n), torch.ones(n, n), tau=tau, form="instance_only")
    assert math.exp(-float(loss)) == pytest.approx(2 / (2 * n - 2), rel=1e-5)


@pytest.mark.parametrize("n", [2, 3, 50])
def test_paper_loss_of_identical_rows_with_one_label(n):
    loss = similarity_contrast_paper(identical_rows(n, 0.4), torch.ones(n, n), tau=0.5)
    assert math.exp(-float(loss)) == pytest.approx(4 / (2 * n - 2), rel=1e-5)


def test_paper_loss_of_identical_rows_with_distinct_labels_uses_only_the_own_attention():
    loss = similarity_contrast_paper(identical_rows(6, 0.4), torch.eye(6), tau=0.5)
    assert math.exp(-float(loss)) == pytest.approx((2 + 2 * 0.4) / 10, rel=1e-5)


@pytest.mark.parametrize("broadcast", [True, False])
def test_official_loss_of_identical_rows_leaves_out_one_of_two_own_attentions(broadcast):
    n = 6
    own_attention = 0.4
    loss = similarity_contrast_official(
        identical_rows(n, own_attention), torch.ones(n, n), tau=0.5, broadcast=broadcast
    )
    l_2 = (2 - own_attention + 2 * n * 1e-5) / (2 * n - 2)  # a row has S_ii twice; the one in z-c remains
    assert math.exp(-float(loss)) == pytest.approx(l_2 + 1 / (2 * n - 2), rel=1e-5)


def test_paper_loss_decreases_with_attention_to_the_own_cluster():
    views, labels = random_views(6)
    same = same_label(labels)

    def loss_with_attention(s):
        return similarity_contrast_paper([view._replace(s=s) for view in views], same, tau=0.5)

    own_cluster = loss_with_attention(same / 3)
    uniform = loss_with_attention(torch.full((6, 6), 1 / 6))
    other_cluster = loss_with_attention((1 - same) / 3)
    assert own_cluster < uniform < other_cluster


def test_paper_loss_may_be_negative_because_positives_are_not_in_the_denominator():
    z = torch.eye(4)
    views = [View(z, z, z)] * 2
    assert float(similarity_contrast_paper(views, torch.eye(4), tau=0.1)) < -5


# -- gradients


@each_loss_with_attention
def test_only_attention_between_texts_of_one_label_has_a_gradient(name):
    fast, _ = LOSSES[name]
    views, labels = random_views()
    views = with_gradients(views)
    fast(views, same_label(labels), tau=0.5).backward()
    for view in views:
        assert torch.equal(view.s.grad != 0, same_label(labels).bool())


def test_instance_only_loss_has_a_gradient_in_z_only():
    views = with_gradients(random_views()[0])
    similarity_contrast(views, same_label(torch.zeros(5)), tau=0.5, form="instance_only").backward()
    for z, c, s in views:
        assert float(z.grad.norm()) > 1e-3
        assert all(tensor.grad is None or not tensor.grad.any() for tensor in (c, s))
