import math

import pytest
import torch
import torch.nn.functional as F

from coterie.losses import reconstruction
from coterie.losses.reconstruction import squared_error, token_cross_entropy


def random_inputs(n_tokens=7, n_words=11, dim=4, seed=0):
    """Return states (n_tokens, dim), embeddings (n_words, dim), bias (n_words,) and targets (n_tokens,)."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n_tokens, dim, generator=generator)
    table = torch.randn(n_words, dim, generator=generator)
    bias = torch.randn(n_words, generator=generator)
    targets = torch.randint(n_words, (n_tokens,), generator=generator)
    return x, table, bias, targets


def slow_token_cross_entropy(x, table, bias, targets):
    """ClusterBERT Eq. 1, one word at a time."""
    total = 0.0
    for state, y in zip(x.tolist(), targets.tolist(), strict=True):
        logits = []
        for embedding, b in zip(table.tolist(), bias.tolist(), strict=True):
            logits.append(sum(s * e for s, e in zip(state, embedding, strict=True)) + b)
        total -= math.log(math.exp(logits[y]) / sum(math.exp(value) for value in logits))
    return total / len(targets)


def cross_entropy_of_all_logits(x, table, bias, targets):
    return F.cross_entropy(x @ table.T + bias, targets)


@pytest.mark.parametrize("chunk_size", [1, 3, 512])
def test_token_cross_entropy_equals_slow_loop(monkeypatch, chunk_size):
    monkeypatch.setattr(reconstruction, "_CHUNK_SIZE", chunk_size)
    loss = float(token_cross_entropy(*random_inputs()))
    assert loss == pytest.approx(slow_token_cross_entropy(*random_inputs()), rel=1e-5)


@pytest.mark.parametrize("chunk_size", [2, 512])
@pytest.mark.parametrize("trained", [(0, 1, 2), (0,), (1,), (2,), (0, 2)])
def test_gradients_in_chunks_equal_those_of_all_logits(monkeypatch, chunk_size, trained):
    monkeypatch.setattr(reconstruction, "_CHUNK_SIZE", chunk_size)

    def gradients(loss_function):
        inputs = list(random_inputs())
        for i in trained:
            inputs[i].requires_grad_()
        (3 * loss_function(*inputs)).backward()
        return [x.grad for x in inputs[:3]]

    expected = gradients(cross_entropy_of_all_logits)
    for grad, expected_grad in zip(gradients(token_cross_entropy), expected, strict=True):
        assert (grad is None) == (expected_grad is None)
        if grad is not None:
            torch.testing.assert_close(grad, expected_grad)


def test_token_cross_entropy_of_equally_likely_words_is_the_logarithm_of_their_number():
    loss = token_cross_entropy(torch.zeros(5, 4), torch.randn(50, 4), torch.zeros(50), torch.arange(5))
    assert float(loss) == pytest.approx(math.log(50))


def test_token_cross_entropy_computes_half_precision_in_float32():
    x, table, bias, targets = random_inputs()
    loss = token_cross_entropy(x.bfloat16(), table, bias, targets)
    assert loss.dtype == torch.float32
    expected = slow_token_cross_entropy(x.bfloat16().float(), table, bias, targets)
    assert float(loss) == pytest.approx(expected, rel=1e-5)


def test_squared_error_equals_slow_loop():
    x_hat = random_inputs()[0]
    x = random_inputs(seed=1)[0]
    total = 0.0
    for a, b in zip(x_hat.flatten().tolist(), x.flatten().tolist(), strict=True):
        total += (a - b) ** 2
    assert float(squared_error(x_hat, x)) == pytest.approx(total / len(x), rel=1e-5)
