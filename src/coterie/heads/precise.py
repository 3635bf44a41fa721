"""A module applied in float64."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.func import functional_call


def in_double(module: nn.Module, *inputs: Tensor, **options: Any) -> Any:
    """Return ``module(*inputs, **options)`` in float64 and without dropout. Nothing of the module is changed.

    In float64, because near a border between clusters float32 would let the other rows of a batch decide.
    """
    learnt = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    precise = {name: value.double() if value.is_floating_point() else value for name, value in learnt.items()}
    training = {part: part.training for part in module.modules()}
    module.eval()
    try:
        precise_inputs = tuple(x.double() if x.is_floating_point() else x for x in inputs)
        return functional_call(module, precise, precise_inputs, options)
    finally:
        for part, flag in training.items():
            part.training = flag
