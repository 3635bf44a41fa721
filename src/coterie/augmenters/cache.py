"""Keep views on disk under a hash of everything they are made from, where making them takes time."""

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
from coterie.data.cache import user_cache

WORTH_KEEPING = 1.0  # seconds of making from which on a view is kept
LARGEST = 2**30  # bytes of the views that are kept; the oldest go first
_VERSION = "1"  # to be raised when an augmenter answers differently than before


class CacheWarning(UserWarning):
    """Views could not be kept on disk."""


class Recipe(NamedTuple):
    """All that a view depends on."""

    augmenter: str
    number: int
    seed: int
    texts: Sequence[str]

    @property
    def key(self) -> str:
        """A hash of it; texts of equal content in equal order have equal keys."""
        digest = hashlib.sha256(json.dumps([_VERSION, self.augmenter, self.number, self.seed]).encode())
        digest.update(json.dumps(list(self.texts)).encode())
        return digest.hexdigest()


def cache_folder() -> Path:
    """Return the folder of what augmenters keep: below COTERIE_CACHE, else in the user's cache."""
    return user_cache("augmenters")


def kept(make: Callable[[], list[str]], recipe: Recipe) -> list[str]:
    """Return what ``make`` returns, from the disk where it was made before."""
    path = cache_folder() / f"{recipe.key}.json"
    if (known := _read(path, len(recipe.texts))) is not None:
        return known
    start = time.perf_counter()
    views = make()
    if time.perf_counter() - start >= WORTH_KEEPING:
        _write(path, views)
    return views


def _read(path: Path, n_views: int) -> list[str] | None:
    try:
        views = json.loads(path.read_bytes())
        os.utime(path)  # what is used is not the oldest
    except (OSError, ValueError):  # not there, not ours to read, or damaged: it is made anew
        return None
    whole = isinstance(views, list) and len(views) == n_views and all(isinstance(view, str) for view in views)
    return views if whole else None


def _write(path: Path, views: list[str]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # views are as private as texts
        with atomic_file(path) as temporary:
            temporary.write_text(json.dumps(views), encoding="utf-8")
        _remove_oldest(path.parent)
    except OSError as error:
        warnings.warn(
            f"The views are not kept in {path.parent} ({error}) and will be made again next time. "
            "Name another folder in COTERIE_CACHE.",
            CacheWarning,
            stacklevel=4,
        )


def _remove_oldest(folder: Path) -> None:
    files = sorted(((p.stat().st_mtime, p.stat().st_size, p) for p in folder.glob("*.json")), reverse=True)
    total = 0
    for _, size, path in files:
        total += size
        if total > LARGEST:
            path.unlink(missing_ok=True)
