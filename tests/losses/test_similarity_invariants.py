"""Symmetries and extreme inputs of the similarity-guided loss."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from similarity_reference import LOSSES, random_views, same_label, with_gradients

from coterie.losses.similarity import View, similarity_contrast

each_loss = pytest.mark.parametrize("name", LOSSES)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 6), scale=st.floats(0.01, 100))
def test_invariant_to_reordered_texts_and_scaled_rows(seed, n, scale):
    views, labels = random_views(n, seed=seed)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    changed = [View(scale * z[order], c[order] / scale, s[order][:, order]) for z, c, s in views]
    for fast, _ in LOSSES.values():
        loss = fast(views, same_label(labels), tau=0.5)
        torch.testing.assert_close(fast(changed, same_label(labels[order]), tau=0.5), loss, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ["paper", "instance_only"])
def test_losses_of_the_paper_are_invariant_to_exchanged_views(name):
    fast, _ = LOSSES[name]
    views, labels = random_views()
    same = same_label(labels)
    torch.testing.assert_close(fast(views[::-1], same, tau=0.5), fast(views, same, tau=0.5))


@pytest.mark.parametrize("name", ["paper", "official", "official_without_broadcast"])
def test_the_direction_of_attention_matters(name):
    fast, _ = LOSSES[name]
    views, labels = random_views()
    same = same_label(labels)
    transposed = [view._replace(s=view.s.T) for view in views]
    assert abs(float(fast(transposed, same, tau=0.5) - fast(views, same, tau=0.5))) > 1e-4


@each_loss
def test_inputs_are_not_modified(name):
    fast, _ = LOSSES[name]
    views, labels = random_views()
    same = same_label(labels)
    before = [tensor.clone() for view in views for tensor in view]
    fast(views, same, tau=0.5)
    after = [tensor for view in views for tensor in view]
    assert all(torch.equal(new, old) for new, old in zip(after, before, strict=True))
    assert torch.equal(same, same_label(labels))


def converged_views(n=8, dim=16):
    """Return views in which a text is close to its other view and nearly orthogonal to all other texts."""
    generator = torch.Generator().manual_seed(0)

    def noisy_identity():
        return torch.eye(n, dim) + 0.01 * torch.randn(n, dim, generator=generator)

    return [View(noisy_identity(), noisy_identity(), torch.full((n, n), 1 / n)) for _ in range(2)]


@each_loss
@pytest.mark.parametrize(
    ("tau", "views"),
    [(0.05, converged_views()), (0.05, random_views(8, 16)[0]), (0.02, random_views(8, 16)[0])],
    ids=["converged", "random", "random and lower temperature"],
)
def test_loss_and_gradient_are_finite_at_low_temperature(name, tau, views):
    fast, slow = LOSSES[name]
    views = with_gradients(views)
    labels = torch.arange(8) % 2
    loss = fast(views, same_label(labels), tau=tau)
    loss.backward()
    expected = slow([View(*(tensor.detach().double() for tensor in view)) for view in views], labels, tau)
    torch.testing.assert_close(loss.detach().double(), expected, rtol=1e-3, atol=1e-3)
    for view in views:
        assert all(tensor.grad is None or torch.isfinite(tensor.grad).all() for tensor in view)


@each_loss
def test_loss_and_gradient_are_finite_for_rows_and_attention_of_zeros(name):
    fast, _ = LOSSES[name]
    zeros = [View(torch.zeros(4, 3), torch.zeros(4, 3), torch.zeros(4, 4))] * 2
    views = with_gradients(zeros)
    loss = fast(views, torch.eye(4), tau=0.5)
    loss.backward()
    assert torch.isfinite(loss)
    assert all(tensor.grad is None or torch.isfinite(tensor.grad).all() for view in views for tensor in view)


@pytest.mark.parametrize("form", ["paper", "official", "instance_only"])
def test_a_single_text_has_zero_loss_and_zero_gradient(form):
    views = with_gradients(random_views(1)[0])
    loss = similarity_contrast(views, torch.ones(1, 1), tau=0.5, form=form)
    loss.backward()
    assert float(loss.detach()) == 0
    assert all(tensor.grad is None or not tensor.grad.any() for view in views for tensor in view)
