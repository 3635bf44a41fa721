"""Precomputed embeddings: the user's own vectors."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from coterie.contracts import Items, Vectors
from coterie.data.rows import OnEmpty
from coterie.data.vectors import VectorRows
from coterie.encoders.encoder import Encoder, EncoderState
from coterie.errors import NotFittedError


class PrecomputedEncoder(Encoder, name="precomputed"):
    """Takes vectors (N, D) instead of texts and returns them unchanged."""

    input_type = "vectors"

    def check(self, X: Any, column: str | None = None, *, on_empty: OnEmpty = "keep") -> VectorRows:  # noqa: N803
        """Return the vectors as rows; scikit-learn has validated them."""
        return VectorRows(X)

    def fit(self, items: Items) -> Self:
        """Record the dimension."""
        self._dim = int(np.shape(items)[1])
        return self

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        if not hasattr(self, "_dim"):
            raise NotFittedError("The encoder 'precomputed' has seen no vectors yet. Call fit first.")
        return self._dim

    def embed(self, items: Items) -> Vectors:
        """Return the vectors as they are."""
        return np.asarray(items, dtype=np.float32)

    def state(self) -> EncoderState:
        """Return the dimension."""
        return EncoderState({"dim": np.array(self.dim)})

    def restore(self, state: EncoderState) -> None:
        """Load the dimension."""
        self._dim = int(state.tensors["dim"])
