"""A small residual network for small images (He et al., CVPR 2016, Sec. 4.2), and pixel features."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_STAGES = 3  # each has half the resolution and twice the width of the one before
_SIDE = 16  # side length of downsampled images


class SmallResNet(nn.Sequential):
    """From x (B, C, S, S) to features (B, 4 width); the last batch norm centers them."""

    def __init__(self, channels: int, width: int, blocks: int) -> None:
        layers: list[nn.Module] = [_conv(channels, width), nn.BatchNorm2d(width), nn.ReLU()]
        before = width
        for stage in range(_STAGES):
            after = width * 2**stage
            for number in range(blocks):
                layers.append(ResidualBlock(before, after, stride=2 if stage and not number else 1))
                before = after
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.BatchNorm1d(before, affine=False))
        self.dim = before
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        """Return the features (B, 4 width) of x (B, C, S, S)."""
        first, *others = self
        x = first(x).contiguous(memory_format=torch.channels_last)  # faster on a CPU
        for layer in others:
            x = layer(x)
        return x


class ResidualBlock(nn.Module):
    """relu(x + F(x)), F being two convolutions; x goes through one of 1 x 1 where its shape changes."""

    def __init__(self, before: int, after: int, *, stride: int) -> None:
        super().__init__()
        self.change = nn.Sequential(
            _conv(before, after, stride=stride), nn.BatchNorm2d(after), nn.ReLU(),
            _conv(after, after), nn.BatchNorm2d(after),
        )  # fmt: skip
        same = stride == 1 and before == after
        self.short = nn.Identity() if same else nn.Sequential(
            nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """Return the next map (B, after, S / stride, S / stride) of x (B, before, S, S)."""
        return F.relu(self.change(x) + self.short(x))


def _conv(before: int, after: int, *, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(before, after, 3, stride, padding=1, bias=False)  # the batch norm after it has the bias


@torch.no_grad()
def initialize_batch_norms(body: nn.Module, x: Tensor) -> None:
    """Set the running statistics of all batch norms in ``body`` from a sample x (B, C, S, S)."""
    norms = [module for module in body.modules() if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d)]
    momentum = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 1.0
    body.train()(x)
    for norm, usual in zip(norms, momentum, strict=True):
        norm.momentum = usual


def pixel_vectors(x: Tensor) -> Tensor:
    """Return images x (B, C, S, S), downsampled to S' <= 16, as centered rows (B, C S' S') of length one."""
    factor = -(-x.shape[2] // _SIDE)
    small = F.avg_pool2d(x, factor, ceil_mode=True) if factor > 1 else x
    rows = small.flatten(1)
    return F.normalize(rows - rows.mean(dim=1, keepdim=True), dim=1)
