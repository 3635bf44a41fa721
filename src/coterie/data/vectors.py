"""Ready vectors as rows, for the encoder ``precomputed``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.arrays import row_chunks
from coterie.contracts import Vectors
from coterie.data.rows import Rows


class VectorRows(Rows[Vectors]):
    """Ready vectors (N, D). Nothing is deduplicated and no row is blank; ``unique`` are all rows, sorted by bytes."""

    noun = "vectors"
    blank_warning = UserWarning

    def __init__(self, vectors: Vectors) -> None:
        vectors = np.ascontiguousarray(vectors)
        order = np.argsort(_as_keys(vectors), kind="stable")
        inverse = np.empty(len(vectors), dtype=np.int64)
        inverse[order] = np.arange(len(vectors))
        super().__init__(vectors[order], inverse, np.ones(len(vectors), dtype=np.int64))

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
        """Return ``values`` in the order of the rows: every row is its own item, and none is blank."""
        return values[self.inverse]

    def sha256(self) -> str:
        """Return a hash of the bytes of the array, in the order of the rows."""
        digest = hashlib.sha256()
        for rows in row_chunks(self.n_rows):
            digest.update(self.unique[self.inverse[rows]].reshape(-1).data)
        return digest.hexdigest()


def _as_keys(vectors: Vectors) -> NDArray[np.void]:
    """Return each row of a contiguous array as one value of bytes, so that rows can be sorted."""
    width = vectors.shape[1] * vectors.itemsize
    return vectors.view(np.dtype((np.void, width))).reshape(-1)
