"""Check and deduplicate images: an array, a folder, or a list of files becomes one array of small square images.

An array of the right shape is used as it is. Everything else needs Pillow (extra ``images``): an image is rotated
by its EXIF orientation, pasted on white where it is transparent, cropped to the central square, and resized.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.contracts import Items, Pixels
from coterie.data.atomic import atomic_folder
from coterie.data.limits import PIXELS
from coterie.data.ownership import check_folder, write_marker
from coterie.data.rows import OnEmpty, Rows, deduplicate
from coterie.errors import InputError, MissingExtraError, UnreadableImageWarning
from coterie.printable import listed
from coterie.progress import track
from coterie.wording import count

_PILLOW_FORMATS = ("PNG", "JPEG")  # whatever a file is called: for others Pillow may start programs (EPS: Ghostscript)
MAX_SIDE = 32  # images up to this side keep their size unless another size is set
SUFFIXES = (".png", ".jpg", ".jpeg")
_GRAY = ("1", "L", "LA", "I", "I;16", "I;16B", "F")  # Pillow's modes without color
_LUMA = np.array([19595, 38470, 7471])  # of 65536: Pillow's weights, so that files and arrays give equal grays


@dataclass(frozen=True)
class Images(Rows[Pixels]):
    """The distinct images (N, S, S, C) of an input, C being 1 or 3, and the distinct image of each row."""

    noun = "images"
    blank_warning = UnreadableImageWarning

    failures: tuple[str, ...] = ()  # name of each unreadable file, and the reason

    @property
    def blank_message(self) -> str:
        """Text of the warning about unreadable files."""
        failures = _join_first(self.failures)
        verb = "gets" if self.n_blank == 1 else "get"
        return f"{self.n_blank} of {count(self.n_rows, 'images')} cannot be read and {verb} no cluster: {failures}."

    def digests(self) -> Iterator[bytes]:
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
    """Return the deduplicated ``images``, or raise :class:`InputError` with the row or file that is wrong.

    ``images`` is an array (N, H, W) or (N, H, W, C) of bytes, or of numbers from 0 to 1; a folder; a list or Series of
    files; or a data frame together with the name of its ``column`` of files. Without ``side`` and ``channels``, images
    keep their own if all are equal and no larger than 32 x 32.
    """
    source = _as_array_or_files(images, column)
    if not len(source):
        raise InputError("There are no images. Give at least as many images as clusters.")
    failures: dict[int, str] = {}
    if isinstance(source, np.ndarray):
        pixels = _from_array(source, side, channels)
    else:
        pixels, failures = _from_files(source, side, channels)
    if failures and on_empty == "error":
        raise InputError(
            f"{len(failures)} of {len(source)} images cannot be read: {_join_first(list(failures.values()))}. "
            "Remove them, or use on_empty='keep' (--on-empty keep) to leave them without a cluster."
        )
    if len(failures) == len(source):
        raise InputError(f"None of the {len(source)} images can be read: {_join_first(list(failures.values()))}.")
    keys = [None if row in failures else _digest(image) for row, image in enumerate(pixels)]
    distinct, inverse, counts = deduplicate(keys)
    first_row = np.full(len(distinct), len(keys))
    readable = np.flatnonzero(inverse >= 0)
    np.minimum.at(first_row, inverse[readable], readable)
    return Images(pixels[first_row], inverse, counts, tuple(failures.values()))


def image_files(folder: str | Path) -> list[Path]:
    """Return the PNG and JPEG files below ``folder``, sorted by their names."""
    folder = Path(folder)
    if not folder.is_dir():
        problem = "is a file" if folder.exists() else "does not exist"
        raise InputError(f"{folder} {problem}. Name a folder with images (PNG, JPEG).")
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    if not files:
        raise InputError(f"There are no images (PNG, JPEG) in the folder {folder}.")
    return files


def write_folder(images: Items, labels: Sequence[str], folder: Path, *, overwrite: bool = False) -> None:
    """Write images (N, S, S, C) as PNG files into a new folder, with one subfolder for each label."""
    check_folder(folder, overwrite=overwrite)
    pillow = _pillow()
    with atomic_folder(folder, overwrite=overwrite) as temporary:
        for number, (image, label) in enumerate(zip(images, labels, strict=True)):
            (temporary / label).mkdir(exist_ok=True)
            pillow.Image.fromarray(np.squeeze(image)).save(temporary / label / f"{number:05}.png")
        write_marker(temporary)


def _frame_column(frame: Any, column: str | None) -> list[Any]:
    """Return the values of ``column`` of a pandas or polars data frame; without a name, of its only column."""
    names = list(frame.columns)
    if column is None and len(names) == 1:
        column = names[0]
    if column is None or column not in names:
        problem = "Name the image column" if column is None else f"There is no column {column!r}"
        raise InputError(f"{problem}: column=... is one of {listed(names)}.")
    return list(frame[column])


def _as_array_or_files(images: Any, column: str | None) -> NDArray[Any] | list[Path]:
    """Return an array of images as an array, and everything else as a list of files."""
    if isinstance(images, str | Path):
        return list(image_files(images))
    if hasattr(images, "columns"):  # a pandas or polars data frame
        return _paths(_frame_column(images, column))
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
    side = side or (height if height == width <= MAX_SIDE else MAX_SIDE)
    pixels = _convert_channels(pixels, channels or pixels.shape[3])
    if (height, width) == (side, side):
        return np.ascontiguousarray(pixels)
    pillow = _pillow()
    return np.stack(
        [_square(pillow, pillow.Image.fromarray(image.squeeze()), side, pixels.shape[3]) for image in pixels]
    )


def _as_bytes(array: NDArray[Any]) -> Pixels:
    """Return the images as bytes, or raise :class:`InputError` with the first row that is out of range."""
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind not in "biuf":
        raise InputError(f"Expected images of numbers, got an array of {array.dtype}.")
    top = 1 if array.dtype.kind in "bf" else 255
    bad = ~((array >= 0) & (array <= top)).reshape(len(array), -1).all(axis=1)  # True for NaN
    if bad.any():
        row = int(bad.argmax())
        advice = " Divide by 255, or give uint8." if top == 1 else ""
        raise InputError(
            f"Row {row + 1} has values from {array[row].min():g} to {array[row].max():g}, expected 0 to {top}.{advice}"
        )
    return np.rint(array * (255 / top)).astype(np.uint8)


def _convert_channels(pixels: Pixels, channels: int) -> Pixels:
    """Return gray images as color images, or color images as gray images."""
    if pixels.shape[3] == channels:
        return pixels
    if channels == 3:
        return pixels.repeat(3, axis=3)
    gray: Pixels = ((pixels @ _LUMA + 0x8000) >> 16).astype(np.uint8)[..., None]
    return gray


# -- files -------------------------------------------------------------------------------------------------


def _from_files(files: list[Path], side: int | None, channels: int | None) -> tuple[Pixels, dict[int, str]]:
    """Return the images (N, S, S, C), and for each unreadable row its file and the reason."""
    pillow = _pillow()
    if side is None or channels is None:
        common_side, common_channels = _common_shape(pillow, files)
        side = side or common_side
        channels = channels or common_channels
    pixels: Pixels = np.zeros((len(files), side, side, channels), dtype=np.uint8)
    failures: dict[int, str] = {}
    with track("Reading", len(files)) as advance:
        for row, path in enumerate(files):
            try:
                with _open(pillow, path) as image:
                    PIXELS.check(image.width * image.height, "it")
                    pixels[row] = _square(pillow, image, side, channels)
            except InputError as error:
                failures[row] = f"{path} ({str(error).removesuffix('.')})"
            except _read_errors() as error:
                failures[row] = f"{path} ({_reason(error)})"
            advance(1)
    return pixels, failures


def _common_shape(pillow: ModuleType, files: list[Path]) -> tuple[int, int]:
    """Return the side and the channels of all files, from their headers; 32 and 3 if the files differ."""
    sizes = set()
    modes = set()
    for path in files:
        try:
            with _open(pillow, path) as image:
                sizes.add(image.size)
                modes.add(image.mode)
        except _read_errors():  # reported when the whole file is read
            continue
    width, height = sizes.pop() if len(sizes) == 1 else (0, 1)
    side = width if width == height <= MAX_SIDE else MAX_SIDE
    channels = 1 if modes <= set(_GRAY) else 3
    return side, channels


def _square(pillow: ModuleType, image: Any, side: int, channels: int) -> Pixels:
    """Return the central square of ``image``, resized to (S, S, C)."""
    image = pillow.ImageOps.exif_transpose(image)
    if image.mode.startswith("I"):  # 16 bits a pixel: Pillow would clip instead of scaling
        image = pillow.Image.fromarray((np.asarray(image).astype(np.int64) >> 8).clip(0, 255).astype(np.uint8))
    if image.has_transparency_data:
        white = pillow.Image.new("RGBA", image.size, "white")
        image = pillow.Image.alpha_composite(white, image.convert("RGBA"))
    image = image.convert("L" if channels == 1 else "RGB")
    if image.size != (side, side):
        image = pillow.ImageOps.fit(image, (side, side), pillow.Image.Resampling.BICUBIC)
    return np.asarray(image).reshape(side, side, channels)


@contextmanager
def _open(pillow: ModuleType, path: Path) -> Iterator[Any]:
    """Open an image of any size; Pillow's limit is fixed, so ours is checked instead."""
    if path.exists() and not path.is_file():  # a pipe would never end
        raise OSError("not a file")
    limit = pillow.Image.MAX_IMAGE_PIXELS
    pillow.Image.MAX_IMAGE_PIXELS = None
    try:
        with pillow.Image.open(path, formats=_PILLOW_FORMATS) as image:
            yield image
    finally:
        pillow.Image.MAX_IMAGE_PIXELS = limit


def _read_errors() -> tuple[type[Exception], ...]:
    return OSError, ValueError, SyntaxError, EOFError, MemoryError, OverflowError


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    return "it is not an image, or damaged"


def _pillow() -> ModuleType:
    try:
        import PIL.Image
        import PIL.ImageOps
    except ImportError:
        raise MissingExtraError("Reading and resizing images", "images") from None
    return PIL


def _digest(image: Pixels) -> bytes:
    return blake2b(np.ascontiguousarray(image).data, digest_size=16).digest()


def _join_first(names: Sequence[str], n: int = 3) -> str:
    more = f" and {len(names) - n} more" if len(names) > n else ""
    return ", ".join(names[:n]) + more
