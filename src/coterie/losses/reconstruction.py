"""Reconstruction losses: of the tokens of a text, of a vector, or of a binary code."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

_CHUNK_SIZE = 512  # tokens whose logits are in memory at once; a vocabulary has tens of thousands of words


def token_cross_entropy(x: Tensor, table: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    r"""Return the mean over tokens of -\log softmax(x_t E^T + b)_{y_t}, in nats. ClusterBERT Eq. 1.

    x (M, D) are the decoder states before each token, ``table`` E (V, D) the output embeddings, ``bias`` b (V,),
    ``targets`` y (M,) the token ids. Logits are computed and discarded in chunks of tokens: all of them, with their
    gradients, would take gigabytes.
    """
    loss: Tensor = _TokenCrossEntropy.apply(x.float(), table.float(), bias.float(), targets)  # type: ignore[no-untyped-call]
    return loss


def squared_error(x_hat: Tensor, x: Tensor) -> Tensor:
    r"""Return \frac{1}{B} \sum_i \|\hat x_i - x_i\|^2 of vectors (B, D)."""
    return (x_hat - x).square().sum(dim=1).mean()


def code_cross_entropy(logits: Tensor, codes: Tensor) -> Tensor:
    r"""Return -\frac{1}{B} \sum_i \sum_l b_{il} \log \sigma(o_{il}) + (1 - b_{il}) \log (1 - \sigma(o_{il})).

    o (B, L) are ``logits``, b (B, L) the bits of ``codes``. STCC Eq. 10.
    """
    return F.binary_cross_entropy_with_logits(logits, codes.to(logits.dtype), reduction="sum") / len(logits)


class _TokenCrossEntropy(torch.autograd.Function):
    """Computes the gradients in the forward pass, because they need the same logits as the loss."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, table: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
        needs_x, needs_table, needs_bias, _ = ctx.needs_input_grad
        x_grad = torch.empty_like(x) if needs_x else None
        table_grad = torch.zeros_like(table) if needs_table else None
        bias_grad = torch.zeros_like(bias) if needs_bias else None
        loss = x.new_zeros(())
        n_tokens = len(targets)
        for start in range(0, n_tokens, _CHUNK_SIZE):
            rows = slice(start, start + _CHUNK_SIZE)
            chunk = x[rows]
            y = targets[rows, None]  # (chunk, 1)
            log_p = torch.addmm(bias, chunk, table.T).log_softmax(dim=1)  # (chunk, V)
            loss = loss - log_p.gather(1, y).sum()
            if not (needs_x or needs_table or needs_bias):
                continue
            minus_one = x.new_full((), -1.0).expand_as(y)
            logits_grad = log_p.exp_().scatter_add_(1, y, minus_one).div_(n_tokens)  # (chunk, V)
            if x_grad is not None:
                torch.mm(logits_grad, table, out=x_grad[rows])
            if table_grad is not None:
                table_grad.addmm_(logits_grad.T, chunk)
            if bias_grad is not None:
                bias_grad += logits_grad.sum(dim=0)
        ctx.grads = (x_grad, table_grad, bias_grad)
        return loss / n_tokens

    @staticmethod
    def backward(ctx: Any, loss_grad: Tensor) -> Any:
        return *(None if grad is None else grad * loss_grad for grad in ctx.grads), None
