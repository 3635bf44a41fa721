"""Linear layers in int8, for processors that multiply bytes four times as fast as float32 (VNNI).

Weights get one scale per output, activations one scale and one center per token, found as they come. A few
channels of a transformer are far larger than the rest and would use up the range, so magnitudes are first balanced
between activations and weights (SmoothQuant, Xiao et al., ICML 2023, arXiv:2211.10438, Eq. 4). The magnitude
of each channel is measured on random words, so no text is needed. Integer sums are exact, so a row does not depend on
its batch.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from coterie.encoders.engine.packed import Packed, PackedBert

_STRENGTH = 0.5  # α of SmoothQuant


class Int8Linear(nn.Module):
    """A linear layer in int8; ``size`` (K,) is the magnitude of each input channel."""

    smooth: Tensor
    weight: Tensor
    total: Tensor
    scale: Tensor
    bias: Tensor

    def __init__(self, linear: nn.Linear, size: Tensor) -> None:
        super().__init__()
        weight = linear.weight.detach()  # (N, K)
        largest = weight.abs().amax(dim=0).clamp_min(1e-4)
        smooth = size.clamp_min(1e-4) ** _STRENGTH / largest ** (1 - _STRENGTH)
        weight = weight * smooth
        scale = weight.abs().amax(dim=1).clamp_min(1e-12) / 127
        self.register_buffer("smooth", 1 / smooth)
        self.register_buffer("weight", (weight / scale[:, None]).round().to(torch.int8).T.contiguous())  # (K, N)
        self.register_buffer("total", self.weight.sum(dim=0).float())
        self.register_buffer("scale", scale)
        self.register_buffer("bias", linear.bias.detach())

    def forward(self, x: Tensor) -> Tensor:
        """Map (M, K) to (M, N)."""
        x = x * self.smooth
        low, high = x.amin(dim=1, keepdim=True), x.amax(dim=1, keepdim=True)  # torch.aminmax is ten times slower
        center, step = (low + high) / 2, ((high - low) / 254).clamp_min(1e-12)  # (M, 1); x = center + step * whole
        whole = x.sub_(center).div_(step).round_().to(torch.int8)
        product = torch._int_mm(whole, self.weight).float()  # (M, N), exact
        return torch.addcmul(self.bias, product.mul_(step).addcmul_(center, self.total), self.scale)


@torch.inference_mode()
def quantized(network: PackedBert, *, probe: tuple[Tensor, Packed]) -> PackedBert:
    """Replace the linear layers of ``network`` by int8 ones, in place; channel magnitudes are measured on ``probe``."""
    linears = {name: module for name, module in network.named_modules() if isinstance(module, nn.Linear)}
    sizes: dict[str, Tensor] = {}
    hooks = [linears[name].register_forward_pre_hook(_recorder(sizes, name)) for name in linears]
    network(*probe)
    for hook in hooks:
        hook.remove()
    for name, linear in linears.items():
        parent, _, attribute = name.rpartition(".")
        setattr(network.get_submodule(parent), attribute, Int8Linear(linear, sizes[name]))
    return network


def _recorder(sizes: dict[str, Tensor], name: str) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
    def record(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        sizes[name] = inputs[0].square().mean(dim=0).sqrt()  # root mean square of each channel (K,)

    return record
