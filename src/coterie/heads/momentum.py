"""A copy of what a module learns that follows it slowly (MoCo, He et al., CVPR 2020)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call


class Momentum(nn.Module):
    r"""Slow weights \hat\theta \leftarrow m \hat\theta + (1 - m) \theta of a module, without gradient.

    Only what learns is copied: frozen weights are the module's own, and so is its code. Buffers, the statistics of a
    norm, say, are copied too, and then change only by what the slow copy sees. What the module is given after the copy
    was made is not part of it.
    """

    def __init__(self, module: nn.Module, m: float) -> None:
        super().__init__()
        self.m = m
        self.weights = [name for name, weight in module.named_parameters() if weight.requires_grad]
        self.others = [name for name, _ in module.named_buffers()]
        for name, value in self._of(module, self.weights + self.others).items():
            self.register_buffer(_key(name), value.detach().clone())

    def begin(self, module: nn.Module) -> None:
        r"""Start from \hat\theta = \theta."""
        for name, value in self._of(module, self.weights + self.others).items():
            self.get_buffer(_key(name)).copy_(value.detach())

    @torch.no_grad()
    def forward(self, module: nn.Module, *inputs: Any) -> Any:
        """Return ``module(*inputs)`` with the slow weights in the place of its own."""
        slow = {name: self.get_buffer(_key(name)) for name in self.weights + self.others}
        return functional_call(module, slow, inputs)

    def follow(self, module: nn.Module) -> None:
        """Move a little towards what ``module`` is now."""
        for name, weight in self._of(module, self.weights).items():
            self.get_buffer(_key(name)).lerp_(weight.detach(), 1 - self.m)

    @staticmethod
    def _of(module: nn.Module, names: list[str]) -> dict[str, Tensor]:
        every = dict(module.named_parameters()) | dict(module.named_buffers())
        return {name: every[name] for name in names}


def _key(name: str) -> str:
    return name.replace(".", "/")  # a buffer's own name has no dots
