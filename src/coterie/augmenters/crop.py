"""Views of images: random crop, horizontal flip, color jitter, grayscale (SimCLR, arXiv:2002.05709, App. A).

The random numbers of a view come from a hash of the image, the seed and the index of the view, so that a view does not
depend on the order of the images or on the batch.
Departure: the four color changes are always applied in the same order, and there is no blur, since images are small.
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

_N_UNIFORM = 16  # random numbers for a view; a BLAKE2b digest has 64 bytes, four for each
_CHUNK_SIZE = 1024  # images that are changed together


class CropAugmenter(Augmenter, name="crop"):
    """Crops an image at random, resizes the crop, flips it, and changes brightness, contrast and colors."""

    main_setting = "scale"
    input_type = "images"
    always_resample = True

    scale: float = hyper(0.3, "smallest share of the image's area in a view; also crop:SCALE", gt=0, le=1)
    ratio: float = hyper(4 / 3, "largest aspect ratio of a crop, wide or high", ge=1)
    flip: float = hyper(0.5, "probability of a horizontal flip; 0 for digits and letters", ge=0, le=1)
    jitter: float = hyper(
        0.4, "largest change of brightness, contrast and saturation; hue: a quarter of it", ge=0, le=1
    )
    jitter_probability: float = hyper(0.8, "probability that a view is jittered", ge=0, le=1)
    gray: float = hyper(0.2, "probability that a color image becomes gray", ge=0, le=1)

    def views(self, images: Pixels, n_views: int, *, seed: int) -> tuple[Pixels, ...]:  # type: ignore[override]
        """Return ``n_views`` views, each of the same shape as the images (N, S, S, C)."""
        self.check_input_type(images)
        return tuple(self.view(images, view_index, seed=seed) for view_index in range(n_views))

    def view(self, images: Pixels, view_index: int, *, seed: int) -> Pixels:  # type: ignore[override]
        """Return view number ``view_index`` of every image (N, S, S, C); not cached, because it is fast."""
        return self.make_view(images, view_index, seed=seed)

    def make_view(self, images: Pixels, view_index: int, *, seed: int) -> Pixels:  # type: ignore[override]
        """Return view number ``view_index`` of every image (N, S, S, C)."""
        kornia = _import_kornia()
        views = np.empty_like(images)
        with track("Augmenting", len(images)) as advance:
            for start in range(0, len(images), _CHUNK_SIZE):
                chunk = images[start : start + _CHUNK_SIZE]
                u = _uniform(chunk, view_index, seed=seed)
                x = torch.from_numpy(np.ascontiguousarray(chunk)).permute(0, 3, 1, 2).float() / 255  # (B, C, S, S)
                x = self._recolor(kornia, self._crop_and_flip(x, u), u)
                views[start : start + len(chunk)] = (x * 255).round().byte().permute(0, 2, 3, 1).numpy()
                advance(len(chunk))
        return views

    def _crop_and_flip(self, x: Tensor, u: Tensor) -> Tensor:
        """Return crops of images x (B, C, S, S), resized to S, some flipped; u (B, 16) are the random numbers."""
        area = self.scale + (1 - self.scale) * u[:, 0]
        aspect = torch.exp(math.log(self.ratio) * (2 * u[:, 1] - 1))
        width = (area * aspect).sqrt().clamp(max=1)  # relative to the image
        height = (area / aspect).sqrt().clamp(max=1)
        direction = 1 - 2 * (u[:, 4] < self.flip).float()  # -1: flipped
        zero = torch.zeros_like(width)
        horizontal = torch.stack([width * direction, zero, (2 * u[:, 2] - 1) * (1 - width)], dim=1)
        vertical = torch.stack([zero, height, (2 * u[:, 3] - 1) * (1 - height)], dim=1)
        transform = torch.stack([horizontal, vertical], dim=1)  # (B, 2, 3)
        grid = F.affine_grid(transform, list(x.shape), align_corners=False)
        return F.grid_sample(x, grid, padding_mode="border", align_corners=False)

    def _recolor(self, kornia: ModuleType, x: Tensor, u: Tensor) -> Tensor:
        """Return images x (B, C, S, S) jittered, some in gray; u (B, 16) are the random numbers."""
        strength = self.jitter * (u[:, 5] < self.jitter_probability).float()
        amount = [strength * (2 * u[:, column] - 1) for column in range(6, 10)]
        enhance = kornia.enhance
        x = enhance.adjust_brightness_accumulative(x, 1 + amount[0])
        x = enhance.adjust_contrast_with_mean_subtraction(x, 1 + amount[1])
        if x.shape[1] == 3:
            x = enhance.adjust_saturation_with_gray_subtraction(x, 1 + amount[2])
            x = enhance.adjust_hue(x, amount[3] / 4 * 2 * math.pi)
            gray = (u[:, 10] < self.gray)[:, None, None, None]
            x = torch.where(gray, kornia.color.rgb_to_grayscale(x), x)
        return x.clamp(0, 1)


def _uniform(images: Pixels, view_index: int, *, seed: int) -> Tensor:
    """Return uniform numbers in [0, 1] (B, 16), determined by each image, ``view_index`` and ``seed``."""
    salt = (seed % 2**64).to_bytes(8) + view_index.to_bytes(8)
    digests = b"".join(blake2b(image.tobytes(), digest_size=4 * _N_UNIFORM, salt=salt).digest() for image in images)
    integers = np.frombuffer(digests, dtype="<u4").reshape(len(images), _N_UNIFORM)
    return torch.from_numpy((integers / 2**32).astype(np.float32))


def _import_kornia() -> ModuleType:
    try:
        return import_module("kornia")
    except ImportError:
        raise MissingExtraError("The augmenter 'crop'", "images") from None
