"""The cache folder for downloads and for results that can be recomputed."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

KINDS = {
    "embeddings": "embeddings of texts, least recently used removed first",
    "augmenters": "views of texts, least recently used removed first",
    "names": "answers of language models about names of clusters",
    "models": "weights of encoders, converted once",
    "datasets": "downloaded data sets",
    "compiled": "code that numba compiled for NN-descent",
    "processor": "which number formats this processor runs",
}
"""The kinds of files in the cache."""
_RESULT = re.compile(r"[0-9a-f]{64}\.(npy|json)")  # a result is named by the hash of all that it depends on


def user_cache(kind: str) -> Path:
    """Return the cache folder of one kind of files: below COTERIE_CACHE if it is set, else in the user's cache."""
    if named := os.environ.get("COTERIE_CACHE"):
        return Path(named) / kind
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "coterie" / kind


def is_private(folder: Path) -> bool:
    """Create ``folder``, and return whether only this user can write to it, as code that is kept there requires."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = folder.lstat()
    except OSError:
        return False
    if not hasattr(os, "getuid"):  # Windows: the user's profile is private
        return True
    return found.st_uid == os.getuid() and stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o022


def cached_files(kind: str) -> list[Path]:
    """Return the files of one kind."""
    return sorted(path for path in user_cache(kind).rglob("*") if path.is_file())


def clear_results(kind: str) -> int:
    """Remove the cached results of one kind, and nothing else; return the number of bytes that this frees."""
    removed = 0
    for path in _results(user_cache(kind)):
        removed += path.stat().st_size
        path.unlink(missing_ok=True)
    return removed


def remove_least_recently_used(folder: Path, max_bytes: int) -> None:
    """Remove the cached results below ``folder`` that do not fit into ``max_bytes``."""
    results: dict[str, list[os.stat_result]] = {}
    for path in _results(folder):
        results.setdefault(str(path.with_suffix("")), []).append(path.stat())
    total = 0
    for name, stats in sorted(results.items(), key=lambda item: -max(entry.st_mtime_ns for entry in item[1])):
        total += sum(entry.st_size for entry in stats)
        if total > max_bytes:
            for suffix in (".npy", ".json"):
                Path(name + suffix).unlink(missing_ok=True)


def _results(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if _RESULT.fullmatch(path.name))
