"""SIF: a weighted mean of word vectors (Arora et al., ICLR 2017, "A Simple but Tough-to-Beat Baseline")."""

from __future__ import annotations

import re
from collections import Counter
from typing import Self

import numpy as np

from coterie.contracts import Items, Vectors
from coterie.encoders.encoder import Encoder, EncoderState
from coterie.errors import NotFittedError
from coterie.hyper import hyper
from coterie.words.pretrained import WordVectors, load_word_vectors

_WORD = re.compile(r"\w+|[^\w\s]")


class SifEncoder(Encoder, name="sif"):
    r"""Mean of word vectors weighted by a / (a + p(w)), with the first principal direction removed."""

    main_setting = "vectors"

    vectors: str = hyper("glove", "'glove' (GloVe 6B, 50-d, extra 'glove') or the path of a GloVe text file")
    smoothing: float = hyper(
        0.1, "smoothing of the word weights; smaller values weigh frequent words less", symbol="a", gt=0
    )

    def fit(self, items: Items) -> Self:
        """Estimate the word probabilities p(w) and the first principal direction."""
        counts = Counter(word for text in items for word in self._split(text))
        self._restore(list(counts), np.array(list(counts.values()), dtype=np.float64))
        mean = self._weighted_mean(items)
        # The first right singular vector of an (N, D) matrix, from its small (D, D) product.
        self._shared = np.linalg.eigh(mean.T @ mean)[1][:, -1:]  # (D, 1)
        return self

    @property
    def dim(self) -> int:
        """The dimension of the word vectors."""
        return int(self._loaded().vectors.shape[1])

    def embed(self, items: Items) -> Vectors:
        """Return h (N, D); a text without any known word is the zero vector."""
        if not hasattr(self, "_shared"):
            raise NotFittedError("The encoder 'sif' has no word probabilities yet. Call fit first.")
        mean = self._weighted_mean(items)
        along = (mean * self._shared.T).sum(axis=1, keepdims=True)  # a matrix product would round by its height
        return np.asarray(mean - along * self._shared.T, dtype=np.float32)

    def state(self) -> EncoderState:
        """Return word counts and the principal direction; the word vectors are identified by their hash."""
        tensors = {"counts": self._counts, "shared": self._shared}
        return EncoderState(tensors, {"words": list(self._p)})

    def restore(self, state: EncoderState) -> None:
        """Load them."""
        self._restore(state.words["words"], state.tensors["counts"])
        self._shared = state.tensors["shared"]

    def fingerprint(self) -> str:
        """Return the hash of the word vectors."""
        return self._loaded().sha256

    def outside_sources(self) -> list[str]:
        """Return the file of the word vectors, unless they are the packaged ones."""
        return [] if self.vectors == "glove" else [self.vectors]

    def _restore(self, words: list[str], counts: np.ndarray) -> None:
        self._counts = counts
        self._p = dict(zip(words, counts / max(counts.sum(), 1), strict=True))

    def _loaded(self) -> WordVectors:
        if not hasattr(self, "_known"):
            self._known = load_word_vectors(self.vectors)
        return self._known

    def _weighted_mean(self, texts: Items) -> np.ndarray:
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
