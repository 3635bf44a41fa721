"""An encoder for experiments whose embeddings are always read from the cache, with the time that they once took.

Augmented views have a cache of their own (coterie.augmenters.view_cache).
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Self

from coterie.contracts import Items, Vectors
from coterie.data.rows import OnEmpty, Rows
from coterie.encoders.embedding_cache import Embedded, cache_folder, load, store
from coterie.encoders.encoder import Encoder, make_encoder
from coterie.encoders.joined import JoinedEncoder
from coterie.hyper import hyper


def default_folder() -> Path:
    """Return the default folder of the cache, which `coterie cluster` uses as well."""
    return cache_folder()


class CachedEncoder(Encoder):
    """Wraps another encoder and caches its embeddings on disk, also those that take no time."""

    inner: str | Encoder = hyper("bundled", "encoder that computes the embeddings")
    folder: str | Path = hyper(".", "folder of the cache")

    def check(self, X: Any, column: str | None = None, *, on_empty: OnEmpty = "keep") -> Rows[Any]:  # noqa: N803
        """Validate ``X`` as the wrapped encoder does."""
        inner = self._inner if hasattr(self, "_inner") else make_encoder(self.inner)  # also works before `fit`
        return inner.check(X, column, on_empty=on_empty)

    def fit(self, items: Items) -> Self:
        """Fit the wrapped encoder."""
        inner = make_encoder(self.inner)
        if isinstance(inner, JoinedEncoder):  # the embeddings of its parts are cached
            parts = [CachedEncoder(inner=part, folder=self.folder) for part in inner.parts]
            inner = JoinedEncoder(encoders=parts, weights=inner.weights)
        self._inner = inner.fit(items)
        return self

    @property
    def dim(self) -> int:
        """The dimension D of the embeddings."""
        return self._inner.dim

    @property
    def below(self) -> Encoder:
        """The encoder below the wrapped one; this one, if there is none."""
        below = self._inner.below
        return self if below is self._inner else below

    def embed(self, items: Items) -> Vectors:
        """Return h (N, D) from the cache, or compute and store it."""
        if isinstance(self._inner, JoinedEncoder):
            return self._inner.embed(items)
        path = self._path(items)
        known = load(path)
        if known is None:
            start = time.perf_counter()
            known = Embedded(self._inner.embed(items), time.perf_counter() - start)
            store(path, known, self._inner.cache_info())
        return known.h

    def seconds(self, items: Items) -> float | None:
        """Return the seconds that embedding ``items`` took; None when they are not in the cache."""
        if isinstance(self._inner, JoinedEncoder):
            parts = [part.seconds(items) for part in self._inner.parts if isinstance(part, CachedEncoder)]
            return None if None in parts else sum(seconds for seconds in parts if seconds is not None)
        known = load(self._path(items))
        return None if known is None else known.seconds

    def fingerprint(self) -> str:
        """Return the hash of the weights of the wrapped encoder."""
        return self._inner.fingerprint()

    def _path(self, items: Items) -> Path:
        return Path(self.folder) / f"{self._inner.corpus_key(items)}.npy"  # the weights are loaded here, not in `embed`
