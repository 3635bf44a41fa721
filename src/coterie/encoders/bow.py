"""Bag of words: counts of the most frequent words."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from coterie.contracts import Items, Vectors
from coterie.encoders.encoder import Encoder, EncoderState
from coterie.errors import InputError, NotFittedError
from coterie.hyper import hyper


class BowEncoder(Encoder, name="bow"):
    """Counts of the most frequent words."""

    max_features: int = hyper(1500, "size of the vocabulary, the most frequent words", symbol="V", ge=1)
    stop_words: bool = hyper(False, "remove English stop words")

    def fit(self, items: Items) -> Self:
        """Choose the vocabulary."""
        vectorizer = self._vectorizer()
        try:
            vectorizer.fit(items)
        except ValueError:
            raise InputError(
                f"The encoder {self.name!r} finds no word of two letters or more in these texts. Use another encoder."
            ) from None
        self._use(vectorizer.get_feature_names_out().tolist())
        return self

    @property
    def dim(self) -> int:
        """The size of the vocabulary."""
        return len(self._fitted_vocabulary())

    def embed(self, items: Items) -> Vectors:
        """Return word counts (N, V)."""
        return np.asarray(self.counts(items).toarray(), dtype=np.float32)

    def counts(self, items: Items) -> Any:
        """Return word counts (N, V) as a sparse matrix."""
        self._fitted_vocabulary()
        return self._counter.transform(items)

    def state(self) -> EncoderState:
        """Return the vocabulary."""
        return EncoderState(words={"vocabulary": self._fitted_vocabulary()})

    def restore(self, state: EncoderState) -> None:
        """Load the vocabulary."""
        self._use(state.words["vocabulary"])

    def _vectorizer(self, vocabulary: list[str] | None = None) -> CountVectorizer:
        return CountVectorizer(
            max_features=self.max_features,
            stop_words="english" if self.stop_words else None,
            vocabulary=vocabulary,
        )

    def _use(self, vocabulary: list[str]) -> None:
        self._vocabulary = vocabulary
        self._counter = self._vectorizer(vocabulary)

    def _fitted_vocabulary(self) -> list[str]:
        if not hasattr(self, "_vocabulary"):
            raise NotFittedError(f"The encoder {self.name!r} has no vocabulary yet. Call fit first.")
        return self._vocabulary
