"""Check and read images once, first: arrays, a folder, or a list of files become one array of small squares.

An array that already fits stays as it is and needs no other package. Everything else is Pillow's work (extra
``images``): an image is turned as its EXIF says, laid on white where it is transparent, cut to a square around its
middle, and resized.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.contracts import Items, Pixels
from coterie.data.atomic import atomic_folder
from coterie.data.rows import OnEmpty, Rows, collapse, frame_column
from coterie.errors import InputError, MissingExtraError
from coterie.progress import track

LARGEST = 32  # side up to which images keep their size where nobody asks for another
SUFFIXES = (".png", ".jpg", ".jpeg")
_GRAY = ("1", "L", "LA", "I", "I;16", "I;16B", "F")  # Pillow's modes without colour
_LUMA = np.array([19595, 38470, 7471])  # of 65536: Pillow's own weights, so that files and arrays agree


class UnreadableImageWarning(UserWarning):
    """Some files are no images that can be read, and get no cluster."""


@dataclass(frozen=True)
class Images(Rows[Pixels]):
    """Distinct images (N, S, S, C), C 1 or 3, and the way back to the rows they came from."""

    noun = "images"
    warning = UnreadableImageWarning

    failures: tuple[str, ...] = ()  # the name of each unreadable file, and why

    @property
    def complaint(self) -> str:
        """What to say of the unreadable files."""
        return f"{self.n_blank} of {self.n_rows} images cannot be read and get no cluster: {_listed(self.failures)}."

    def contents(self) -> Iterator[bytes]:
        """Yield a digest of each distinct image."""
        return (_digest(image) for image in self.unique)


def check_images(
    images: Any,
    column: str | None = None,
    *,
    side: int | None = None,
    channels: int | None = None,
    on_empty: OnEmpty = "keep",
) -> Images:
    """Return what can be clustered of ``images``, or raise :class:`InputError` naming the row or the file.

    ``images`` is an array (N, H, W) or (N, H, W, C) of bytes, or of numbers from 0 to 1; a folder; a list or Series of
    files; or a data frame together with the name of its ``column`` of files. Without ``side`` and ``channels`` they
    keep their own, if they agree and are no larger than 32 x 32.
    """
    found = _found(images, column)
    if not len(found):
        raise InputError("There are no images. Give at least as many images as clusters.")
    failures: dict[int, str] = {}
    if isinstance(found, np.ndarray):
        pixels = _from_array(found, side, channels)
    else:
        pixels, failures = _from_files(found, side, channels)
    if failures and on_empty == "error":
        raise InputError(
            f"{len(failures)} of {len(found)} images cannot be read: {_listed(list(failures.values()))}. Remove them, "
            "or use on_empty='keep' (--on-empty keep) to leave them without a cluster."
        )
    if len(failures) == len(found):
        raise InputError(f"None of the {len(found)} images can be read: {_listed(list(failures.values()))}.")
    keys = [None if row in failures else _digest(image) for row, image in enumerate(pixels)]
    distinct, inverse, counts = collapse(keys)
    first = np.full(len(distinct), len(keys))
    told = inverse >= 0
    np.minimum.at(first, inverse[told], np.flatnonzero(told))
    return Images(pixels[first], inverse, counts, tuple(failures.values()))


def image_files(folder: str | Path) -> list[Path]:
    """Return the PNG and JPEG files below ``folder``, sorted by their names."""
    folder = Path(folder)
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise InputError(f"{folder} {what}. Name a folder with images (PNG, JPEG).")
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    if not files:
        raise InputError(f"There are no images (PNG, JPEG) in the folder {folder}.")
    return files


def write_folder(images: Items, labels: Sequence[str], folder: Path) -> None:
    """Write images (N, S, S, C) as PNG files in a new folder, in a folder for each label."""
    if folder.exists():
        raise InputError(f"{folder} is there already. Name a new folder.")
    pillow = _pillow()
    with atomic_folder(folder) as temporary:
        for number, (image, label) in enumerate(zip(images, labels, strict=True)):
            (temporary / label).mkdir(exist_ok=True)
            pillow.Image.fromarray(np.squeeze(image)).save(temporary / label / f"{number:05}.png")


def _found(images: Any, column: str | None) -> NDArray[Any] | list[Path]:
    """Return the images as an array, or the files that hold them."""
    if isinstance(images, str | Path):
        return list(image_files(images))
    if hasattr(images, "columns"):  # a pandas or polars data frame
        return _paths(frame_column(images, column, "image"))
    if column is not None:
        raise InputError(f"column={column!r} needs a data frame, got {type(images).__name__}.")
    if getattr(images, "ndim", 1) != 1:
        return np.asarray(images)
    if not isinstance(images, Iterable) or isinstance(images, Mapping | bytes):
        raise InputError(f"Expected images, got {type(images).__name__}. Give an array, a folder, or a list of files.")
    rows = list(images)
    if rows and isinstance(rows[0], np.ndarray):
        if len({getattr(row, "shape", None) for row in rows}) > 1:
            raise InputError("The arrays of the list differ in shape. Give one array (N, H, W, C), or files.")
        return np.stack(rows)
    return _paths(rows)


def _paths(values: Sequence[Any]) -> list[Path]:
    for row, value in enumerate(values, start=1):
        if not isinstance(value, str | Path):
            raise InputError(f"Row {row} is {value!r}, not the name of an image file. Drop or fill such rows first.")
    return [Path(value) for value in values]


# -- arrays ------------------------------------------------------------------------------------------------


def _from_array(array: NDArray[Any], side: int | None, channels: int | None) -> Pixels:
    if array.ndim not in (3, 4) or (array.ndim == 4 and array.shape[3] not in (1, 3)) or 0 in array.shape:
        hint = " Channels come last: np.moveaxis(images, 1, -1)." if array.shape[1:2] in ((1,), (3,)) else ""
        raise InputError(
            f"Expected images as an array (N, H, W) or (N, H, W, C) with 1 or 3 channels, got {array.shape}.{hint}"
        )
    pixels = _as_bytes(array)[..., None] if array.ndim == 3 else _as_bytes(array)
    height, width = pixels.shape[1:3]
    side = side or (height if height == width <= LARGEST else LARGEST)
    pixels = _recoloured(pixels, channels or pixels.shape[3])
    if (height, width) == (side, side):
        return np.ascontiguousarray(pixels)
    pillow = _pillow()
    return np.stack(
        [_square(pillow, pillow.Image.fromarray(image.squeeze()), side, pixels.shape[3]) for image in pixels]
    )


def _as_bytes(array: NDArray[Any]) -> Pixels:
    """Return an array of bytes, or raise :class:`InputError` naming the first row that has other values."""
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind not in "biuf":
        raise InputError(f"Expected images of numbers, got an array of {array.dtype}.")
    top = 1 if array.dtype.kind in "bf" else 255
    bad = ~((array >= 0) & (array <= top)).reshape(len(array), -1).all(axis=1)  # NaN is neither
    if bad.any():
        row = int(bad.argmax())
        advice = " Divide by 255, or give uint8." if top == 1 else ""
        raise InputError(
            f"Row {row + 1} holds values from {array[row].min():g} to {array[row].max():g}, expected 0 to {top}."
            f"{advice}"
        )
    return np.rint(array * (255 / top)).astype(np.uint8)


def _recoloured(pixels: Pixels, channels: int) -> Pixels:
    if pixels.shape[3] == channels:
        return pixels
    if channels == 3:
        return pixels.repeat(3, axis=3)
    gray: Pixels = ((pixels @ _LUMA + 0x8000) >> 16).astype(np.uint8)[..., None]
    return gray


# -- files -------------------------------------------------------------------------------------------------


def _from_files(files: list[Path], side: int | None, channels: int | None) -> tuple[Pixels, dict[int, str]]:
    """Return the images (N, S, S, C), and by row what is wrong with those that cannot be read."""
    pillow = _pillow()
    if side is None or channels is None:
        own_side, own_channels = _agreed(pillow, files)
        side, channels = side or own_side, channels or own_channels
    pixels: Pixels = np.zeros((len(files), side, side, channels), dtype=np.uint8)
    failures: dict[int, str] = {}
    with track("Reading", len(files)) as advance:
        for row, path in enumerate(files):
            try:
                with pillow.Image.open(path) as image:
                    pixels[row] = _square(pillow, image, side, channels)
            except _broken(pillow) as error:
                failures[row] = f"{path} ({_reason(error)})"
            advance(1)
    return pixels, failures


def _agreed(pillow: ModuleType, files: list[Path]) -> tuple[int, int]:
    """Return the side and the channels that all files have, as their headers say; 32 and colour where they differ."""
    sizes, modes = set(), set()
    for path in files:
        try:
            with pillow.Image.open(path) as image:
                sizes.add(image.size)
                modes.add(image.mode)
        except _broken(pillow):  # told when it is read
            continue
    width, height = sizes.pop() if len(sizes) == 1 else (0, 1)
    return width if width == height <= LARGEST else LARGEST, 1 if modes <= set(_GRAY) else 3


def _square(pillow: ModuleType, image: Any, side: int, channels: int) -> Pixels:
    """Return the middle of ``image`` as a square (S, S, C)."""
    image = pillow.ImageOps.exif_transpose(image)
    if image.mode.startswith("I"):  # 16 bits a pixel, which Pillow would clip instead of scale
        image = pillow.Image.fromarray((np.asarray(image).astype(np.int64) >> 8).clip(0, 255).astype(np.uint8))
    if image.has_transparency_data:
        white = pillow.Image.new("RGBA", image.size, "white")
        image = pillow.Image.alpha_composite(white, image.convert("RGBA"))
    image = image.convert("L" if channels == 1 else "RGB")
    if image.size != (side, side):
        image = pillow.ImageOps.fit(image, (side, side), pillow.Image.Resampling.BICUBIC)
    return np.asarray(image).reshape(side, side, channels)


def _broken(pillow: ModuleType) -> tuple[type[Exception], ...]:
    return OSError, ValueError, SyntaxError, EOFError, pillow.Image.DecompressionBombError


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    return "it is no image, or damaged"


def _pillow() -> ModuleType:
    try:
        import PIL.Image
        import PIL.ImageOps
    except ImportError:
        raise MissingExtraError("Reading and resizing images", "images") from None
    return PIL


def _digest(image: Pixels) -> bytes:
    return blake2b(np.ascontiguousarray(image).data, digest_size=16).digest()


def _listed(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
