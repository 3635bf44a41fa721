import math

import numpy as np
import pytest
import torch

from coterie.losses.contrastive import cross_view


def slow_cross_view(z_1, z_2, tau):
    """DECCRL Eq. 2-4, one text at a time."""

    def exp_cosine(a, b):
        return math.exp(float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b))) / tau)

    total = 0.0
    size = len(z_1)
    for i in range(size):
        others = [m for m in range(size) if m != i]
        total -= math.log(exp_cosine(z_1[i], z_2[i]) / sum(exp_cosine(z_1[i], z_2[m]) for m in others))
        total -= math.log(exp_cosine(z_2[i], z_1[i]) / sum(exp_cosine(z_2[i], z_1[m]) for m in others))
    return total / size


def test_equals_slow_loop():
    z_1, z_2 = torch.randn(2, 7, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = slow_cross_view(z_1.numpy(), z_2.numpy(), 0.4)
    assert cross_view(z_1, z_2, tau=0.4).item() == pytest.approx(expected, rel=1e-5)
    assert cross_view(z_2, 3 * z_1, tau=0.4).item() == pytest.approx(expected, rel=1e-5)


def test_identical_rows_give_twice_the_logarithm_of_the_number_of_negatives():
    z = torch.ones(9, 4)
    assert cross_view(z, z, tau=0.5).item() == pytest.approx(2 * math.log(8), rel=1e-5)


def test_the_loss_may_be_negative_because_the_positive_is_not_in_the_denominator():
    z = torch.eye(6)
    assert cross_view(z, z, tau=0.1).item() == pytest.approx(2 * math.log(5) - 20, rel=1e-5)


def test_a_single_text_has_zero_loss_and_zero_gradient():
    z = torch.randn(1, 4, requires_grad=True)
    loss = cross_view(z, z, tau=0.5)
    loss.backward()
    assert loss.item() == 0
    assert torch.equal(z.grad, torch.zeros(1, 4))
