"""Sets of images: how their public files are read. What there is, is listed in ``datasets.py``."""

from __future__ import annotations

import gzip
import hashlib
import io
import struct
import tarfile
import zlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.contracts import Labels, Pixels
from coterie.data.remote import RemoteFile
from coterie.errors import InputError

DIGITS = tuple("0123456789")
CLOTHES = ("t-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle-boot")
THINGS = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")

_ZALANDO = "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/"
FASHION = tuple(
    RemoteFile(f"fashion-mnist-{name}", _ZALANDO + name, sha256, may_be_repacked=True)
    for name, sha256 in {
        "train-images-idx3-ubyte.gz": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        "train-labels-idx1-ubyte.gz": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        "t10k-images-idx3-ubyte.gz": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        "t10k-labels-idx1-ubyte.gz": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
    }.items()
)
CIFAR = (
    RemoteFile(
        "cifar-10-binary.tar.gz",
        "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
        "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        may_be_repacked=True,
    ),
)
_CIFAR_ROW = 1 + 3 * 32 * 32  # a label, and three planes


class Labelled(NamedTuple):
    """Images (N, S, S, C) and their classes 0..K-1."""

    images: Pixels
    labels: Labels


def digits() -> Labelled:
    """Return scikit-learn's digits, whose pixels are 0 to 16."""
    from sklearn.datasets import load_digits

    data = load_digits()
    return Labelled(np.rint(data.images * (255 / 16)).astype(np.uint8)[..., None], data.target.astype(np.int64))


def fashion(*files: bytes) -> Labelled:
    """Return the train part and the test part of four idx files."""
    train_images, train_labels, test_images, test_labels = (
        _idx(data, file.name) for data, file in zip(files, FASHION, strict=True)
    )
    images, labels = np.concatenate([train_images, test_images]), np.concatenate([train_labels, test_labels])
    return _whole(images[..., None], labels, FASHION[0].name)


def cifar(data: bytes) -> Labelled:
    """Return the five train batches and the test batch of the binary version."""
    name = CIFAR[0].name
    rows = []
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in sorted(archive.getnames()):
                file = archive.extractfile(member) if member.endswith(".bin") else None
                if file is not None:
                    rows.append(np.frombuffer(file.read(), dtype=np.uint8).reshape(-1, _CIFAR_ROW))
    except (tarfile.TarError, OSError, EOFError, ValueError, zlib.error) as error:
        raise InputError(f"{name} is not CIFAR-10's binary version ({error}).") from None
    if not rows:
        raise InputError(f"{name} is not CIFAR-10's binary version: it holds no batch (.bin).")
    table = np.concatenate(rows)
    images = table[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return _whole(np.ascontiguousarray(images), table[:, 0], name)


def fashion_sample(*files: bytes) -> Labelled:
    """Return 10,000 of the images."""
    return _sample(fashion(*files))


def cifar_sample(data: bytes) -> Labelled:
    """Return 10,000 of the images."""
    return _sample(cifar(data))


def _sample(data: Labelled, n: int = 10_000) -> Labelled:
    """Return ``n`` different images, drawn by a hash of what they show, so that everybody draws the same."""
    keys = {hashlib.sha256(image.tobytes()).digest(): row for row, image in enumerate(data.images)}
    rows = np.array([keys[key] for key in sorted(keys)[:n]])
    return Labelled(data.images[rows], data.labels[rows])


def _idx(data: bytes, name: str) -> NDArray[np.uint8]:
    """Return the array of a gzipped idx file: two zeros, the type (8: bytes), the number of sizes, the sizes, bytes."""
    try:
        plain = gzip.decompress(data)
        zeros, kind, n_sizes = struct.unpack(">HBB", plain[:4])
        sizes = struct.unpack(f">{n_sizes}I", plain[4 : 4 + 4 * n_sizes])
        if (zeros, kind) != (0, 8):
            raise ValueError("it begins otherwise")
        return np.frombuffer(plain, dtype=np.uint8, offset=4 + 4 * n_sizes).reshape(sizes)
    except (OSError, EOFError, ValueError, struct.error, zlib.error) as error:
        raise InputError(f"{name} is not a whole gzipped idx file ({error}).") from None


def _whole(images: Pixels, labels: NDArray[np.uint8], name: str) -> Labelled:
    if len(images) != len(labels) or labels.max(initial=0) > 9:
        raise InputError(f"{name}: {len(images)} images and {len(labels)} labels up to {labels.max(initial=0)}.")
    return Labelled(images, labels.astype(np.int64))
