"""TF-IDF of the most frequent words, the first row of most tables in the papers."""

from __future__ import annotations

from typing import Self

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer

from coterie.arrays import row_chunks
from coterie.contracts import Items, Vectors
from coterie.encoders.bow import BowEncoder
from coterie.encoders.encoder import EncoderState
from coterie.errors import InputError


class TfidfEncoder(BowEncoder, name="tfidf"):
    """Word counts weighted by inverse document frequency; rows have length one."""

    def fit(self, items: Items) -> Self:
        """Choose the vocabulary and its weights."""
        super().fit(items)
        self._weights = TfidfTransformer().fit(self.counts(items))
        return self

    def embed(self, items: Items) -> Vectors:
        """Return TF-IDF (N, V)."""
        counts = self.counts(items)
        h = np.empty(counts.shape, dtype=np.float32)
        for rows in row_chunks(len(h)):  # the weights are float64
            h[rows] = self._weights.transform(counts[rows]).toarray()
        return h

    def state(self) -> EncoderState:
        """Return the vocabulary and its weights."""
        words = super().state().words
        return EncoderState({"idf": np.asarray(self._weights.idf_)}, words)

    def restore(self, state: EncoderState) -> None:
        """Load both."""
        super().restore(state)
        idf = state.tensors["idf"]
        if idf.shape != (self.dim,):
            raise InputError(f"There are {self.dim} words, but their weights have the shape {idf.shape}.")
        self._weights = TfidfTransformer()
        self._weights.idf_ = idf
