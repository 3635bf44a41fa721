"""A sample of the rows of an input with their embeddings: what a map shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.contracts import Labels, Pixels, Vectors
from coterie.data.images import Images
from coterie.data.rows import Rows
from coterie.data.texts import Texts

MAX_ROWS = 20_000
MAX_IMAGES = 4_000  # a thumbnail takes more space than a text
EXTREMES = 8  # of every cluster, so many of the most and of the least confident rows are always in the sample
_MIN_PER_CLUSTER = 40
_THUMBNAIL = 48  # largest side of an image that is kept


@dataclass(frozen=True)
class Sample:
    """Some rows of an input that have a cluster, in their order."""

    rows: NDArray[np.int64]  # (n,) row numbers, counted from 0
    h: Vectors  # (n, D)
    texts: list[str] | None = None
    images: Pixels | None = None  # (n, S, S, C) thumbnails


def draw_sample(
    rows: Rows[Any], h: Vectors, labels: Labels, confidence: NDArray[np.float64], *, max_rows: int | None = None
) -> Sample:
    """Return all rows that have a cluster, or a random sample with rows of every cluster.

    ``h`` (n_distinct, D) are the embeddings of the distinct items, ``labels`` and ``confidence`` (n_rows,) those of
    the rows. The sample is the same in every call.
    """
    if max_rows is None:
        max_rows = MAX_IMAGES if isinstance(rows, Images) else MAX_ROWS
    chosen = _choose(labels, confidence, max_rows)
    distinct = rows.inverse[chosen]
    texts = [rows.unique[i] for i in distinct.tolist()] if isinstance(rows, Texts) else None
    images = _thumbnails(rows.unique[distinct]) if isinstance(rows, Images) else None
    return Sample(chosen, h[distinct], texts, images)


def _choose(labels: Labels, confidence: NDArray[np.float64], max_rows: int) -> NDArray[np.int64]:
    """Return row numbers, ascending: the extremes of every cluster first, then rows at random."""
    valid = np.flatnonzero(labels >= 0)
    if len(valid) <= max_rows:
        return valid
    order = valid[np.random.default_rng(0).permutation(len(valid))]
    by_confidence = valid[np.argsort(-confidence[valid], kind="stable")]
    first = np.concatenate([
        _first_of_each(by_confidence, labels, EXTREMES),
        _first_of_each(by_confidence[::-1], labels, EXTREMES),
        _first_of_each(order, labels, _MIN_PER_CLUSTER),
        order,
    ])  # fmt: skip
    _, position = np.unique(first, return_index=True)
    return np.sort(first[np.sort(position)[:max_rows]])


def _first_of_each(order: NDArray[np.int64], labels: Labels, n: int) -> NDArray[np.int64]:
    """Return the first ``n`` rows of each cluster in ``order``."""
    by_cluster = order[np.argsort(labels[order], kind="stable")]
    starts = np.searchsorted(labels[by_cluster], labels[by_cluster])  # where the cluster of each row begins
    return by_cluster[np.arange(len(by_cluster)) - starts < n]


def _thumbnails(images: Pixels) -> Pixels:
    """Return images (N, S, S, C) made small: means of square blocks of pixels."""
    block = -(-images.shape[1] // _THUMBNAIL)
    if block == 1:
        return images
    side = images.shape[1] // block
    blocks = images[:, : side * block, : side * block].reshape(len(images), side, block, side, block, images.shape[3])
    small: Pixels = np.rint(blocks.mean(axis=(2, 4))).astype(np.uint8)
    return small
