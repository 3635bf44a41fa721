"""Read and write the files of a model folder: JSON and safetensors. Only regular files of a bounded size are read."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from coterie.errors import ArtifactError

MAX_JSON_BYTES = 2**26
_MAX_HEADER_BYTES = 2**22  # of a safetensors file; 20,000 tensors fit
_MAX_MODEL_GB = 4.0
_MAX_MODEL_GB_VARIABLE = "COTERIE_MAX_MODEL_GB"


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as JSON."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path, *, max_bytes: int = MAX_JSON_BYTES) -> Any:
    """Return the value of a JSON file, or raise :class:`ArtifactError`."""
    with open_file(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > max_bytes:
            raise ArtifactError(f"{path} has {size:,} bytes; at most {max_bytes:,} are read.")
        data = stream.read()
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{path} cannot be read: {error}.") from None


def write_tensors(path: Path, tensors: dict[str, Any]) -> None:
    """Write arrays as safetensors."""
    save_file({name: np.array(value, order="C") for name, value in tensors.items()}, path)


def read_tensors(path: Path) -> dict[str, Any]:
    """Return the arrays of a safetensors file, or raise :class:`ArtifactError`."""
    with _readable(path):
        tensors: dict[str, Any] = load_file(path)
    return tensors


def tensor_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes in a safetensors file by name. Only the header is read, and compared with the file's size."""
    with open_file(path) as stream:
        header = int.from_bytes(stream.read(8), "little")
    if header > _MAX_HEADER_BYTES:
        raise ArtifactError(f"{path} cannot be read: its header has {header:,} bytes.")
    with _readable(path), safe_open(path, framework="np") as file:
        return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise ArtifactError(f"{path} cannot be read: {error}.") from None


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with open_file(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_size(path: Path, expected: int | None) -> None:
    """Raise :class:`ArtifactError` if a file is not as long as the manifest says, or longer than a model may be."""
    with open_file(path) as stream:
        size = os.fstat(stream.fileno()).st_size
    if expected is not None and size != expected:
        raise ArtifactError(
            f"{path} is damaged or was altered: it has {size:,} bytes, but the manifest says {expected:,}."
        )
    if size > max_model_gb() * 1e9:
        raise ArtifactError(
            f"{path} has {size / 1e9:.1f} GB; a model file may have {max_model_gb():g}. If this is right, set "
            f"{_MAX_MODEL_GB_VARIABLE} to a larger number."
        )


def max_model_gb() -> float:
    """Return the largest size of a model file that is read, in gigabytes."""
    try:
        return float(os.environ.get(_MAX_MODEL_GB_VARIABLE, _MAX_MODEL_GB))
    except ValueError:
        return _MAX_MODEL_GB


def open_file(path: Path) -> BufferedReader:
    """Open a regular file, or raise :class:`ArtifactError`; a pipe or a device is not opened."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ArtifactError(f"{path} is not a file (but a folder, a pipe or a device), so it is not read.")
        return path.open("rb")
    except FileNotFoundError:
        raise ArtifactError(f"{path} is missing. Is {path.parent} a coterie model folder?") from None
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError as error:  # a zero byte in the name
        raise ArtifactError(f"{str(path)!r} cannot be read: {error}.") from None
