"""Heights of small batches whose products have the bits of a large one, so that one text costs less than many.

Rows of a matrix product may round differently when the product has another height. Whether they do depends on the
library and the processor, so it is tried, on the products of the first layer.
"""

from __future__ import annotations

import torch
from torch import nn

from coterie.encoders.engine.packed import PackedBert

_SMALL = (16, 32, 64, 128)  # tokens


@torch.inference_mode()
def equal_heights(bert: nn.Module, height: int) -> tuple[int, ...]:
    """Return the heights of batches, ascending and at most ``height``, that have the bits of that height."""
    if not isinstance(bert, PackedBert):
        return (height,)
    products = [module for module in bert.layers[0].modules() if isinstance(module, nn.Linear)]  # int8 is exact
    small = [n for n in _SMALL if n < height and all(_is_equal(product, n, height) for product in products)]
    return (*small, height)


def _is_equal(product: nn.Linear, small: int, height: int) -> bool:
    """Return whether the first and the last rows of a product of ``height`` rows are those of a ``small`` one."""
    x = torch.randn(height, product.in_features, generator=torch.Generator().manual_seed(0)).to(product.weight)
    whole = product(x)
    return all(torch.equal(product(x[rows]), whole[rows]) for rows in (slice(small), slice(height - small, height)))
