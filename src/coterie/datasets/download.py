"""Public files with a known SHA-256: from the folder COTERIE_DATA, else from the cache, else downloaded."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.request
import warnings
from dataclasses import dataclass
from pathlib import Path

from coterie.data.atomic import atomic_file
from coterie.data.user_cache import user_cache
from coterie.errors import InputError, RepackedWarning, user_level
from coterie.progress import track

_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class RemoteFile:
    """A public file, its address and its SHA-256."""

    name: str
    url: str
    sha256: str
    may_be_repacked: bool = False  # whether the file in COTERIE_DATA may have other bytes, e.g. other compression


def fetch(file: RemoteFile) -> bytes:
    """Return the bytes of a public file after checking its SHA-256; a download is stored in the cache."""
    for folder in _folders():
        path = folder / file.name
        if path.is_file():
            data = path.read_bytes()
            if file.may_be_repacked and folder != cache_folder() and sha256(data) != file.sha256:
                _warn(path, file)
                return data
            return _checked(data, file, str(path), "Remove it to download it again.")
    data = _checked(_download(file), file, file.url, "The download is incomplete, or the file has changed: try again.")
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        with atomic_file(cache_folder() / file.name) as temporary:
            temporary.write_bytes(data)
    except OSError as error:
        raise InputError(
            f"Cannot store {file.name} in {cache_folder()} ({error}). Name another folder in COTERIE_CACHE."
        ) from None
    return data


def is_local(file: RemoteFile) -> bool:
    """Whether :func:`fetch` needs no network."""
    return any((folder / file.name).is_file() for folder in _folders())


def cache_folder() -> Path:
    """Return the folder for downloads."""
    return user_cache("datasets")


def _folders() -> list[Path]:
    data_folder = os.environ.get("COTERIE_DATA")
    return [Path(data_folder), cache_folder()] if data_folder else [cache_folder()]


def _checked(data: bytes, file: RemoteFile, source: str, advice: str) -> bytes:
    found = sha256(data)
    if found != file.sha256:
        raise InputError(
            f"{source} is not the published {file.name} (SHA-256 {found[:12]}..., expected "
            f"{file.sha256[:12]}...). {advice}"
        )
    return data


def _warn(path: Path, file: RemoteFile) -> None:
    warnings.warn(
        f"{path} has other bytes than the published {file.name}; scores are comparable only if it has the same images.",
        RepackedWarning,
        stacklevel=user_level(),
    )


def sha256(data: bytes) -> str:
    """Return the SHA-256 in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def _download(file: RemoteFile) -> bytes:
    chunks = []
    try:
        with urllib.request.urlopen(file.url, timeout=60) as reply:
            size = int(reply.headers.get("Content-Length") or 0)
            with track(f"Downloading {file.name}", size) as advance:
                while chunk := reply.read(_CHUNK_BYTES):
                    chunks.append(chunk)
                    advance(len(chunk))
    except (http.client.HTTPException, OSError) as error:
        raise InputError(
            f"Cannot download {file.url} ({error}). Download it by hand into a folder, and name the folder in the "
            f"environment variable COTERIE_DATA."
        ) from None
    return b"".join(chunks)
