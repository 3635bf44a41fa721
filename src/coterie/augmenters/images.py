"""Views of images: a part of it, mirrored, in other colours or in none (SimCLR, arXiv:2002.05709, App. A).

Every view is of its own image, the seed and the view's number: a hash of the three is where its random numbers come
from, so that neither the order of the images nor the batch changes it.
Departure: the four changes of colour come in one order, and there is no blur: the images are small.
"""

from __future__ import annotations

import math
from hashlib import blake2b
from importlib import import_module
from types import ModuleType

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from coterie.augmenters.augmenter import Augmenter
from coterie.contracts import Pixels
from coterie.errors import MissingExtraError
from coterie.hyper import hyper
from coterie.progress import track

_DRAWN = 16  # random numbers of a view; a digest has room for so many
_AT_ONCE = 1024  # images


class CropAugmenter(Augmenter, name="crop"):
    """Cuts a part out of an image and enlarges it, mirrors it, and changes its brightness, contrast and colours."""

    after_colon = "scale"
    takes = "images"
    always_fresh = True

    scale: float = hyper(0.3, "least share of the image that a view shows; also crop:SCALE", gt=0, le=1)
    ratio: float = hyper(4 / 3, "how much wider than high, or higher than wide, that part may be", ge=1)
    flip: float = hyper(0.5, "share of views that are mirrored; 0 for digits and letters", ge=0, le=1)
    jitter: float = hyper(0.4, "most that brightness, contrast and saturation change; hue a quarter of it", ge=0, le=1)
    jittered: float = hyper(0.8, "share of views whose colours change", ge=0, le=1)
    gray: float = hyper(0.2, "share of views of coloured images that have no colours", ge=0, le=1)

    def views(self, images: Pixels, n_views: int, *, seed: int) -> tuple[Pixels, ...]:  # type: ignore[override]
        """Return ``n_views`` views, each of the shape of the images (N, S, S, C)."""
        self.check(images)
        return tuple(self.view(images, number, seed=seed) for number in range(n_views))

    def view(self, images: Pixels, number: int, *, seed: int) -> Pixels:  # type: ignore[override]
        """Return the view ``number`` of every image."""
        return self.rewrite(images, number, seed=seed)

    def rewrite(self, images: Pixels, number: int, *, seed: int) -> Pixels:  # type: ignore[override]
        """Return the view ``number`` of every image."""
        kornia = _kornia()
        views = np.empty_like(images)
        with track("Augmenting", len(images)) as advance:
            for start in range(0, len(images), _AT_ONCE):
                part = images[start : start + _AT_ONCE]
                u = _uniform(part, number, seed=seed)
                x = torch.from_numpy(np.ascontiguousarray(part)).permute(0, 3, 1, 2).float() / 255  # (B, C, S, S)
                x = self._recolour(kornia, self._cut(x, u), u)
                views[start : start + len(part)] = (x * 255).round().byte().permute(0, 2, 3, 1).numpy()
                advance(len(part))
        return views

    def _cut(self, x: Tensor, u: Tensor) -> Tensor:
        """Return a part of each image, enlarged to its size, and mirrored as u (B, 16) says."""
        area = self.scale + (1 - self.scale) * u[:, 0]
        aspect = torch.exp(math.log(self.ratio) * (2 * u[:, 1] - 1))
        width, height = (area * aspect).sqrt().clamp(max=1), (area / aspect).sqrt().clamp(max=1)
        mirrored = 1 - 2 * (u[:, 4] < self.flip).float()
        zero = torch.zeros_like(width)
        across = torch.stack([width * mirrored, zero, (2 * u[:, 2] - 1) * (1 - width)], dim=1)
        down = torch.stack([zero, height, (2 * u[:, 3] - 1) * (1 - height)], dim=1)
        grid = F.affine_grid(torch.stack([across, down], dim=1), list(x.shape), align_corners=False)
        return F.grid_sample(x, grid, padding_mode="border", align_corners=False)

    def _recolour(self, kornia: ModuleType, x: Tensor, u: Tensor) -> Tensor:
        """Return images in other colours, or in none, as u (B, 16) says."""
        strength = self.jitter * (u[:, 5] < self.jittered).float()
        amount = [strength * (2 * u[:, place] - 1) for place in range(6, 10)]
        enhance = kornia.enhance
        x = enhance.adjust_brightness_accumulative(x, 1 + amount[0])
        x = enhance.adjust_contrast_with_mean_subtraction(x, 1 + amount[1])
        if x.shape[1] == 3:
            x = enhance.adjust_saturation_with_gray_subtraction(x, 1 + amount[2])
            x = enhance.adjust_hue(x, amount[3] / 4 * 2 * math.pi)
            gray = (u[:, 10] < self.gray)[:, None, None, None]
            x = torch.where(gray, kornia.color.rgb_to_grayscale(x), x)
        return x.clamp(0, 1)


def _uniform(images: Pixels, number: int, *, seed: int) -> Tensor:
    """Return numbers from 0 to 1 (B, 16) that belong to each image, ``number`` and ``seed``."""
    salt = (seed % 2**64).to_bytes(8) + number.to_bytes(8)
    digests = b"".join(blake2b(image.tobytes(), digest_size=4 * _DRAWN, salt=salt).digest() for image in images)
    drawn = np.frombuffer(digests, dtype="<u4").reshape(len(images), _DRAWN)
    return torch.from_numpy((drawn / 2**32).astype(np.float32))


def _kornia() -> ModuleType:
    try:
        return import_module("kornia")
    except ImportError:
        raise MissingExtraError("The augmenter 'crop'", "images") from None
