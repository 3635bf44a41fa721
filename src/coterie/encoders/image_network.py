"""Images in, vectors out: what learns, whether it begins from scratch or from a pretrained backbone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie.contracts import Decoder, Items, Network, Vectors, Words
from coterie.encoders.resnet import pixel_vectors
from coterie.losses.reconstruction import squared_error
from coterie.progress import track

Shape = tuple[int, int, int]  # (S, S, C) of one image
Colours = tuple[Sequence[float], Sequence[float]]  # mean and standard deviation of each channel, of 0 to 1
_ROWS = 64  # images are always computed so many at a time, so that the batch cannot change a row


class ImageNetwork(Network):
    """``body`` turns x (B, C, S, S) into features (B, D); h is their direction, of length one."""

    mean: Tensor
    std: Tensor

    def __init__(self, body: nn.Module, dim: int, shape: Shape, colours: Colours) -> None:
        super().__init__(dim)
        self.body, self.shape = body, shape
        self.frozen: list[nn.Module] = []  # parts that do not learn, and whose batch norms must not either
        for name, values in zip(("mean", "std"), colours, strict=True):
            self.register_buffer(name, torch.tensor(values).view(1, -1, 1, 1), persistent=False)

    def prepare(self, items: Items) -> Tensor:
        """Return the bytes (N, S, S, C); a step turns its own into numbers."""
        return torch.from_numpy(np.ascontiguousarray(items, dtype=np.uint8))

    def scaled(self, pixels: Tensor) -> Tensor:
        """Return x (B, C, S, S) of bytes (B, S, S, C)."""
        return (pixels.to(self.mean.device).permute(0, 3, 1, 2) / 255 - self.mean) / self.std

    def forward(self, *views: Tensor) -> tuple[Tensor, ...]:
        """Return h (B, D) of each view; batch norms see all views together."""
        h = F.normalize(self.body(self.scaled(torch.cat(views))), dim=1)
        return torch.split(h, [len(view) for view in views])

    @torch.no_grad()
    def look(self, prepared: Tensor) -> Tensor:
        """Return clean h (N, D)."""
        was_training = self.training
        self.eval()
        h = in_parts(lambda pixels: self(pixels)[0], prepared)
        self.train(was_training)
        return h

    def embed(self, items: Items) -> Vectors:
        """Return h (N, D)."""
        return np.asarray(self.look(self.prepare(items)).numpy())

    def decoder(self, n_layers: int | None = None, *, tied: bool = True, words: Words = "corpus") -> Decoder:
        """Return what tells small pixels from h; there are no words and no layers, so it has no settings."""
        return PixelDecoder(self.dim, n_pixels(self.shape))

    def freeze(self, learning: Iterable[nn.Module]) -> None:
        """Keep everything but ``learning`` as it is, batch norms included."""
        kept = {part for module in learning for part in module.modules()}
        self.frozen = [part for part in self.body.modules() if kept.isdisjoint(part.modules())]

    def train(self, mode: bool = True) -> ImageNetwork:
        """Switch to training or back, all but what is frozen."""
        super().train(mode)
        for part in self.frozen:
            part.eval()
        return self


class PixelDecoder(Decoder):
    """The image itself, small and around zero, told from h by one linear layer."""

    def __init__(self, dim: int, width: int) -> None:
        super().__init__()
        self.back = nn.Linear(dim, width)

    def forward(self, h: Tensor, original: Tensor) -> Tensor:
        """Return how far what is told from h (B, D) is from the pixels of ``original`` (B, S, S, C)."""
        return squared_error(self.back(h), pixel_vectors(_planes(original)).to(h.device))


def _planes(pixels: Tensor) -> Tensor:
    """Return bytes (B, S, S, C) as numbers (B, C, S, S)."""
    return pixels.permute(0, 3, 1, 2).float()


def n_pixels(shape: Shape) -> int:
    """Return the width of what :func:`embed_pixels` gives for images of a shape."""
    return pixel_vectors(_planes(torch.zeros(1, *shape))).shape[1]


def embed_pixels(images: Items) -> Vectors:
    """Return what an untrained network has to go by, the pixels (N, C S' S') themselves."""
    pixels = torch.from_numpy(np.ascontiguousarray(images, dtype=np.uint8))
    return np.asarray(in_parts(lambda part: pixel_vectors(_planes(part)), pixels).numpy())


def in_parts(ask: Callable[[Tensor], Tensor], pixels: Tensor) -> Tensor:
    """Return what ``ask`` says of all bytes (N, S, S, C), always of the same number at a time."""
    parts = []
    with track("Encoding", len(pixels)) as advance:
        for part in torch.split(pixels, _ROWS):
            filled = F.pad(part, (0, 0, 0, 0, 0, 0, 0, _ROWS - len(part)))
            parts.append(ask(filled)[: len(part)].cpu())
            advance(len(part))
    return torch.cat(parts)
