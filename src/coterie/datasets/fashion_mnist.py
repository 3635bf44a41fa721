"""Fashion-MNIST: gray images of clothes, and a sample of them."""

from __future__ import annotations

import gzip
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from coterie.datasets.dataset import DATASETS, ImageEntry
from coterie.datasets.download import RemoteFile
from coterie.datasets.readers import LabeledImages, check_labeled, sample_images
from coterie.errors import InputError

_ADDRESS = "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/"
_SHA256 = {
    "train-images-idx3-ubyte.gz": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    "train-labels-idx1-ubyte.gz": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    "t10k-images-idx3-ubyte.gz": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    "t10k-labels-idx1-ubyte.gz": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
}
FILES = tuple(
    RemoteFile(f"fashion-mnist-{name}", _ADDRESS + name, sha256, may_be_repacked=True)
    for name, sha256 in _SHA256.items()
)
_CLASSES = ("t-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle-boot")


def read_fashion_mnist(*files: bytes) -> LabeledImages:
    """Return the training images and then the test images, from the four files."""
    arrays = [_read_idx(data, file.name) for data, file in zip(files, FILES, strict=True)]
    train_images, train_labels, test_images, test_labels = arrays
    images = np.concatenate([train_images, test_images])
    labels = np.concatenate([train_labels, test_labels])
    return check_labeled(images[..., None], labels, FILES[0].name)


def read_sample(*files: bytes) -> LabeledImages:
    """Return 10,000 of the images."""
    return sample_images(read_fashion_mnist(*files))


def _read_idx(data: bytes, name: str) -> NDArray[np.uint8]:
    """Return the array of a gzipped IDX file.

    The file has two zero bytes, the type (8: bytes), the number of dimensions, the dimensions, and the values.
    """
    try:
        plain = gzip.decompress(data)
        zeros, value_type, n_dims = struct.unpack(">HBB", plain[:4])
        shape = struct.unpack(f">{n_dims}I", plain[4 : 4 + 4 * n_dims])
        if (zeros, value_type) != (0, 8):
            raise ValueError("wrong header")
        return np.frombuffer(plain, dtype=np.uint8, offset=4 + 4 * n_dims).reshape(shape)
    except (OSError, EOFError, ValueError, struct.error, zlib.error) as error:
        raise InputError(f"{name} is not a complete gzipped IDX file ({error}).") from None


DATASETS.register(
    ImageEntry(
        name="fashion-mnist",
        title="Fashion-MNIST, pictures of clothes, 28 x 28 (Xiao et al., 2017)",
        terms="MIT",
        n_items=70000,
        n_clusters=10,
        files=FILES,
        label_names=_CLASSES,
        order=90,
        read=read_fashion_mnist,
    )
)
DATASETS.register(
    ImageEntry(
        name="fashion-mnist-10000",
        title="Fashion-MNIST, a fixed sample of 10,000 different images",
        terms="MIT",
        n_items=10000,
        n_clusters=10,
        files=FILES,
        label_names=_CLASSES,
        order=91,
        read=read_sample,
    )
)
