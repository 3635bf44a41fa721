"""The training part and the test part of data sets, as DECCRL reports them (Table 1).

The parts of StackOverflow and Biomedical are published results of another method (Rakib et al., NLDB 2020): the test
part consists of its outliers and of the texts that it removed from large clusters. The parts of AgNews are not
published; they are drawn at random here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.datasets.dataset import DATASETS, Dataset, load
from coterie.datasets.download import RemoteFile, fetch
from coterie.datasets.readers import split_lines
from coterie.datasets.repositories import RAKIB
from coterie.errors import InputError


def _files(name: str, sha256_train: str, sha256_test: str) -> tuple[RemoteFile, RemoteFile]:
    return (
        RemoteFile(f"{name}_train.txt", f"{RAKIB}{name}/train", sha256_train),
        RemoteFile(f"{name}_test.txt", f"{RAKIB}{name}/test", sha256_test),
    )


_PUBLISHED = {
    "stackoverflow": _files(
        "stackoverflow",
        "e6e556468f6915a4678d42eb84698331ad1481bdb3208d9defc271be8c4f9693",
        "3bf4de8691d56089b5583c491bd3ed6ff96f539e4e0aba1c7c3a3d1593d79c3d",
    ),
    "biomedical": _files(
        "biomedical",
        "c9c5eebddd679212a6281bf9ca03586308a2fb2f5d7c0d4e660a9e1b1b1126ff",
        "a1fc24e53786ea8a9a5c4f622db37b3ee40b7a8b3535ca3db6236b068f5b9827",
    ),
}
_RANDOM = {"agnews": 6400}  # size of the training part
SPLITS = (*_RANDOM, *_PUBLISHED)
"""Names of the data sets that have a training part and a test part."""


def load_split(name: str) -> tuple[Dataset, Dataset]:
    """Return the training part and the test part of a data set."""
    if name in _RANDOM:
        return _random_split(load(name), _RANDOM[name])
    if name not in _PUBLISHED:
        raise InputError(f"The data set {name!r} has no training and test part. There are: {', '.join(SPLITS)}.")
    train, test = _PUBLISHED[name]
    return _read(name, train), _read(name, test)


def _random_split(data: Dataset, n_train: int) -> tuple[Dataset, Dataset]:
    order = np.random.default_rng(0).permutation(len(data.texts))
    return _part(data, np.sort(order[:n_train])), _part(data, np.sort(order[n_train:]))


def _part(data: Dataset, rows: NDArray[np.int64]) -> Dataset:
    return Dataset(data.name, [data.texts[i] for i in rows.tolist()], data.true_labels[rows], data.label_names)


def _read(name: str, file: RemoteFile) -> Dataset:
    """Read lines of three cells: a predicted cluster, which is ignored, the true label from 1, and the text."""
    rows = [line.split("\t", 2) for line in split_lines(fetch(file))]
    labels = np.array([int(label) - 1 for _, label, _ in rows], dtype=np.int64)
    entry = DATASETS[name]
    label_names = entry.label_names or tuple(str(label + 1) for label in range(entry.n_clusters))
    return Dataset(name, [text for _, _, text in rows], labels, list(label_names))
