"""Readers that several data sets share: from the bytes of files to labeled texts or images."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.errors import InputError

LabeledTexts = list[tuple[str, str]]
"""Rows of label and text."""


class LabeledImages(NamedTuple):
    """Images (N, S, S, C) and their classes 0..K-1 (N,)."""

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]


def split_lines(data: bytes) -> list[str]:
    """Return the lines of a UTF-8 file without their line endings."""
    return [line.rstrip("\r") for line in data.decode("utf-8-sig").removesuffix("\n").split("\n")]


def read_texts_and_labels(texts: bytes, labels: bytes) -> LabeledTexts:
    """Read two files with a text a line and a label a line."""
    return list(zip((label.strip() for label in split_lines(labels)), split_lines(texts), strict=True))


def read_label_tab_text(data: bytes) -> LabeledTexts:
    """Read a file with a label, a tab and a text a line."""
    rows = (line.partition("\t") for line in split_lines(data))
    return [(label.strip(), text) for label, _, text in rows]


def sample_texts(rows: LabeledTexts, n: int) -> LabeledTexts:
    """Return ``n`` rows with distinct texts, chosen by a hash of the text, so that the sample is always the same."""
    distinct = {text: (label, text) for label, text in rows}
    return sorted(distinct.values(), key=lambda row: hashlib.sha256(row[1].encode()).digest())[:n]


def check_labeled(images: NDArray[np.uint8], labels: NDArray[np.uint8], name: str) -> LabeledImages:
    """Return images with labels 0 to 9, or raise :class:`InputError` with the name of the file."""
    largest = labels.max(initial=0)
    if len(images) != len(labels) or largest > 9:
        raise InputError(f"{name}: {len(images)} images and {len(labels)} labels up to {largest}.")
    return LabeledImages(images, labels.astype(np.int64))


def sample_images(data: LabeledImages, n: int = 10_000) -> LabeledImages:
    """Return ``n`` distinct images. They are chosen by a hash of their pixels, so the sample is always the same."""
    rows_by_hash = {hashlib.sha256(image.tobytes()).digest(): row for row, image in enumerate(data.images)}
    rows = np.array([rows_by_hash[key] for key in sorted(rows_by_hash)[:n]])
    return LabeledImages(data.images[rows], data.labels[rows])
