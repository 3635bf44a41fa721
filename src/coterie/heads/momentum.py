"""Momentum encoder (MoCo, He et al., CVPR 2020)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call


class MomentumEncoder(nn.Module):
    r"""A moving average of the weights of a module: \hat\theta \leftarrow m \hat\theta + (1 - m) \theta.

    Trainable weights are averaged; frozen weights and the code are those of the module itself. Buffers, e.g. the
    statistics of a batch norm, are copied too; after that only the forward passes of this copy update them. Weights
    that the module gets after the copy was made are not part of it.
    """

    def __init__(self, module: nn.Module, m: float) -> None:
        super().__init__()
        self.m = m
        self.weight_names = [name for name, weight in module.named_parameters() if weight.requires_grad]
        self.buffer_names = [name for name, _ in module.named_buffers()]
        for name, value in _select(module, self.weight_names + self.buffer_names).items():
            self.register_buffer(_key(name), value.detach().clone())

    def reset(self, module: nn.Module) -> None:
        r"""Set \hat\theta = \theta."""
        for name, value in _select(module, self.weight_names + self.buffer_names).items():
            self.get_buffer(_key(name)).copy_(value.detach())

    @torch.no_grad()
    def forward(self, module: nn.Module, *inputs: Any) -> Any:
        r"""Return ``module(*inputs)`` with the weights \hat\theta, without gradient."""
        averaged = {name: self.get_buffer(_key(name)) for name in self.weight_names + self.buffer_names}
        return functional_call(module, averaged, inputs)

    def update(self, module: nn.Module) -> None:
        r"""Move \hat\theta towards the current \theta of ``module``."""
        for name, weight in _select(module, self.weight_names).items():
            self.get_buffer(_key(name)).lerp_(weight.detach(), 1 - self.m)


def _select(module: nn.Module, names: list[str]) -> dict[str, Tensor]:
    """Return the parameters and buffers of ``module`` with these names."""
    tensors = dict(module.named_parameters()) | dict(module.named_buffers())
    return {name: tensors[name] for name in names}


def _key(name: str) -> str:
    """Return the name of the buffer that holds the weight ``name``: buffer names cannot contain dots."""
    return name.replace(".", "/")
