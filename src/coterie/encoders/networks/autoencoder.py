"""An auto-encoder above fixed embeddings: h is its code. DEC, IDEC and Self-Train are trained on it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from coterie.contracts import Decoder, Items, Network, OutputVocabulary, Prepared, Vectors
from coterie.fixed_height import in_fixed_chunks
from coterie.losses.reconstruction import squared_error

_HEIGHT = 128  # rows of every matrix product at inference
_OVERSAMPLING = 10  # directions beside the principal ones, for the accuracy of randomized PCA
_MIN_SINGULAR = 1e-4  # of the largest: directions below it are rounding errors
_SAMPLE = 4096  # rows whose principal directions the code starts from


class AutoEncoderNetwork(Network):
    r"""h = f(s x): fixed embeddings x (N, D) of another network, scaled by s, and three hidden layers before the code.

    s makes the mean of x^2 one (DEC, Sec. 4). f starts as a linear map to the principal directions of x, so that the
    code separates the items before the first step.
    """

    scale: Tensor  # () s

    def __init__(self, inner: Network, dim: int, width: int) -> None:
        super().__init__(dim)
        self.inner, self.from_scratch = inner, True
        pairs = 2 * (width // 2)
        self.widths = (inner.dim, pairs, pairs, 4 * pairs, dim)
        self.f = layers(self.widths)
        self.register_buffer("scale", torch.ones(()))

    @torch.no_grad()
    def initialize(self, x: Tensor) -> None:
        """Compute s, and turn the code to the principal directions of x (N, D), as many as x has."""
        x = x[torch.randperm(len(x))[:_SAMPLE]]
        self.scale.copy_(1 / x.square().mean().sqrt().clamp_min(1e-12))
        hidden = self.f[:-1](self.scale * x)  # (n, 4 width), in pairs with opposite signs
        y = hidden[:, : hidden.shape[1] // 2] - hidden[:, hidden.shape[1] // 2 :]
        _, singular, directions = torch.pca_lowrank(y, min(self.dim + _OVERSAMPLING, *y.shape))
        n_directions = int((singular[: self.dim] > _MIN_SINGULAR * singular[0]).sum())
        directions = directions.T[:n_directions]  # (n_directions, 2 width)
        size = ((y - y.mean(dim=0)) @ directions.T).square().mean().sqrt().clamp_min(1e-12)
        code = cast(nn.Linear, self.f[-1])
        code.weight[:n_directions] = torch.cat([directions, -directions], dim=1) / size
        code.bias.copy_(-(code.weight @ hidden.mean(dim=0)))

    def prepare(self, items: Items) -> Tensor:
        """Return the fixed embeddings x (N, D)."""
        return self.inner.encode(self.inner.prepare(items))

    def forward(self, *views: Tensor) -> tuple[Tensor, ...]:
        """Return the code h (B, d) of each view."""
        return torch.split(self.f(self.scale * torch.cat(views)), [len(view) for view in views])

    @torch.no_grad()
    def encode(self, prepared: Tensor) -> Tensor:
        """Return the code h (N, d)."""
        return in_fixed_chunks(lambda x: self.f(self.scale * x), prepared, _HEIGHT)

    def embed(self, items: Items) -> Vectors:
        """Return the code h (N, d)."""
        return np.asarray(self.encode(torch.from_numpy(self.inner.embed(items))).numpy())

    def embed_corpus(self, items: Items, prepared: Prepared, encoded: Vectors | None = None) -> Vectors:
        """Return the code of the training items; their fixed embeddings are not computed again."""
        return np.asarray(self.encode(torch.as_tensor(prepared)).numpy())

    def decoder(
        self, n_layers: int | None = None, *, tied: bool = True, vocabulary: OutputVocabulary = "corpus"
    ) -> Decoder:
        """Return the mirror image of the encoder; it has no layers or vocabulary to choose."""
        return CodeDecoder(self.widths[::-1], self.scale)


class CodeDecoder(Decoder):
    """Reconstructs s x from the code h."""

    scale: Tensor  # () s of the encoder

    def __init__(self, widths: Sequence[int], scale: Tensor) -> None:
        super().__init__()
        self.g = layers(widths)
        self.register_buffer("scale", scale, persistent=False)

    def forward(self, h: Tensor, original: Prepared) -> Tensor:
        """Return the squared error per number of s x (B, D)."""
        x = self.scale * torch.as_tensor(original)
        return squared_error(self.g(h), x) / x.shape[1]


def layers(widths: Sequence[int]) -> nn.Sequential:
    """Return linear layers of these widths with a leaky ReLU between them, initialized to look linear.

    Hidden units are in pairs with opposite weights, whose difference passes a leaky ReLU unchanged but for a factor. So
    all layers together start as one orthogonal map, which keeps distances (Balduzzi et al., ICML 2017).
    """
    modules: list[nn.Module] = []
    for number, (before, after) in enumerate(pairwise(widths)):
        linear = nn.Linear(before, after)
        is_first, is_last = number == 0, number == len(widths) - 2
        rows, columns = after if is_last else after // 2, before if is_first else before // 2
        weight = nn.init.orthogonal_(torch.empty(rows, columns))
        weight = weight if is_first else torch.cat([weight, -weight], dim=1)
        linear.weight.data.copy_(weight if is_last else torch.cat([weight, -weight]))
        nn.init.zeros_(linear.bias)
        modules += [linear, nn.LeakyReLU()]
    return nn.Sequential(*modules[:-1])
