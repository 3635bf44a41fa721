import math

import pytest
import torch
import torch.nn.functional as F

from coterie.losses import reconstruction
from coterie.losses.reconstruction import squared_error, token_cross_entropy


def some(n_tokens=7, n_words=11, dim=4, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x, table = torch.randn(n_tokens, dim, generator=generator), torch.randn(n_words, dim, generator=generator)
    bias, targets = torch.randn(n_words, generator=generator), torch.randint(n_words, (n_tokens,), generator=generator)
    return x, table, bias, targets


def slow(x, table, bias, targets):
    """ClusterBERT Eq. 1, word for word."""
    total = 0.0
    for state, y in zip(x.tolist(), targets.tolist(), strict=True):
        logits = [
            sum(a * b for a, b in zip(state, e, strict=True)) + c for e, c in zip(table.tolist(), bias, strict=True)
        ]
        total -= math.log(math.exp(logits[y]) / sum(math.exp(value) for value in logits))
    return total / len(targets)


@pytest.mark.parametrize("at_once", [1, 3, 512])
def test_the_cost_of_tokens_equals_the_loop(monkeypatch, at_once):
    monkeypatch.setattr(reconstruction, "_AT_ONCE", at_once)
    assert float(token_cross_entropy(*some())) == pytest.approx(slow(*some()), rel=1e-5)


@pytest.mark.parametrize("at_once", [2, 512])
@pytest.mark.parametrize("learning", [(0, 1, 2), (0,), (1,), (2,), (0, 2)])
def test_gradients_are_those_of_all_logits_at_once(monkeypatch, at_once, learning):
    monkeypatch.setattr(reconstruction, "_AT_ONCE", at_once)
    found, wanted = [], []
    for grads, loss_of in ((found, token_cross_entropy), (wanted, _plain)):
        parts = list(some())
        for i in learning:
            parts[i].requires_grad_()
        (3 * loss_of(*parts)).backward()
        grads += [part.grad for part in parts[:3]]
    for a, b in zip(found, wanted, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            torch.testing.assert_close(a, b)


def _plain(x, table, bias, targets):
    return F.cross_entropy(x @ table.T + bias, targets)


def test_words_that_are_equally_likely_cost_the_logarithm_of_their_number():
    loss = token_cross_entropy(torch.zeros(5, 4), torch.randn(50, 4), torch.zeros(50), torch.arange(5))
    assert float(loss) == pytest.approx(math.log(50))


def test_half_precision_states_are_counted_in_full():
    x, table, bias, targets = some()
    loss = token_cross_entropy(x.bfloat16(), table, bias, targets)
    assert loss.dtype == torch.float32
    assert float(loss) == pytest.approx(slow(x.bfloat16().float(), table, bias, targets), rel=1e-5)


def test_vectors_cost_their_squared_distance():
    a, b = some()[0], some(seed=1)[0]
    wanted = sum(
        sum((p - q) ** 2 for p, q in zip(u, v, strict=True)) for u, v in zip(a.tolist(), b.tolist(), strict=True)
    )
    assert float(squared_error(a, b)) == pytest.approx(wanted / len(a), rel=1e-5)
