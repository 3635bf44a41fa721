import sys

import numpy as np
import pytest

import coterie
from coterie.augmenters.augmenter import make_augmenter
from coterie.augmenters.crop import CropAugmenter
from coterie.errors import InputError, MissingExtraError

RNG = np.random.default_rng(0)
COLOR = RNG.integers(0, 256, (30, 12, 12, 3), dtype=np.uint8)
GRAY = COLOR[..., :1].copy()
IDENTITY = "crop(scale=1,flip=0,jitter=0,gray=0,ratio=1)"


@pytest.mark.parametrize("images", [COLOR, GRAY], ids=["color", "gray"])
def test_views_have_the_shape_of_the_images_and_differ(images):
    first, second = make_augmenter("crop").views(images, 2, seed=0)
    assert (first.shape, first.dtype) == (images.shape, np.uint8)
    assert (first != images).any(axis=(1, 2, 3)).all()
    assert (first != second).any(axis=(1, 2, 3)).all()


def test_a_view_depends_on_its_image_the_seed_and_its_index_only():
    crop = make_augmenter("crop")
    (view,) = crop.views(COLOR, 1, seed=3)
    np.testing.assert_array_equal(crop.views(COLOR, 2, seed=3)[0], view)
    np.testing.assert_array_equal(crop.views(COLOR[::-1], 1, seed=3)[0][::-1], view)
    np.testing.assert_array_equal(crop.views(COLOR[4:5], 1, seed=3)[0], view[4:5])
    assert (crop.views(COLOR, 1, seed=4)[0] != view).any()


def test_without_any_change_a_view_is_the_image():
    np.testing.assert_array_equal(make_augmenter(IDENTITY).views(COLOR, 1, seed=0)[0], COLOR)


def test_flips():
    flipped = COLOR[:, :, ::-1]
    always = make_augmenter(IDENTITY.replace("flip=0", "flip=1"))
    np.testing.assert_array_equal(always.views(COLOR, 1, seed=0)[0], flipped)
    half = make_augmenter(IDENTITY.replace("flip=0", "flip=0.5")).views(COLOR, 40, seed=0)
    share = np.mean([(view == flipped).all(axis=(1, 2, 3)).mean() for view in half])
    assert 0.4 < share < 0.6


def test_crops_have_random_sizes_and_positions():
    gradient = np.linspace(0, 255, 32).astype(np.uint8)[None, None, :, None]
    images = np.broadcast_to(gradient, (50, 32, 32, 1)).copy()
    images[:, 0, 0, 0] = np.arange(50)  # equal images would have equal views
    (views,) = make_augmenter("crop(scale=0.25,flip=0,jitter=0,ratio=1)").views(images, 1, seed=0)
    middle_row = views[:, 16, :, 0].astype(int)
    width = (middle_row[:, -1] - middle_row[:, 0]) / 255
    assert (width > 0.45).all()
    assert (width < 1.01).all()
    assert width.std() > 0.05
    assert middle_row[:, 0].max() > 60  # not always the same corner


def test_gray_and_jitter():
    gray = make_augmenter(IDENTITY.replace("gray=0", "gray=1")).views(COLOR, 1, seed=0)[0]
    assert (np.ptp(gray.astype(int), axis=3) <= 1).all()
    jitter = make_augmenter(IDENTITY.replace("jitter=0", "jitter=0.4,jitter_probability=1"))
    brightness = jitter.views(GRAY, 1, seed=0)[0].mean(axis=(1, 2, 3)) / GRAY.mean(axis=(1, 2, 3))
    assert brightness.std() > 0.1


def test_training_resamples_views_of_images_in_every_epoch(monkeypatch):
    seeds = []
    views = CropAugmenter.views

    def record_seed(self, items, n_views, *, seed):
        seeds.append(seed)
        return views(self, items, n_views, seed=seed)

    monkeypatch.setattr(CropAugmenter, "views", record_seed)
    coterie.SCCL(n_clusters=2, encoder="image", epochs=3, batch_size=30, guard="off").fit(GRAY)
    assert len(set(seeds)) == 3


def test_the_wrong_input_type_is_refused():
    with pytest.raises(InputError, match="'crop' makes views of images, not of texts"):
        make_augmenter("crop").views(["a text"], 1, seed=0)
    with pytest.raises(InputError, match="'chars' makes views of texts, not of images"):
        make_augmenter("chars").views(COLOR, 1, seed=0)


def test_without_kornia_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "kornia", None)
    with pytest.raises(MissingExtraError, match=r"'crop' needs an optional package.*coterie\[images\]"):
        make_augmenter("crop").views(COLOR, 1, seed=0)
