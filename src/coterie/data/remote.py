"""Public files: from the folder in ``COTERIE_DATA``, else from the cache, else from their address, and checked."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.request
import warnings
from dataclasses import dataclass
from pathlib import Path

from coterie.data.atomic import atomic_file
from coterie.data.cache import user_cache
from coterie.errors import InputError
from coterie.progress import track


class RepackedWarning(UserWarning):
    """A file that the user put there is packed otherwise than the published one."""


@dataclass(frozen=True)
class RemoteFile:
    """A public file and the bytes it must have."""

    name: str
    url: str
    sha256: str
    may_be_repacked: bool = False  # whether the user may put the same data there in other bytes


def fetch(file: RemoteFile) -> bytes:
    """Return the checked bytes of a public file, downloading it into the cache when it is nowhere else."""
    named = os.environ.get("COTERIE_DATA")
    for folder in [Path(named), cache_folder()] if named else [cache_folder()]:
        path = folder / file.name
        if path.is_file():
            data = path.read_bytes()
            if file.may_be_repacked and folder != cache_folder() and _sha256(data) != file.sha256:
                _warn(path, file)
                return data
            return _checked(data, file, str(path), "Remove it, and it is fetched again.")
    data = _checked(_download(file), file, file.url, "The download was cut short, or the file has changed: try again.")
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        with atomic_file(cache_folder() / file.name) as temporary:
            temporary.write_bytes(data)
    except OSError as error:
        raise InputError(
            f"Cannot keep {file.name} in {cache_folder()} ({error}). Name another folder in COTERIE_CACHE."
        ) from None
    return data


def cache_folder() -> Path:
    """Return the folder that downloads are kept in: COTERIE_CACHE, else the user's cache."""
    return user_cache("datasets")


def _checked(data: bytes, file: RemoteFile, place: str, advice: str) -> bytes:
    found = _sha256(data)
    if found != file.sha256:
        raise InputError(
            f"{place} is not the published {file.name} (SHA-256 {found[:12]}..., expected "
            f"{file.sha256[:12]}...). {advice}"
        )
    return data


def _warn(path: Path, file: RemoteFile) -> None:
    warnings.warn(
        f"{path} has other bytes than the published {file.name}; scores compare only if it holds the same images.",
        RepackedWarning,
        stacklevel=3,
    )


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _download(file: RemoteFile) -> bytes:
    parts = []
    try:
        with urllib.request.urlopen(file.url, timeout=60) as reply:
            size = int(reply.headers.get("Content-Length") or 0)
            with track(f"Downloading {file.name}", size) as advance:
                while part := reply.read(1 << 16):
                    parts.append(part)
                    advance(len(part))
    except (http.client.HTTPException, OSError) as error:
        raise InputError(
            f"Cannot download {file.url} ({error}). Fetch it by hand and put it into a folder named by the "
            f"environment variable COTERIE_DATA."
        ) from None
    return b"".join(parts)
