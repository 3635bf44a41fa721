"""SIF: a weighted mean of word vectors (Arora et al., ICLR 2017, "A Simple but Tough-to-Beat Baseline")."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Self

import numpy as np

from coterie.contracts import Vectors
from coterie.encoders.encoder import Encoder, EncoderState
from coterie.encoders.word_vectors import WordVectors, load_word_vectors
from coterie.errors import NotFittedError
from coterie.hyper import hyper

_WORD = re.compile(r"\w+|[^\w\s]")


class SifEncoder(Encoder, name="sif"):
    r"""Mean of word vectors weighted by a / (a + p(w)), with the first principal direction taken out."""

    after_colon = "vectors"

    vectors: str = hyper("glove", "'glove' (GloVe 6B, 50-d, extra 'glove') or the path of a GloVe text file")
    smoothing: float = hyper(0.1, "how gently frequent words are played down", symbol="a", gt=0)

    def fit(self, texts: Sequence[str]) -> Self:
        """Count the words p(w) and find the direction that all texts share."""
        counts = Counter(word for text in texts for word in self._split(text))
        self._restore(list(counts), np.array(list(counts.values()), dtype=np.float64))
        mean = self._weighted_mean(texts)
        # The first right singular vector of an (N, D) matrix, from its small (D, D) product.
        self._shared = np.linalg.eigh(mean.T @ mean)[1][:, -1:]  # (D, 1)
        return self

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return h (N, D); a text without any known word is the zero vector."""
        if not hasattr(self, "_shared"):
            raise NotFittedError("The encoder 'sif' has not counted words yet. Call fit first.")
        mean = self._weighted_mean(texts)
        return np.asarray(mean - (mean @ self._shared) @ self._shared.T, dtype=np.float32)

    def state(self) -> EncoderState:
        """Return word counts and the shared direction; the vectors themselves are named by their hash."""
        tensors = {"counts": self._counts, "shared": self._shared}
        return EncoderState(tensors, {"words": list(self._p)})

    def restore(self, state: EncoderState) -> None:
        """Take them back."""
        self._restore(state.words["words"], state.tensors["counts"])
        self._shared = state.tensors["shared"]

    def fingerprint(self) -> str:
        """Return the hash of the word vectors."""
        return self._loaded().sha256

    def _restore(self, words: list[str], counts: np.ndarray) -> None:
        self._counts = counts
        self._p = dict(zip(words, counts / max(counts.sum(), 1), strict=True))

    def _loaded(self) -> WordVectors:
        if not hasattr(self, "_known"):
            self._known = load_word_vectors(self.vectors)
        return self._known

    def _weighted_mean(self, texts: Sequence[str]) -> np.ndarray:
        known = self._loaded()
        mean = np.zeros((len(texts), known.vectors.shape[1]))
        for i, text in enumerate(texts):
            words = [word for word in self._split(text) if word in known.row]
            if words:
                weights = [self.smoothing / (self.smoothing + self._p.get(word, 0.0)) for word in words]
                mean[i] = np.array(weights) @ known.vectors[[known.row[w] for w in words]] / len(words)
        return mean

    @staticmethod
    def _split(text: str) -> list[str]:
        return _WORD.findall(text.lower())
