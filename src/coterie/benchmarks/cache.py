"""Vectors that several jobs need, computed once and kept on disk under a hash of what they were made from.

Views need nothing of the kind here: augmenters keep theirs (coterie.augmenters.cache).
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from coterie.contracts import Vectors
from coterie.data.atomic import atomic_file
from coterie.data.cache import user_cache
from coterie.data.rows import OnEmpty, Rows
from coterie.encoders.encoder import Encoder, make_encoder
from coterie.hyper import hyper

_FINGERPRINTS: dict[tuple[str, str], str] = {}


def default_folder() -> Path:
    """Return where the cache is: beside the data sets that were downloaded."""
    return user_cache("benchmarks")


class CachedEncoder(Encoder):
    """Another encoder, whose vectors are looked up first."""

    inner: str | Encoder = hyper("bundled", "the encoder that is asked when nothing is kept")
    folder: str | Path = hyper(".", "where vectors are kept")

    def check(self, X: Any, column: str | None = None, *, on_empty: OnEmpty = "keep") -> Rows[Any]:  # noqa: N803
        """Return what the encoder inside reads."""
        inner = self._inner if hasattr(self, "_inner") else make_encoder(self.inner)  # before and after `fit`
        return inner.check(X, column, on_empty=on_empty)

    def fit(self, texts: Sequence[str]) -> Self:
        """Fit the encoder inside."""
        self._inner = make_encoder(self.inner).fit(texts)
        return self

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return h (N, D), computed now or earlier."""
        path = Path(self.folder) / f"{self._key(texts)}.npy"
        try:
            return np.asarray(np.load(path, allow_pickle=False), dtype=np.float32)
        except (OSError, ValueError, EOFError):  # not there, or not whole
            return self._compute(texts, path)

    def seconds(self, texts: Sequence[str]) -> float | None:
        """Return how long ``texts`` took to embed when they were; None when that is not known."""
        try:
            note = json.loads((Path(self.folder) / f"{self._key(texts)}.json").read_text(encoding="utf-8"))
            return float(note["seconds"])
        except (OSError, ValueError):
            return None

    def _compute(self, texts: Sequence[str], path: Path) -> Vectors:
        self._inner.fingerprint()  # loads the weights, which is not embedding
        start = time.perf_counter()
        h = self._inner.embed(texts)
        seconds = round(time.perf_counter() - start, 2)
        note = {"seconds": seconds, "n": len(texts), "encoder": self._inner.name, "params": self._inner.params()}
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as temporary, temporary.open("wb") as stream:
            np.save(stream, h)
        with atomic_file(path.with_suffix(".json")) as temporary:
            temporary.write_text(json.dumps(note), encoding="utf-8")
        return h

    def _key(self, texts: Sequence[str]) -> str:
        state = self._inner.state()  # a vocabulary, say, was learnt from texts
        known = [*_identity(self._inner), _fingerprint(self._inner), sorted(state.words.items())]
        digest = hashlib.sha256(json.dumps(known).encode())
        for name, tensor in sorted(state.tensors.items()):
            digest.update(name.encode() + np.ascontiguousarray(tensor).tobytes())
        digest.update(texts.tobytes() if isinstance(texts, np.ndarray) else json.dumps(list(texts)).encode())
        return digest.hexdigest()


def _identity(encoder: Encoder) -> tuple[str, str]:
    return encoder.name, json.dumps(encoder.params(), sort_keys=True)


def _fingerprint(encoder: Encoder) -> str:
    """Return the hash of an encoder's weights, read once a process."""
    known = _identity(encoder)
    if known not in _FINGERPRINTS:
        _FINGERPRINTS[known] = encoder.fingerprint()
    return _FINGERPRINTS[known]
