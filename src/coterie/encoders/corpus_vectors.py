"""Vectors for the words of a corpus: learnt from the corpus itself, or taken from a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from sklearn.decomposition import TruncatedSVD

from coterie.data.vocabulary import Vocabulary
from coterie.encoders.word_vectors import load_word_vectors
from coterie.errors import InputError, MissingExtraError

_WINDOW = 4  # words to each side that a word is seen with, as in ETM's skip-gram
_LEAST_VECTORS = 0.01  # share of the words that a file must know


def corpus_vectors(
    vocabulary: Vocabulary, texts: Sequence[str], source: str, *, width: int, seed: int | None
) -> NDArray[np.float32]:
    """Return a vector (V, width) for each word: a direction of length one, and last how frequent the word is.

    Without the last number, topics could not say that a word is frequent, and would name rare ones. ``source`` is
    ``"ppmi"`` or ``"skipgram"`` (both learn from ``texts``), what :func:`load_word_vectors` takes, or a folder with one
    such file. Wider vectors are cut to their main directions, narrower ones padded with zeros; the direction of a word
    that ``source`` does not know is zero.
    """
    sentences = vocabulary.sentences(texts)
    if source == "ppmi":
        found = _ppmi(vocabulary, sentences, width - 1, seed)
    elif source == "skipgram":
        found = _skipgram(vocabulary, sentences, width - 1, seed)
    else:
        found = _loaded(vocabulary, source)
    if found.shape[1] > width - 1:
        found = TruncatedSVD(width - 1, random_state=seed).fit_transform(found)
    vectors = np.zeros((len(vocabulary), width), dtype=np.float32)
    length = np.linalg.norm(found, axis=1, keepdims=True)
    vectors[:, : found.shape[1]] = found / np.where(length > 0, length, 1)
    vectors[:, -1] = _frequency(vocabulary, sentences)
    return vectors


def _frequency(vocabulary: Vocabulary, sentences: list[list[str]]) -> NDArray[np.floating]:
    """Return the logarithm of how often each word occurs (V,), with mean zero and a standard deviation of one."""
    counts = Counter(word for words in sentences for word in words)
    logs = np.log([max(counts[word], 1) for word in vocabulary.words])
    return np.asarray((logs - logs.mean()) / (logs.std() or 1.0))


def _ppmi(vocabulary: Vocabulary, sentences: list[list[str]], width: int, seed: int | None) -> NDArray[np.floating]:
    r"""Return main directions of max(0, \log p(v, w) / (p(v) p(w))), which skip-gram approaches by sampling.

    Levy and Goldberg, "Neural word embedding as implicit matrix factorization", NIPS 2014.
    """
    seen = _seen_together(vocabulary, sentences)
    rows, columns, counts = seen.row, seen.col, seen.data
    sums = np.maximum(np.bincount(rows, counts, minlength=len(vocabulary)), 1)
    strength = np.log(counts * counts.sum() / (sums[rows] * sums[columns]))
    seen.data = np.maximum(strength, 0)
    width = min(width, len(vocabulary) - 1)
    if width < 1 or not seen.data.any():
        return np.zeros((len(vocabulary), 1))
    svd = TruncatedSVD(width, random_state=seed).fit(seen.tocsr())
    return np.asarray(svd.components_.T * np.sqrt(svd.singular_values_))


def _seen_together(vocabulary: Vocabulary, sentences: list[list[str]]) -> coo_matrix:
    """Return how often two words are within the window of each other (V, V), symmetric."""
    numbers = np.array([vocabulary.number[word] for words in sentences for word in words], dtype=np.int64)
    text = np.repeat(np.arange(len(sentences)), [len(words) for words in sentences])
    pairs = []
    for gap in range(1, _WINDOW + 1):
        same = text[gap:] == text[:-gap]
        pairs.append(np.stack([numbers[:-gap][same], numbers[gap:][same]]))
    first, second = np.concatenate(pairs, axis=1)
    both = np.concatenate([first, second]), np.concatenate([second, first])
    size = (len(vocabulary), len(vocabulary))
    return coo_matrix((np.ones(len(both[0])), both), size).tocsr().tocoo()  # by way of csr: equal pairs are summed


def _skipgram(vocabulary: Vocabulary, sentences: list[list[str]], width: int, seed: int | None) -> NDArray[np.floating]:
    """Return word2vec's skip-gram vectors with the settings of ETM; one worker, because more are not repeatable."""
    try:
        from gensim.models import Word2Vec
    except ImportError:
        raise MissingExtraError("word_vectors='skipgram'", "word2vec") from None
    learnt = Word2Vec(
        sentences, sg=1, vector_size=width, min_count=1, window=_WINDOW, negative=10, epochs=5, workers=1,
        seed=0 if seed is None else seed,
    )  # fmt: skip
    return np.stack([learnt.wv[word] for word in vocabulary.words])  # each is in a text, because the vocabulary is


def _loaded(vocabulary: Vocabulary, source: str) -> NDArray[np.floating]:
    path = Path(source)
    if path.is_dir():
        files = sorted(path.glob("*.txt"))
        if len(files) != 1:
            names = ", ".join(file.name for file in files) or "none"
            raise InputError(f"word_vectors: {path} must hold one file of vectors (*.txt); it holds {names}.")
        source = str(files[0])
    known = load_word_vectors(source)
    there = [word for word in vocabulary.words if word in known.row]
    if len(there) < _LEAST_VECTORS * len(vocabulary):
        raise InputError(
            f"word_vectors={source!r} knows {len(there)} of the {len(vocabulary)} words of these texts. Is it of "
            "another language? word_vectors='ppmi' learns vectors from the texts themselves."
        )
    vectors = np.zeros((len(vocabulary), known.vectors.shape[1]), dtype=np.float32)
    vectors[[vocabulary.number[word] for word in there]] = known.vectors[[known.row[word] for word in there]]
    return vectors
