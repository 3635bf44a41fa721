"""The division of a set into texts to learn from and texts to be judged on, as DECCRL reports it (Table 1).

Those of StackOverflow and Biomedical are by-products of another method (Rakib et al., NLDB 2020): its outliers and what
overflowed its large clusters are the texts to be judged on. That of AgNews is not published; it is drawn here.
"""

from __future__ import annotations

import numpy as np

from coterie.data.datasets import RAKIB, SOURCES, Dataset, load, split_lines
from coterie.data.remote import RemoteFile, fetch
from coterie.errors import InputError


def _files(name: str, sha_train: str, sha_test: str) -> tuple[RemoteFile, RemoteFile]:
    return (
        RemoteFile(f"{name}_train.txt", f"{RAKIB}{name}/train", sha_train),
        RemoteFile(f"{name}_test.txt", f"{RAKIB}{name}/test", sha_test),
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
_DRAWN = {"agnews": 6400}  # texts to learn from; the rest is judged
SPLITS = (*_DRAWN, *_PUBLISHED)
"""The sets that :func:`load_split` knows."""


def load_split(name: str) -> tuple[Dataset, Dataset]:
    """Return the texts to learn from and the texts to be judged on."""
    if name in _DRAWN:
        data = load(name)
        order = np.random.default_rng(0).permutation(len(data.texts))
        return _part(data, np.sort(order[: _DRAWN[name]])), _part(data, np.sort(order[_DRAWN[name] :]))
    if name not in _PUBLISHED:
        raise InputError(f"The set {name!r} has no train and test part. There are: {', '.join(SPLITS)}.")
    train, test = (_read(name, file) for file in _PUBLISHED[name])
    return train, test


def _read(name: str, file: RemoteFile) -> Dataset:
    """Read lines of a cluster that is of no concern here, the true label from 1, and the text."""
    rows = [line.split("\t", 2) for line in split_lines(fetch(file))]
    labels = np.array([int(label) - 1 for _, label, _ in rows], dtype=np.int64)
    source = SOURCES[name]
    names = source.label_names or tuple(str(label + 1) for label in range(source.n_clusters))
    return Dataset(name, [text for _, _, text in rows], labels, list(names))


def _part(data: Dataset, rows: np.ndarray) -> Dataset:
    return Dataset(data.name, [data.texts[i] for i in rows.tolist()], data.true_labels[rows], data.label_names)
