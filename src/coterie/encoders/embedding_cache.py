"""Embeddings on disk, so that a second run on the same texts with the same encoder does not encode them again.

A file is named by a hash of the encoder, its weights and the texts (:meth:`Encoder.corpus_key`). Other processors may
round differently, so each machine has a folder of its own.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from coterie.contracts import Vectors
from coterie.data.atomic import atomic_file
from coterie.data.user_cache import remove_least_recently_used, user_cache
from coterie.encoders.engine.device import machine_key
from coterie.errors import CacheWarning, InputError, user_level

MIN_SECONDS = 1.0  # embeddings that take less time are not cached
_LIMIT = "COTERIE_CACHE_MB"  # environment variable with the size of the cache; 0: no cache
_DEFAULT_MB = 2048


class Embedded(NamedTuple):
    """Embeddings h (N, D), and the seconds that computing them took."""

    h: Vectors
    seconds: float


def cache_folder() -> Path:
    """Return the folder of cached embeddings."""
    return user_cache("embeddings") / machine_key()


def load_or_embed(
    key: str, embed: Callable[[], Vectors], info: dict[str, Any], *, n_bytes: int | None = None
) -> Vectors:
    """Return the cached embeddings of ``key``; if there are none, return what ``embed`` returns and cache it.

    ``n_bytes`` is the size of the whole, if these are a part of it. A whole that does not fit is not cached.
    """
    max_bytes = _max_bytes()
    known = load(cache_folder() / f"{key}.npy") if max_bytes else None
    if known is not None:
        return known.h
    start = time.perf_counter()
    embedded = Embedded(embed(), time.perf_counter() - start)
    n_bytes = embedded.h.nbytes if n_bytes is None else n_bytes
    if embedded.seconds >= MIN_SECONDS and n_bytes <= max_bytes:
        try:
            store(cache_folder() / f"{key}.npy", embedded, info)
            remove_least_recently_used(user_cache("embeddings"), max_bytes)
        except (OSError, InputError) as error:
            warnings.warn(
                f"Cannot write embeddings to the cache {cache_folder()} ({error}); they will be computed again next "
                f"time. Set COTERIE_CACHE to another folder, or {_LIMIT}=0.",
                CacheWarning,
                stacklevel=user_level(),
            )
    return embedded.h


def load(path: Path) -> Embedded | None:
    """Return cached embeddings; None if a file is missing or damaged."""
    try:
        info = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        h = np.load(path, allow_pickle=False)
        os.utime(path)  # the least recently used files are removed first
        embedded = Embedded(np.asarray(h, dtype=np.float32), float(info["seconds"]))
    except (OSError, ValueError, EOFError, KeyError, TypeError, MemoryError, OverflowError, RecursionError):
        return None
    is_whole = embedded.h.ndim == 2 and len(embedded.h) == info.get("n") and bool(np.isfinite(embedded.h).all())
    return embedded if is_whole else None


def store(path: Path, embedded: Embedded, info: dict[str, Any]) -> None:
    """Write embeddings, and beside them what they are."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # embeddings are as private as texts
    with atomic_file(path) as temporary, temporary.open("wb") as stream:
        np.save(stream, embedded.h)
    described = {"seconds": round(embedded.seconds, 2), "n": len(embedded.h), **info}
    with atomic_file(path.with_suffix(".json")) as temporary:
        temporary.write_text(json.dumps(described), encoding="utf-8")


def _max_bytes() -> int:
    text = os.environ.get(_LIMIT, "") or str(_DEFAULT_MB)
    if not text.isdecimal():
        raise InputError(f"The environment variable {_LIMIT} must be a whole number of megabytes, got {text!r}.")
    return int(text) * 2**20
