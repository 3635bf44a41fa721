"""Ready vectors as rows, for the encoder ``precomputed``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.contracts import Vectors
from coterie.data.rows import Rows


class VectorRows(Rows[Vectors]):
    """Ready vectors (N, D). Nothing is deduplicated and no row is blank, so ``unique`` is the array itself."""

    noun = "vectors"
    blank_warning = UserWarning

    def __init__(self, vectors: Vectors) -> None:
        inverse = np.arange(len(vectors), dtype=np.int64)
        super().__init__(vectors, inverse, np.ones(len(vectors), dtype=np.int64))

    @property
    def n_blank(self) -> int:
        """Number of blank rows, always 0."""
        return 0

    @property
    def blank_message(self) -> str:
        """Text of the warning about blank rows, which vectors never have."""
        return ""

    def digests(self) -> Iterator[bytes]:
        """Yield the bytes of each vector."""
        return (np.ascontiguousarray(vector).tobytes() for vector in self.unique)

    def too_few_message(self, n_clusters: int) -> str:
        """Return the error message for fewer vectors than clusters, in the words of scikit-learn."""
        return f"n_clusters={n_clusters} is more than n_samples={self.n_rows}. Use fewer clusters."

    def expand(self, values: NDArray[Any], blank: Any) -> NDArray[Any]:
        """Return ``values`` unchanged: every row is its own item."""
        return values

    def sha256(self) -> str:
        """Return a hash of the bytes of the array."""
        return hashlib.sha256(np.ascontiguousarray(self.unique).reshape(-1).data).hexdigest()
