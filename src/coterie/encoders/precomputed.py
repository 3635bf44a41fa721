"""The caller's own vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coterie.contracts import Items, Vectors
from coterie.encoders.encoder import Encoder
from coterie.errors import InputError


class PrecomputedEncoder(Encoder, name="precomputed"):
    """Takes rows of numbers (N, D) instead of texts, and leaves them as they are."""

    reads = "vectors"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Refuse: the clusterer hands vectors through without calling this."""
        raise InputError("encoder='precomputed' clusters vectors (an array of shape (N, D)), not texts.")

    def _fixed(self, items: Items) -> Vectors:
        return np.asarray(items, dtype=np.float32)
