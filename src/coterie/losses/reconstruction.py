"""What a text costs, told from its vector."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_AT_ONCE = 512  # tokens whose logits are held; a vocabulary has tens of thousands of words


def token_cross_entropy(x: Tensor, table: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    r"""Return the mean over tokens of -\log softmax(x_t E^T + b)_{y_t}, in nats. ClusterBERT Eq. 1.

    x (M, D) are the states before each token, table E (V, D) the vectors of the words, ``bias`` b (V,), ``targets`` y
    (M,) the tokens themselves. Logits are made for a few tokens at a time and forgotten: all of them, with their
    gradients, would take gigabytes.
    """
    loss: Tensor = _TokenCrossEntropy.apply(x.float(), table.float(), bias.float(), targets)  # type: ignore[no-untyped-call]
    return loss


def squared_error(x_hat: Tensor, x: Tensor) -> Tensor:
    r"""Return \frac{1}{B} \sum_i \|\hat x_i - x_i\|^2: what vectors cost where there are no tokens."""
    return (x_hat - x).square().sum(dim=1).mean()


class _TokenCrossEntropy(torch.autograd.Function):
    """Finds the gradients together with the loss, a chunk at a time: they need the same logits."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, table: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
        wants_x, wants_table, wants_bias, _ = ctx.needs_input_grad
        x_grad = torch.empty_like(x) if wants_x else None
        table_grad = torch.zeros_like(table) if wants_table else None
        bias_grad = torch.zeros_like(bias) if wants_bias else None
        loss, n_tokens = x.new_zeros(()), len(targets)
        for start in range(0, n_tokens, _AT_ONCE):
            rows = slice(start, start + _AT_ONCE)
            part, y = x[rows], targets[rows, None]
            log_share = torch.addmm(bias, part, table.T).log_softmax(dim=1)  # (chunk, V)
            loss = loss - log_share.gather(1, y).sum()
            if not any((wants_x, wants_table, wants_bias)):
                continue
            slope = log_share.exp_().scatter_add_(1, y, x.new_full((), -1.0).expand_as(y)).div_(n_tokens)  # by logits
            if x_grad is not None:
                torch.mm(slope, table, out=x_grad[rows])
            if table_grad is not None:
                table_grad.addmm_(slope.T, part)
            if bias_grad is not None:
                bias_grad += slope.sum(dim=0)
        ctx.grads = x_grad, table_grad, bias_grad
        return loss / n_tokens

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return *(None if own is None else own * grad for own in ctx.grads), None
