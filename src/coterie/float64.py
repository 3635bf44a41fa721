"""Apply a module in float64."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.func import functional_call


def in_float64(module: nn.Module, *inputs: Tensor, **options: Any) -> Any:
    """Return ``module(*inputs, **options)``, computed in float64 and in evaluation mode.

    The module itself is not changed. In float32 the rounding of a row depends on the other rows of its batch, and
    near a boundary between two clusters that could change its label.
    """
    tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    tensors64 = {name: _to_float64(tensor) for name, tensor in tensors.items()}
    inputs64 = tuple(_to_float64(x) for x in inputs)
    was_training = {submodule: submodule.training for submodule in module.modules()}
    module.eval()
    try:
        return functional_call(module, tensors64, inputs64, options)
    finally:
        for submodule, training in was_training.items():
            submodule.training = training


def _to_float64(x: Tensor) -> Tensor:
    """Return ``x`` in float64; integer and boolean tensors are returned as they are."""
    return x.double() if x.is_floating_point() else x
