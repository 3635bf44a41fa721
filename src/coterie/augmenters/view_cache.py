"""A cache of views on disk, under a hash of everything that the views depend on."""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from coterie.data.atomic import atomic_file
from coterie.data.user_cache import remove_least_recently_used, user_cache
from coterie.errors import CacheWarning, user_level

MIN_SECONDS = 1.0  # views that take less time to make are not cached
MAX_BYTES = 2**30  # size of the cache; the least recently used views are removed first
_VERSION = "1"  # increase it when an augmenter's views change


class ViewKey(NamedTuple):
    """Everything that a view depends on."""

    fingerprint: str  # of the augmenter
    view_index: int
    seed: int
    texts: Sequence[str]

    @property
    def sha256(self) -> str:
        """A hash of it. The same texts in the same order have the same hash."""
        digest = hashlib.sha256(json.dumps([_VERSION, self.fingerprint, self.view_index, self.seed]).encode())
        digest.update(json.dumps(list(self.texts)).encode())
        return digest.hexdigest()


def cache_folder() -> Path:
    """Return the folder of cached views and models: in COTERIE_CACHE, else in the user's cache folder."""
    return user_cache("augmenters")


def load_or_make(make: Callable[[], list[str]], key: ViewKey) -> list[str]:
    """Return the cached view of ``key``; if there is none, return what ``make`` returns and cache it."""
    path = cache_folder() / f"{key.sha256}.json"
    cached = _read(path, len(key.texts))
    if cached is not None:
        return cached
    start = time.perf_counter()
    view = make()
    if time.perf_counter() - start >= MIN_SECONDS:
        _write(path, view)
    return view


def _read(path: Path, n_texts: int) -> list[str] | None:
    """Return a cached view, or None if the file is missing, unreadable or damaged."""
    try:
        view = json.loads(path.read_bytes())
        os.utime(path)  # the least recently used files are removed first
    except (OSError, ValueError):
        return None
    valid = isinstance(view, list) and len(view) == n_texts and all(isinstance(text, str) for text in view)
    return view if valid else None


def _write(path: Path, view: list[str]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # views are as private as texts
        with atomic_file(path) as temporary:
            temporary.write_text(json.dumps(view), encoding="utf-8")
        remove_least_recently_used(path.parent, MAX_BYTES)
    except OSError as error:
        warnings.warn(
            f"Cannot write views to the cache {path.parent} ({error}); they will be computed again next time. "
            "Set COTERIE_CACHE to another folder.",
            CacheWarning,
            stacklevel=user_level(),
        )
