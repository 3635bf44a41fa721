"""CIFAR-10: small color photographs, and a sample of them."""

from __future__ import annotations

import io
import tarfile
import zlib

import numpy as np

from coterie.datasets.dataset import DATASETS, ImageEntry
from coterie.datasets.download import RemoteFile
from coterie.datasets.readers import LabeledImages, check_labeled, sample_images
from coterie.datasets.repositories import NO_LICENSE
from coterie.errors import InputError

_ARCHIVE = RemoteFile(
    "cifar-10-binary.tar.gz",
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    may_be_repacked=True,
)
_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_ROW_BYTES = 1 + 3 * 32 * 32  # a label and three color channels


def read_cifar10(data: bytes) -> LabeledImages:
    """Return the five training batches and the test batch of the binary version."""
    name = _ARCHIVE.name
    batches = []
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in sorted(archive.getnames()):
                file = archive.extractfile(member) if member.endswith(".bin") else None
                if file is not None:
                    batches.append(np.frombuffer(file.read(), dtype=np.uint8).reshape(-1, _ROW_BYTES))
    except (tarfile.TarError, OSError, EOFError, ValueError, zlib.error) as error:
        raise InputError(f"{name} is not the binary version of CIFAR-10 ({error}).") from None
    if not batches:
        raise InputError(f"{name} is not the binary version of CIFAR-10: it has no batch (.bin).")
    rows = np.concatenate(batches)  # (N, 3073)
    images = rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)  # (N, 32, 32, 3)
    return check_labeled(np.ascontiguousarray(images), rows[:, 0], name)


def read_sample(data: bytes) -> LabeledImages:
    """Return 10,000 of the images."""
    return sample_images(read_cifar10(data))


DATASETS.register(
    ImageEntry(
        name="cifar10",
        title="CIFAR-10, photographs of ten kinds of things, 32 x 32 in color (Krizhevsky, 2009)",
        terms=NO_LICENSE,
        n_items=60000,
        n_clusters=10,
        files=(_ARCHIVE,),
        label_names=_CLASSES,
        order=100,
        read=read_cifar10,
    )
)
DATASETS.register(
    ImageEntry(
        name="cifar10-10000",
        title="CIFAR-10, a fixed sample of 10,000 different images",
        terms=NO_LICENSE,
        n_items=10000,
        n_clusters=10,
        files=(_ARCHIVE,),
        label_names=_CLASSES,
        order=101,
        read=read_sample,
    )
)
