"""Digits: small images of handwritten digits, part of scikit-learn."""

from __future__ import annotations

import numpy as np

from coterie.datasets.dataset import DATASETS, ImageEntry
from coterie.datasets.readers import LabeledImages


def read_digits() -> LabeledImages:
    """Return the images of scikit-learn, whose pixels are 0 to 16, with pixels 0 to 255."""
    from sklearn.datasets import load_digits

    data = load_digits()
    images = np.rint(data.images * (255 / 16)).astype(np.uint8)[..., None]  # (N, 8, 8, 1)
    return LabeledImages(images, data.target.astype(np.int64))


DATASETS.register(
    ImageEntry(
        name="digits",
        title="Digits, handwritten, 8 x 8 (part of scikit-learn)",
        terms="part of scikit-learn",
        n_items=1797,
        n_clusters=10,
        label_names=("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
        order=80,
        read=read_digits,
    )
)
