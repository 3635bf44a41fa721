"""Colors of clusters: a palette for color-blind readers, given out so that neighbors on the map differ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PALETTE = (
    "#3b75af", "#e07b39", "#2f9e77", "#c4496b", "#7b63b8", "#c9a227",
    "#4fb0c6", "#8a5a44", "#6f9e3f", "#d478b0", "#5b6b7f", "#9c2f2f",
)  # fmt: skip
"""Twelve colors that differ in lightness as well as in hue."""


def assign_colors(centers: NDArray[np.floating], n_colors: int = len(PALETTE)) -> list[int]:
    """Return a color for each cluster at ``centers`` (K, 2) of the map, the clusters being given in order of size.

    Each takes the color whose nearest cluster is the farthest away, of equals the one used least.
    """
    colors: list[int] = []
    for k in range(len(centers)):
        distance = np.linalg.norm(centers[:k] - centers[k], axis=1)
        taken = np.array(colors, dtype=np.int64)
        nearest = [distance[taken == color].min(initial=np.inf) for color in range(n_colors)]
        used = np.bincount(taken, minlength=n_colors)
        colors.append(max(range(n_colors), key=lambda color: (nearest[color], -used[color], -color)))
    return colors
