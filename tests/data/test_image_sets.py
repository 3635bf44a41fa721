import gzip
import io
import struct
import tarfile

import numpy as np
import pytest

from coterie.data import datasets, image_sets
from coterie.data.datasets import SOURCES, load
from coterie.data.remote import RepackedWarning
from coterie.errors import InputError

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (12, 28, 28), dtype=np.uint8)
LABELS = np.arange(12, dtype=np.uint8) % 10


def idx(array):
    return gzip.compress(struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes())


def cifar(rows, name="cifar-10-batches-bin/data_batch_1.bin"):
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


def test_digits_are_always_there():
    data = load("digits")
    source = SOURCES["digits"]
    assert data.items.shape == (source.n_items, 8, 8, 1)
    assert (data.items.dtype, data.items.max(), data.label_names) == (np.uint8, 255, list("0123456789"))
    assert len(set(data.true_labels.tolist())) == source.n_clusters
    with pytest.raises(InputError, match="has images, not texts"):
        data.texts  # noqa: B018


def test_fashion_mnist_is_its_four_files_one_after_the_other(folder):
    for file, array in zip(image_sets.FASHION, (IMAGES[:8], LABELS[:8], IMAGES[8:], LABELS[8:]), strict=True):
        (folder / file.name).write_bytes(idx(array))
    with pytest.warns(RepackedWarning, match="has other bytes than the published"):
        data = load("fashion-mnist")
    np.testing.assert_array_equal(data.items[..., 0], IMAGES)
    np.testing.assert_array_equal(data.true_labels, LABELS)
    assert data.label_names[7] == "sneaker"


def test_a_file_in_the_cache_must_be_the_published_one(folder):
    (folder / "cache" / "datasets").mkdir(parents=True)
    (folder / "cache" / "datasets" / image_sets.FASHION[0].name).write_bytes(idx(IMAGES))
    with pytest.raises(InputError, match="is not the published fashion-mnist-train-images"):
        load("fashion-mnist")


def test_cifar_has_its_planes_behind_its_label():
    planes = RNG.integers(0, 256, (5, 3, 32, 32), dtype=np.uint8)
    rows = np.hstack([LABELS[:5, None], planes.reshape(5, -1)])
    images, labels = image_sets.cifar(cifar(rows))
    np.testing.assert_array_equal(images[2, 4, 7], planes[2, :, 4, 7])
    assert labels.tolist() == [0, 1, 2, 3, 4]


def test_a_sample_is_of_different_images_whatever_their_order(monkeypatch):
    twice = image_sets.Labelled(np.concatenate([IMAGES, IMAGES[:3]])[..., None], np.append(LABELS, LABELS[:3]))
    turned = image_sets.Labelled(twice.images[::-1], twice.labels[::-1])
    first, second = image_sets._sample(twice, 9), image_sets._sample(turned, 9)
    np.testing.assert_array_equal(first.images, second.images)
    np.testing.assert_array_equal(first.labels, second.labels)
    assert len(np.unique(first.images, axis=0)) == 9
    assert SOURCES["fashion-mnist-10000"].n_items == SOURCES["cifar10-10000"].n_items == 10_000


@pytest.mark.parametrize(
    ("read", "files", "message"),
    [
        (image_sets.fashion, [b"not gzip"] * 4, "train-images-idx3-ubyte.gz is not a whole gzipped idx file"),
        (image_sets.fashion, [idx(IMAGES)[:200]] * 4, "is not a whole gzipped idx file"),
        (image_sets.fashion, [gzip.compress(b"\0\0\x09\x01\0\0\0\1a")] * 4, "it begins otherwise"),
        (image_sets.fashion, [idx(IMAGES), idx(LABELS[:5])] * 2, "24 images and 10 labels"),
        (image_sets.cifar, [b"no archive"], "is not CIFAR-10's binary version"),
        (image_sets.cifar, [cifar(LABELS)], "is not CIFAR-10's binary version"),
        (image_sets.cifar, [cifar(LABELS, "other/file")], "holds no batch"),
    ],
)
def test_a_damaged_file_is_told_in_words(read, files, message):
    with pytest.raises(InputError, match=message):
        read(*files)


def test_absent_files_say_where_they_are_to_be_had(folder, monkeypatch):
    def refuse(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    with pytest.raises(InputError, match=r"Cannot download https://github\.com/zalandoresearch.*COTERIE_DATA"):
        load("fashion-mnist")
    with pytest.raises(InputError, match=r"Cannot download https://www\.cs\.toronto\.edu.*COTERIE_DATA"):
        load("cifar10")
    assert datasets.SOURCES["cifar10"].kind == "images"
