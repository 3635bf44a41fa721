"""Word vectors for the vocabulary of a corpus: trained on its co-occurrences, or loaded from a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from sklearn.decomposition import TruncatedSVD

from coterie.errors import InputError, MissingExtraError
from coterie.words.pretrained import load_word_vectors
from coterie.words.vocabulary import Vocabulary

_WINDOW = 4  # words on each side that count as context, as in ETM's skip-gram
_MIN_COVERAGE = 0.01  # share of the vocabulary that a file must contain


def word_vectors(
    vocabulary: Vocabulary, texts: Sequence[str], source: str, *, dim: int, seed: int | None
) -> NDArray[np.float32]:
    """Return a vector for each word of the vocabulary, (V, dim).

    The first dim - 1 numbers are a direction of unit length, or zero if ``source`` does not contain the word. The last
    one is the standardized log frequency of the word: without it a topic could not give frequent words a higher
    probability.

    ``source`` is ``"ppmi"`` or ``"skipgram"``, which are trained on ``texts``; a source of :func:`load_word_vectors`;
    or a folder with one text file of vectors. Vectors with more than dim - 1 numbers are reduced by truncated SVD,
    shorter ones are padded with zeros.
    """
    sentences = vocabulary.tokenize(texts)
    if source == "ppmi":
        directions = ppmi_vectors(vocabulary, sentences, dim - 1, seed)
    elif source == "skipgram":
        directions = _skipgram(vocabulary, sentences, dim - 1, seed)
    else:
        directions = _load(vocabulary, source)
    if directions.shape[1] > dim - 1:
        directions = TruncatedSVD(dim - 1, random_state=seed).fit_transform(directions)
    length = np.linalg.norm(directions, axis=1, keepdims=True)
    vectors = np.zeros((len(vocabulary), dim), dtype=np.float32)
    vectors[:, : directions.shape[1]] = directions / np.where(length > 0, length, 1)
    vectors[:, -1] = _log_frequency(vocabulary, sentences)
    return vectors


def _log_frequency(vocabulary: Vocabulary, sentences: list[list[str]]) -> NDArray[np.floating]:
    """Return the logarithm of the count of each word (V,), with mean 0 and standard deviation 1."""
    counts = Counter(word for words in sentences for word in words)
    logs = np.log([max(counts[word], 1) for word in vocabulary.words])
    return np.asarray((logs - logs.mean()) / (logs.std() or 1.0))


def ppmi_vectors(
    vocabulary: Vocabulary, sentences: list[list[str]], dim: int, seed: int | None
) -> NDArray[np.floating]:
    r"""Return vectors (V, at most dim) by SVD of the positive pointwise mutual information.

    .. math:: \max\left(0, \log \frac{p(v, w)}{p(v) p(w)}\right)

    Skip-gram approximates it by sampling (Levy and Goldberg, "Neural word embedding as implicit matrix factorization",
    NIPS 2014).
    """
    pairs = _cooccurrences(vocabulary, sentences)
    rows, columns, counts = pairs.row, pairs.col, pairs.data
    totals = np.maximum(np.bincount(rows, counts, minlength=len(vocabulary)), 1)
    pmi = np.log(counts * counts.sum() / (totals[rows] * totals[columns]))
    pairs.data = np.maximum(pmi, 0)
    dim = min(dim, len(vocabulary) - 1)
    if dim < 1 or not pairs.data.any():
        return np.zeros((len(vocabulary), 1))
    svd = TruncatedSVD(dim, random_state=seed).fit(pairs.tocsr())
    return np.asarray(svd.components_.T * np.sqrt(svd.singular_values_))


def _cooccurrences(vocabulary: Vocabulary, sentences: list[list[str]]) -> coo_matrix:
    """Return the symmetric matrix (V, V) that counts how often two words are within the window of each other."""
    word_ids = np.array([vocabulary.index[word] for words in sentences for word in words], dtype=np.int64)
    text = np.repeat(np.arange(len(sentences)), [len(words) for words in sentences])
    pairs = []
    for gap in range(1, _WINDOW + 1):
        same_text = text[gap:] == text[:-gap]
        pairs.append(np.stack([word_ids[:-gap][same_text], word_ids[gap:][same_text]]))
    first, second = np.concatenate(pairs, axis=1)
    rows = np.concatenate([first, second])
    columns = np.concatenate([second, first])
    shape = (len(vocabulary), len(vocabulary))
    return coo_matrix((np.ones(len(rows)), (rows, columns)), shape).tocsr().tocoo()  # csr sums equal pairs


def _skipgram(vocabulary: Vocabulary, sentences: list[list[str]], dim: int, seed: int | None) -> NDArray[np.floating]:
    """Return word2vec's skip-gram vectors (V, dim) with the settings of ETM."""
    try:
        from gensim.models import Word2Vec
    except ImportError:
        raise MissingExtraError("word_vectors='skipgram'", "word2vec") from None
    model = Word2Vec(
        sentences,
        sg=1,
        vector_size=dim,
        min_count=1,
        window=_WINDOW,
        negative=10,
        epochs=5,
        workers=1,  # more workers would make the result random
        seed=0 if seed is None else seed,
    )
    return np.stack([model.wv[word] for word in vocabulary.words])


def _load(vocabulary: Vocabulary, source: str) -> NDArray[np.floating]:
    """Return vectors (V, D) from a file, or from the only text file of a folder."""
    path = Path(source)
    if path.is_dir():
        files = sorted(path.glob("*.txt"))
        if len(files) != 1:
            names = ", ".join(file.name for file in files) or "none"
            raise InputError(f"word_vectors: {path} must contain exactly one file of vectors (*.txt), found: {names}.")
        source = str(files[0])
    pretrained = load_word_vectors(source)
    known = [word for word in vocabulary.words if word in pretrained.row]
    if len(known) < _MIN_COVERAGE * len(vocabulary):
        raise InputError(
            f"word_vectors={source!r} contains {len(known)} of the {len(vocabulary)} words of these texts. Is it for "
            "another language? word_vectors='ppmi' trains vectors on the texts themselves."
        )
    vectors = np.zeros((len(vocabulary), pretrained.vectors.shape[1]), dtype=np.float32)
    rows = [vocabulary.index[word] for word in known]
    vectors[rows] = pretrained.vectors[[pretrained.row[word] for word in known]]
    return vectors
