"""SIF: a weighted mean of word vectors (Arora et al., ICLR 2017, "A Simple but Tough-to-Beat Baseline")."""

from __future__ import annotations

import re
from collections import Counter
from typing import Self

import numpy as np

from coterie.arrays import FIT_FACTOR, subsample, unit_rows
from coterie.contracts import Items, Vectors
from coterie.encoders.encoder import Encoder, EncoderState
from coterie.errors import InputError, NotFittedError
from coterie.hyper import hyper
from coterie.words.cooccurrence import ppmi_vectors
from coterie.words.pretrained import WordVectors, load_word_vectors
from coterie.words.vocabulary import Vocabulary, split_words

_WORD = re.compile(r"\w+|[^\w\s]")
_TRAINED = "ppmi"  # the value of `vectors` with which they are trained on the texts
_MOST_TRAINED = 50_000  # words; rarer ones have no vector


class SifEncoder(Encoder, name="sif"):
    r"""Mean of word vectors weighted by a / (a + p(w)), with the first principal direction removed."""

    main_setting = "vectors"

    vectors: str = hyper(
        "glove", "'glove' (6B, 50-d; extra 'glove'), 'ppmi' (trained on the texts), or the path of a GloVe text file"
    )
    vector_size: int = hyper(50, "numbers of a word vector that is trained on the texts", ge=2, le=1000)
    smoothing: float = hyper(
        0.1, "smoothing of the word weights; smaller values weigh frequent words less", symbol="a", gt=0
    )

    def fit(self, items: Items) -> Self:
        """Estimate the word probabilities p(w) and the first principal direction."""
        counts = Counter(word for text in items for word in self._split(text))
        words = [word for word, _ in counts.most_common()]
        self._restore(words, np.array([counts[word] for word in words], dtype=np.float64))
        if self.vectors == _TRAINED:
            self._known = self._trained(items)
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
        """Return word counts, the principal direction, and vectors trained on the texts; others have a hash."""
        tensors = {"counts": self._counts, "shared": self._shared}
        if self.vectors == _TRAINED:
            tensors["vectors"] = self._loaded().vectors
        return EncoderState(tensors, {"words": list(self._p)})

    def restore(self, state: EncoderState) -> None:
        """Load them."""
        self._restore(state.words["words"], state.tensors["counts"])
        self._shared = state.tensors["shared"]
        if self.vectors == _TRAINED:
            self._known = _of_first_words(state.words["words"], state.tensors["vectors"])

    def fingerprint(self) -> str:
        """Return the hash of the word vectors; empty for those that a saved model contains."""
        return "" if self.vectors == _TRAINED else self._loaded().sha256

    def outside_sources(self) -> list[str]:
        """Return the file of the word vectors, unless they are the packaged ones or trained on the texts."""
        return [] if self.vectors in ("glove", _TRAINED) else [self.vectors]

    def _restore(self, words: list[str], counts: np.ndarray) -> None:
        self._counts = counts
        self._p = dict(zip(words, counts / max(counts.sum(), 1), strict=True))

    def _loaded(self) -> WordVectors:
        if not hasattr(self, "_known"):
            if self.vectors == _TRAINED:
                raise NotFittedError(f"The encoder {self.name!r} has no word vectors yet. Call fit first.")
            self._known = load_word_vectors(self.vectors)
        return self._known

    def _trained(self, texts: Items) -> WordVectors:
        """Return unit vectors, by the words around them, of the words that occur more than once."""
        ordered = list(self._p)
        if not ordered:
            raise InputError(
                f"{self.name}:{_TRAINED} finds no word of two letters in these texts. Use another encoder."
            )
        repeated = int((self._counts > 1).sum()) or len(ordered)
        vocabulary = Vocabulary(ordered[: min(repeated, _MOST_TRAINED)])
        sample = [texts[row] for row in subsample(len(texts), factor=FIT_FACTOR)]
        vectors = ppmi_vectors(vocabulary, vocabulary.tokenize(sample), self.vector_size, seed=0)
        return _of_first_words(ordered, unit_rows(vectors.astype(np.float32)))

    def _weighted_mean(self, texts: Items) -> np.ndarray:
        known = self._loaded()
        mean = np.zeros((len(texts), known.vectors.shape[1]))
        for i, text in enumerate(texts):
            words = [word for word in self._split(text) if word in known.row]
            if words:
                weights = [self.smoothing / (self.smoothing + self._p.get(word, 0.0)) for word in words]
                mean[i] = np.array(weights) @ known.vectors[[known.row[w] for w in words]] / len(words)
        return mean

    def _split(self, text: str) -> list[str]:
        """Return the words of ``text`` in lower case; those of pretrained vectors include punctuation."""
        return split_words(text) if self.vectors == _TRAINED else _WORD.findall(text.lower())


def _of_first_words(ordered: list[str], vectors: np.ndarray) -> WordVectors:
    """Return ``vectors`` (V, D) as those of the V most frequent words."""
    if vectors.ndim != 2 or len(vectors) > len(ordered):
        raise InputError(f"There are {len(ordered)} words, but their vectors have the shape {vectors.shape}.")
    return WordVectors({word: row for row, word in enumerate(ordered[: len(vectors)])}, vectors, sha256="")
