"""Thumbnails of images on contact sheets: one file for many of them is small."""

from __future__ import annotations

import io

import numpy as np

from coterie.contracts import Pixels
from coterie.errors import MissingExtraError
from coterie.report.data import ContactSheets

_COLUMNS = 32
_PER_SHEET = _COLUMNS * _COLUMNS
_MIN_SIDE = 24  # smaller images are enlarged by a whole factor: JPEG blurs single pixels


def contact_sheets(images: Pixels) -> ContactSheets:
    """Return the contact sheets of thumbnails (N, S, S, C)."""
    scale = max(-(-_MIN_SIDE // images.shape[1]), 1)
    images = images.repeat(scale, axis=1).repeat(scale, axis=2)
    side = images.shape[1]
    files = [_jpeg(_sheet(images[start : start + _PER_SHEET])) for start in range(0, len(images), _PER_SHEET)]
    return ContactSheets(files, side, _COLUMNS, _PER_SHEET)


def _sheet(images: Pixels) -> Pixels:
    """Return one large image (rows * S, columns * S, C)."""
    n, side, _, channels = images.shape
    n_rows = -(-n // _COLUMNS)
    cells = np.zeros((n_rows * _COLUMNS, side, side, channels), dtype=np.uint8)
    cells[:n] = images
    grid = cells.reshape(n_rows, _COLUMNS, side, side, channels).swapaxes(1, 2)
    return np.ascontiguousarray(grid.reshape(n_rows * side, _COLUMNS * side, channels))


def _jpeg(pixels: Pixels) -> bytes:
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtraError("A report on images", "images") from None
    stream = io.BytesIO()
    Image.fromarray(pixels.squeeze(2) if pixels.shape[2] == 1 else pixels).save(stream, "JPEG", quality=85)
    return stream.getvalue()
