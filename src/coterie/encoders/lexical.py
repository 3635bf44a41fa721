"""Encoders that count words: bag of words and TF-IDF, the first rows of every table in the papers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from coterie.contracts import Vectors
from coterie.encoders.encoder import Encoder, EncoderState
from coterie.errors import InputError, NotFittedError
from coterie.hyper import hyper


class BowEncoder(Encoder, name="bow"):
    """Counts of the most frequent words."""

    max_features: int = hyper(1500, "number of words kept, the most frequent first", symbol="V", ge=1)
    stop_words: bool = hyper(False, "leave English stop words out")

    def fit(self, texts: Sequence[str]) -> Self:
        """Choose the vocabulary."""
        counter = self._counter()
        try:
            counter.fit(texts)
        except ValueError:
            raise InputError(
                f"The encoder {self.name!r} finds no word of two letters or more in these texts. Use another encoder."
            ) from None
        self._use(counter.get_feature_names_out().tolist())
        return self

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return word counts (N, V)."""
        return np.asarray(self._counts(texts).toarray(), dtype=np.float32)

    def state(self) -> EncoderState:
        """Return the vocabulary."""
        self._counts([])
        return EncoderState(words={"vocabulary": self._vocabulary})

    def restore(self, state: EncoderState) -> None:
        """Take the vocabulary back."""
        self._use(state.words["vocabulary"])

    def _counter(self, vocabulary: list[str] | None = None) -> CountVectorizer:
        return CountVectorizer(
            max_features=self.max_features,
            stop_words="english" if self.stop_words else None,
            vocabulary=vocabulary,
        )

    def _use(self, vocabulary: list[str]) -> None:
        self._vocabulary = vocabulary
        self._words = self._counter(vocabulary)

    def _counts(self, texts: Sequence[str]) -> Any:
        if not hasattr(self, "_words"):
            raise NotFittedError(f"The encoder {self.name!r} has no vocabulary yet. Call fit first.")
        return self._words.transform(texts) if texts else None


class TfidfEncoder(BowEncoder, name="tfidf"):
    """Word counts weighted by how rare a word is; rows have length one."""

    def fit(self, texts: Sequence[str]) -> Self:
        """Choose the vocabulary and weigh it."""
        super().fit(texts)
        self._weights = TfidfTransformer().fit(self._counts(texts))
        return self

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return TF-IDF (N, V)."""
        counts = self._counts(texts)
        return np.asarray(self._weights.transform(counts).toarray(), dtype=np.float32)

    def state(self) -> EncoderState:
        """Return the vocabulary and its weights."""
        return EncoderState({"idf": np.asarray(self._weights.idf_)}, super().state().words)

    def restore(self, state: EncoderState) -> None:
        """Take both back."""
        super().restore(state)
        self._weights = TfidfTransformer()
        self._weights.idf_ = state.tensors["idf"]
