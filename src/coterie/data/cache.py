"""Where what can be made or fetched again is kept."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache(kind: str) -> Path:
    """Return the folder of one kind of things: below COTERIE_CACHE, else in the user's cache."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("COTERIE_CACHE") or Path(home) / "coterie") / kind
