"""The network of images: a ResNet from scratch or a pretrained backbone, followed by normalization."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie.contracts import Decoder, Items, Network, OutputVocabulary, Vectors
from coterie.encoders.networks.resnet import pixel_vectors
from coterie.fixed_height import in_fixed_chunks
from coterie.losses.reconstruction import squared_error

Shape = tuple[int, int, int]  # (S, S, C) of one image
Colors = tuple[Sequence[float], Sequence[float]]  # mean and standard deviation of each channel, of 0 to 1
_HEIGHT = 64  # images per chunk at inference


class ImageNetwork(Network):
    """``body`` turns x (B, C, S, S) into features (B, D); h are these, or with ``normalize`` their direction."""

    mean: Tensor
    std: Tensor

    def __init__(self, body: nn.Module, dim: int, shape: Shape, colors: Colors, *, normalize: bool = True) -> None:
        super().__init__(dim)
        self.body, self.shape, self.normalize = body, shape, normalize
        self.frozen: list[nn.Module] = []  # modules that stay in eval mode, batch norms included
        for name, values in zip(("mean", "std"), colors, strict=True):
            self.register_buffer(name, torch.tensor(values).view(1, -1, 1, 1), persistent=False)

    def prepare(self, items: Items) -> Tensor:
        """Return the images as bytes (N, S, S, C); each step scales its own batch."""
        return torch.from_numpy(np.ascontiguousarray(items, dtype=np.uint8))

    def scaled(self, pixels: Tensor) -> Tensor:
        """Return x (B, C, S, S) of bytes (B, S, S, C)."""
        return (pixels.to(self.mean.device).permute(0, 3, 1, 2) / 255 - self.mean) / self.std

    def forward(self, *views: Tensor) -> tuple[Tensor, ...]:
        """Return h (B, D) of each view; batch norms see all views together."""
        h = self.body(self.scaled(torch.cat(views)))
        if self.normalize:
            h = F.normalize(h, dim=1)
        return torch.split(h, [len(view) for view in views])

    @torch.no_grad()
    def encode(self, prepared: Tensor) -> Tensor:
        """Return h (N, D) without dropout, with the stored batch-norm statistics."""
        was_training = self.training
        self.eval()
        h = in_fixed_chunks(lambda pixels: self(pixels)[0], prepared, _HEIGHT, label="Encoding")
        self.train(was_training)
        return h

    def embed(self, items: Items) -> Vectors:
        """Return h (N, D)."""
        return np.asarray(self.encode(self.prepare(items)).numpy())

    def decoder(
        self, n_layers: int | None = None, *, tied: bool = True, vocabulary: OutputVocabulary = "corpus"
    ) -> Decoder:
        """Return a linear decoder of downsampled pixels; it has no layers or vocabulary to choose."""
        return PixelDecoder(self.dim, n_pixels(self.shape))

    def freeze(self, trained: Iterable[nn.Module]) -> None:
        """Keep everything but ``trained`` in eval mode, batch norms included."""
        kept = {part for module in trained for part in module.modules()}
        self.frozen = [part for part in self.body.modules() if kept.isdisjoint(part.modules())]

    def train(self, mode: bool = True) -> ImageNetwork:
        """Switch to training mode or back, except for frozen modules."""
        super().train(mode)
        for part in self.frozen:
            part.eval()
        return self


class PixelDecoder(Decoder):
    """Reconstructs the downsampled, centered pixels from h by one linear layer."""

    def __init__(self, dim: int, width: int) -> None:
        super().__init__()
        self.back = nn.Linear(dim, width)

    def forward(self, h: Tensor, original: Tensor) -> Tensor:
        """Return the squared error of the reconstruction of ``original`` (B, S, S, C) from h (B, D)."""
        return squared_error(self.back(h), pixel_vectors(_planes(original)).to(h.device))


def _planes(pixels: Tensor) -> Tensor:
    """Return bytes (B, S, S, C) as floats (B, C, S, S)."""
    return pixels.permute(0, 3, 1, 2).float()


def n_pixels(shape: Shape) -> int:
    """Return the dimension of :func:`embed_pixels` for images of a shape."""
    return pixel_vectors(_planes(torch.zeros(1, *shape))).shape[1]


def embed_pixels(images: Items) -> Vectors:
    """Return the downsampled, centered pixels (N, C S' S')."""
    pixels = torch.from_numpy(np.ascontiguousarray(images, dtype=np.uint8))
    return np.asarray(
        in_fixed_chunks(lambda part: pixel_vectors(_planes(part)), pixels, _HEIGHT, label="Encoding").numpy()
    )
