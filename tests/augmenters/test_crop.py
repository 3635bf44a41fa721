import sys

import numpy as np
import pytest

from coterie.augmenters.augmenter import make_augmenter
from coterie.errors import InputError, MissingExtraError

RNG = np.random.default_rng(0)
COLOUR = RNG.integers(0, 256, (30, 12, 12, 3), dtype=np.uint8)
GRAY = COLOUR[..., :1].copy()
STILL = "crop(scale=1,flip=0,jitter=0,gray=0,ratio=1)"


@pytest.mark.parametrize("images", [COLOUR, GRAY], ids=["colour", "gray"])
def test_views_have_the_shape_of_the_images_and_differ_from_them(images):
    first, second = make_augmenter("crop").views(images, 2, seed=0)
    assert (first.shape, first.dtype) == (images.shape, np.uint8)
    assert (first != images).any(axis=(1, 2, 3)).all()
    assert (first != second).any(axis=(1, 2, 3)).all()


def test_a_view_is_of_its_image_the_seed_and_its_number_alone():
    crop = make_augmenter("crop")
    (view,) = crop.views(COLOUR, 1, seed=3)
    np.testing.assert_array_equal(crop.views(COLOUR, 2, seed=3)[0], view)
    np.testing.assert_array_equal(crop.views(COLOUR[::-1], 1, seed=3)[0][::-1], view)
    np.testing.assert_array_equal(crop.views(COLOUR[4:5], 1, seed=3)[0], view[4:5])
    assert (crop.views(COLOUR, 1, seed=4)[0] != view).any()


def test_with_everything_off_the_image_stays():
    np.testing.assert_array_equal(make_augmenter(STILL).views(COLOUR, 1, seed=0)[0], COLOUR)


def test_a_mirrored_view_is_the_mirror():
    mirror = make_augmenter(STILL.replace("flip=0", "flip=1"))
    np.testing.assert_array_equal(mirror.views(COLOUR, 1, seed=0)[0], COLOUR[:, :, ::-1])
    half = make_augmenter(STILL.replace("flip=0", "flip=0.5")).views(np.repeat(COLOUR, 10, axis=0), 40, seed=0)
    turned = np.mean([(view[::10] == COLOUR[:, :, ::-1]).all(axis=(1, 2, 3)).mean() for view in half])
    assert 0.4 < turned < 0.6


def test_a_part_is_a_part():
    ramp = np.broadcast_to(np.linspace(0, 255, 32).astype(np.uint8)[None, None, :, None], (50, 32, 32, 1)).copy()
    ramp[:, 0, 0, 0] = np.arange(50)  # otherwise they would be equal, and so would their views
    views = (
        make_augmenter("crop(scale=0.25,flip=0,jitter=0,ratio=1)").views(ramp, 1, seed=0)[0][:, 16, :, 0].astype(int)
    )
    width = (views[:, -1] - views[:, 0]) / 255
    assert (0.45 < width).all()
    assert (width < 1.01).all()
    assert width.std() > 0.05
    assert views[:, 0].max() > 60  # not always the same corner


def test_colours_change_or_vanish():
    gray = make_augmenter(STILL.replace("gray=0", "gray=1")).views(COLOUR, 1, seed=0)[0]
    assert (np.ptp(gray.astype(int), axis=3) <= 1).all()
    changed = make_augmenter(STILL.replace("jitter=0", "jitter=0.4").replace("gray=0", "jittered=1,gray=0"))
    brightness = changed.views(GRAY, 1, seed=0)[0].mean(axis=(1, 2, 3)) / GRAY.mean(axis=(1, 2, 3))
    assert brightness.std() > 0.1


def test_every_epoch_has_views_of_its_own(monkeypatch):
    import coterie
    from coterie.augmenters.images import CropAugmenter

    seeds = []
    views = CropAugmenter.views
    monkeypatch.setattr(
        CropAugmenter, "views", lambda self, items, n, seed: seeds.append(seed) or views(self, items, n, seed=seed)
    )
    coterie.SCCL(n_clusters=2, encoder="image", epochs=3, batch_size=30, guard="off").fit(GRAY)
    assert len(set(seeds)) == 3


def test_texts_and_images_are_told_apart():
    with pytest.raises(InputError, match="'crop' makes views of images, not of texts"):
        make_augmenter("crop").views(["a text"], 1, seed=0)
    with pytest.raises(InputError, match="'chars' makes views of texts, not of images"):
        make_augmenter("chars").views(COLOUR, 1, seed=0)
    with pytest.raises(InputError, match=r"chain\(chars,crop\): 'crop' makes views of images"):
        make_augmenter("chain(chars,crop)").views(["a text"], 1, seed=0)


def test_without_kornia_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "kornia", None)
    with pytest.raises(MissingExtraError, match=r"'crop' needs an optional package.*coterie\[images\]"):
        make_augmenter("crop").views(COLOUR, 1, seed=0)


@pytest.mark.parametrize("spec", ["crop", "crop:0.5", "crop(flip=0.0,scale=0.5)"])
def test_it_survives_its_own_spec(spec):
    augmenter = make_augmenter(spec)
    assert make_augmenter(augmenter.spec).params() == augmenter.params()
