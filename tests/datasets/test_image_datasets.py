import gzip
import io
import struct
import tarfile

import numpy as np
import pytest

from coterie.datasets import DATASETS, load
from coterie.datasets.cifar10 import read_cifar10
from coterie.datasets.fashion_mnist import FILES, read_fashion_mnist
from coterie.datasets.readers import LabeledImages, sample_images
from coterie.errors import InputError, RepackedWarning

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (12, 28, 28), dtype=np.uint8)
LABELS = np.arange(12, dtype=np.uint8) % 10


def idx(array):
    return gzip.compress(struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes())


def cifar_archive(rows, name="cifar-10-batches-bin/data_batch_1.bin"):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for member, data in ((name, rows.tobytes()), ("cifar-10-batches-bin/readme.html", b"words")):
            info = tarfile.TarInfo(member)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_digits_need_no_download():
    data = load("digits")
    entry = DATASETS["digits"]
    assert data.items.shape == (entry.n_items, 8, 8, 1)
    assert (data.items.dtype, data.items.max(), data.label_names) == (np.uint8, 255, list("0123456789"))
    assert len(set(data.true_labels.tolist())) == entry.n_clusters
    with pytest.raises(InputError, match="has images, not texts"):
        data.texts  # noqa: B018


def test_fashion_mnist_has_the_training_images_and_then_the_test_images(folder):
    for file, array in zip(FILES, (IMAGES[:8], LABELS[:8], IMAGES[8:], LABELS[8:]), strict=True):
        (folder / file.name).write_bytes(idx(array))
    with pytest.warns(RepackedWarning, match="has other bytes than the published"):
        data = load("fashion-mnist")
    np.testing.assert_array_equal(data.items[..., 0], IMAGES)
    np.testing.assert_array_equal(data.true_labels, LABELS)
    assert data.label_names[7] == "sneaker"


def test_a_file_in_the_cache_must_have_the_published_hash(folder):
    (folder / "cache" / "datasets").mkdir(parents=True)
    (folder / "cache" / "datasets" / FILES[0].name).write_bytes(idx(IMAGES))
    with pytest.raises(InputError, match="is not the published fashion-mnist-train-images"):
        load("fashion-mnist")


def test_cifar10_rows_have_a_label_and_three_channels():
    planes = RNG.integers(0, 256, (5, 3, 32, 32), dtype=np.uint8)
    rows = np.hstack([LABELS[:5, None], planes.reshape(5, -1)])
    images, labels = read_cifar10(cifar_archive(rows))
    np.testing.assert_array_equal(images[2, 4, 7], planes[2, :, 4, 7])
    assert labels.tolist() == [0, 1, 2, 3, 4]


def test_a_sample_has_distinct_images_and_does_not_depend_on_their_order():
    repeated = LabeledImages(np.concatenate([IMAGES, IMAGES[:3]])[..., None], np.append(LABELS, LABELS[:3]))
    reversed_rows = LabeledImages(repeated.images[::-1], repeated.labels[::-1])
    first = sample_images(repeated, 9)
    second = sample_images(reversed_rows, 9)
    np.testing.assert_array_equal(first.images, second.images)
    np.testing.assert_array_equal(first.labels, second.labels)
    assert len(np.unique(first.images, axis=0)) == 9


@pytest.mark.parametrize(
    ("read", "files", "message"),
    [
        (
            read_fashion_mnist,
            [b"not gzip"] * 4,
            "train-images-idx3-ubyte.gz is not a complete gzipped IDX file",
        ),
        (read_fashion_mnist, [idx(IMAGES)[:200]] * 4, "is not a complete gzipped IDX file"),
        (read_fashion_mnist, [gzip.compress(b"\0\0\x09\x01\0\0\0\1a")] * 4, "wrong header"),
        (read_fashion_mnist, [idx(IMAGES), idx(LABELS[:5])] * 2, "24 images and 10 labels"),
        (read_cifar10, [b"no archive"], "is not the binary version of CIFAR-10"),
        (read_cifar10, [cifar_archive(LABELS)], "is not the binary version of CIFAR-10"),
        (read_cifar10, [cifar_archive(LABELS, "other/file")], "has no batch"),
    ],
)
def test_a_damaged_file_is_an_error(read, files, message):
    with pytest.raises(InputError, match=message):
        read(*files)


def test_the_error_of_a_missing_file_has_its_address(folder, monkeypatch):
    def refuse(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    with pytest.raises(InputError, match=r"Cannot download https://github\.com/zalandoresearch.*COTERIE_DATA"):
        load("fashion-mnist")
    with pytest.raises(InputError, match=r"Cannot download https://www\.cs\.toronto\.edu.*COTERIE_DATA"):
        load("cifar10")
