"""A generator of one's own: the same numbers as torch's global one with that seed, which stays untouched."""

import threading

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from coterie.seeding import random_states, seeded, set_random_states

X = torch.arange(24.0).view(2, 3, 4)
DRAWS = {
    "rand": lambda: torch.rand(5),
    "randn": lambda: torch.randn(2, 3, dtype=torch.float64),
    "randint": lambda: torch.randint(9, (5,)),
    "randperm": lambda: torch.randperm(7),
    "rand_like": lambda: torch.rand_like(X),
    "randn_like": lambda: torch.randn_like(X),
    "normal": lambda: torch.normal(X, 1.0),
    "bernoulli": lambda: torch.bernoulli(X / 24),
    "multinomial": lambda: torch.multinomial(X[0] + 1, 2),
    "uniform_": lambda: torch.empty(5).uniform_(1, 2),
    "normal_": lambda: torch.empty(5).normal_(),
    "random_": lambda: torch.empty(5, dtype=torch.int64).random_(-(2**63), None),
    "exponential_": lambda: torch.empty(5).exponential_(),
    "dropout": lambda: F.dropout(X, 0.3),
    "nn.Dropout": lambda: nn.Dropout(0.3)(X),
    "gumbel": lambda: F.gumbel_softmax(X, tau=0.3),
    "hard gumbel": lambda: F.gumbel_softmax(X, hard=True, dim=1),
    "nn.Linear": lambda: nn.Linear(4, 3).weight,
    "nn.Conv2d": lambda: nn.Conv2d(2, 3, 3).weight,
    "xavier": lambda: nn.init.xavier_uniform_(torch.empty(3, 4)),
    "orthogonal": lambda: nn.init.orthogonal_(torch.empty(3, 4)),
    "kaiming": lambda: nn.init.kaiming_normal_(torch.empty(3, 4), mode="fan_out"),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())
def test_a_block_draws_the_numbers_of_its_seed_and_leaves_the_global_generator_alone(draw):
    with torch.random.fork_rng():
        torch.manual_seed(5)
        expected = draw().detach().clone()
        before = torch.get_rng_state()
        with seeded(5):
            found = draw().detach()
        assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(found, expected)


@pytest.mark.parametrize("mask", [None, X[:1, :, :3] > 1, X[:1, :, :3]], ids=["none", "boolean", "added"])
def test_attention_with_dropout_draws_from_the_block(mask):
    before = torch.get_rng_state()
    with seeded(5):
        one = F.scaled_dot_product_attention(X, X, X, mask, 0.5)
        other = F.scaled_dot_product_attention(X, X, X, attn_mask=mask, dropout_p=0.5)
        without = F.scaled_dot_product_attention(X, X, X, mask)
    with seeded(5):
        again = F.scaled_dot_product_attention(X, X, X, mask, 0.5)
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    assert torch.equal(without, F.scaled_dot_product_attention(X, X, X, mask))
    assert torch.equal(torch.get_rng_state(), before)


def test_attention_with_dropout_may_be_causal():
    with seeded(0):
        first = torch.stack(
            [F.scaled_dot_product_attention(X, X, X, dropout_p=0.5, is_causal=True) for _ in range(400)]
        )
    torch.testing.assert_close(first.mean(dim=0)[:, 0], X[:, 0], rtol=0.2, atol=0.5)  # it sees itself only


def test_dropout_of_everything_and_of_nothing():
    with seeded(0):
        assert torch.equal(F.dropout(X, 1.0), torch.zeros_like(X))
        assert F.dropout(X, 0.0) is X
        assert F.dropout(X, 0.5, training=False) is X


def test_a_function_that_cannot_take_a_generator_is_refused():
    with seeded(0):
        assert torch.equal(F.alpha_dropout(X, 0.5, training=False), X)
        with pytest.raises(TypeError, match="alpha_dropout draws from torch's global generator"):
            F.alpha_dropout(X, 0.5, training=True)


def test_a_generator_that_is_given_is_used():
    with seeded(0):
        own = torch.rand(3, generator=torch.Generator().manual_seed(9))
        first = torch.rand(3)
    assert torch.equal(own, torch.rand(3, generator=torch.Generator().manual_seed(9)))
    assert torch.equal(first, torch.rand(3, generator=torch.Generator().manual_seed(0)))


def test_an_inner_block_does_not_move_the_outer_one():
    with seeded(1):
        first = torch.rand(3)
        with seeded(2):
            torch.rand(50)
        second = torch.rand(3)
    with seeded(1):
        assert torch.equal(torch.cat([first, second]), torch.cat([torch.rand(3), torch.rand(3)]))


def test_another_thread_is_not_inside_the_block():
    drawn = []
    with seeded(1):
        thread = threading.Thread(target=lambda: drawn.append(torch.rand(3, generator=None)))
        thread.start()
        thread.join()
        here = torch.rand(3)
    assert torch.equal(here, torch.rand(3, generator=torch.Generator().manual_seed(1)))
    assert not torch.equal(drawn[0], here)


def test_the_state_of_a_block_can_be_restored():
    with seeded(1):
        torch.rand(3)
        states = random_states()
        expected = torch.rand(3)
    with seeded(2):
        set_random_states(states)
        assert torch.equal(torch.rand(3), expected)
    with pytest.raises(RuntimeError, match="outside of a `seeded` block"):
        random_states()
