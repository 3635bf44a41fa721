import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from PIL import Image

from coterie.data.images import Images, check_images, image_files, write_folder
from coterie.errors import InputError, MissingExtraError

RNG = np.random.default_rng(0)
GRAY = RNG.integers(0, 256, (5, 8, 8), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (4, 12, 12, 3), dtype=np.uint8)


@pytest.fixture
def folder(tmp_path):
    """Three gray PNGs, one of them in a folder below, and files that are no images."""
    (tmp_path / "b").mkdir()
    for name, image in zip(("c.png", "a.PNG", "b/d.png"), GRAY, strict=False):
        Image.fromarray(image).save(tmp_path / name, format="png")
    (tmp_path / "notes.txt").write_text("no image")
    return tmp_path


@pytest.mark.parametrize(
    "images", [GRAY, GRAY[..., None], list(GRAY), GRAY / 255, GRAY.astype(np.int64), (GRAY / 255).astype(np.float32)],
    ids=["N H W", "N H W 1", "list", "float", "int64", "float32"],
)  # fmt: skip
def test_every_kind_of_array_gives_the_same_bytes(images):
    got = check_images(images)
    np.testing.assert_array_equal(got.unique, GRAY[..., None])
    assert (got.unique.dtype, got.inverse.tolist(), got.counts.tolist()) == (np.uint8, [0, 1, 2, 3, 4], [1] * 5)


def test_equal_images_are_one_with_a_count_and_a_way_back():
    got = check_images(GRAY[[2, 0, 2, 2]])
    np.testing.assert_array_equal(got.unique[..., 0], GRAY[[2, 0]])
    assert (got.inverse.tolist(), got.counts.tolist()) == ([0, 1, 0, 0], [3, 1])
    assert got.spread(np.array([5, 7]), -1).tolist() == [5, 7, 5, 5]
    assert got.sha256() == check_images(GRAY[[2, 0, 2, 2]] / 255).sha256() != check_images(GRAY[[0, 2, 2, 2]]).sha256()


def test_arrays_that_fit_need_no_pillow_and_others_name_the_extra(monkeypatch):
    for name in ("PIL", "PIL.Image", "PIL.ImageOps"):
        monkeypatch.setitem(sys.modules, name, None)
    assert check_images(COLOUR).unique.shape == (4, 12, 12, 3)
    assert check_images(COLOUR, channels=1).unique.shape == (4, 12, 12, 1)
    with pytest.raises(MissingExtraError, match=r"pip install 'coterie\[images\]'"):
        check_images(COLOUR, side=8)


def test_large_and_oblong_images_become_squares_of_32():
    assert check_images(np.zeros((2, 40, 40), dtype=np.uint8)).unique.shape == (1, 32, 32, 1)
    wide = np.zeros((1, 10, 30, 3), dtype=np.uint8)
    wide[:, :, 10:20] = 255  # the middle, which is all that is left
    assert (check_images(wide).unique[:, :, 2:-2] > 250).all()  # its edge is mixed with what lies beside it


def test_gray_and_colour_become_each_other_as_pillow_does_it(tmp_path):
    paths = []
    for number, image in enumerate(COLOUR):
        paths.append(tmp_path / f"{number}.png")
        Image.fromarray(image).save(paths[-1])
    as_gray = check_images(COLOUR, channels=1)
    np.testing.assert_array_equal(as_gray.unique, check_images(paths, channels=1).unique)
    assert as_gray.unique.shape == (4, 12, 12, 1)
    assert (np.ptp(check_images(GRAY, channels=3).unique, axis=3) == 0).all()


def test_a_folder_is_read_in_the_order_of_names(folder):
    assert [str(path.relative_to(folder)) for path in image_files(folder)] == ["a.PNG", "b/d.png", "c.png"]
    np.testing.assert_array_equal(check_images(folder).unique[..., 0], GRAY[[1, 2, 0]])
    np.testing.assert_array_equal(check_images(str(folder)).unique, check_images(folder).unique)


@pytest.mark.parametrize("wrap", [list, pd.Series, pl.Series, lambda paths: pd.DataFrame({"id": 1, "file": paths})])
def test_files_come_in_lists_series_and_columns(folder, wrap):
    paths = [str(path) for path in image_files(folder)]
    given = wrap(paths)
    got = check_images(given, "file" if hasattr(given, "columns") else None)
    np.testing.assert_array_equal(got.unique, check_images(folder).unique)


def test_an_unreadable_file_is_named_and_has_no_cluster(folder):
    (folder / "broken.png").write_bytes((folder / "c.png").read_bytes()[:40])
    got = check_images([*image_files(folder), folder / "gone.png"])
    assert (got.n_blank, got.inverse.tolist()) == (2, [0, 1, -1, 2, -1])
    assert f"2 of 5 images cannot be read and get no cluster: {folder / 'broken.png'} (it is no" in got.complaint
    assert "gone.png (there is no such file)" in got.complaint
    with pytest.raises(InputError, match=r"2 of 5 images cannot be read: .*broken\.png"):
        check_images([*image_files(folder), folder / "gone.png"], on_empty="error")
    with pytest.raises(InputError, match=r"None of the 1 images can be read: .*broken\.png"):
        check_images([folder / "broken.png"])


def test_photographs_are_turned_as_they_say_and_transparency_is_white(tmp_path):
    upright = np.zeros((8, 8), dtype=np.uint8)
    upright[:4] = 255
    exif = Image.Exif()
    exif[0x0112] = 3  # upside down
    Image.fromarray(upright).save(tmp_path / "turned.png", exif=exif)
    np.testing.assert_array_equal(check_images([tmp_path / "turned.png"]).unique[0, ..., 0], upright[::-1])
    Image.new("RGBA", (8, 8), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    assert (check_images([tmp_path / "clear.png"]).unique == 255).all()


def test_sixteen_bits_are_scaled_not_cut_off(tmp_path):
    deep = (np.arange(64).reshape(8, 8) * 1024).astype(np.uint16)
    Image.fromarray(deep).save(tmp_path / "deep.png")
    np.testing.assert_array_equal(check_images([tmp_path / "deep.png"]).unique[0, ..., 0], deep >> 8)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((3, 4)), r"array \(N, H, W\) or \(N, H, W, C\) with 1 or 3 channels, got \(3, 4\)"),
        (np.zeros((3, 3, 8, 8)), "Channels come last"),
        (np.zeros((0, 8, 8)), "There are no images"),
        (np.full((2, 8, 8), 200.0), r"Row 1 holds values from 200 to 200, expected 0 to 1\. Divide by 255"),
        (np.full((2, 8, 8), np.nan), "Row 1 holds values from nan"),
        (np.full((2, 8, 8), -1), "Row 1 holds values from -1 to -1, expected 0 to 255"),
        (np.full((2, 8, 8), "a"), "an array of <U1"),
        ([np.zeros((8, 8)), np.zeros((9, 9))], "differ in shape"),
        ([], "There are no images"),
        (["a.png", None], "Row 2 is None, not the name of an image file"),
        (7, "Expected images, got int"),
        ("no such folder", "no such folder does not exist"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), "Name the image column"),
    ],
)
def test_what_is_no_image_is_refused_in_one_sentence(images, message):
    with pytest.raises(InputError, match=message):
        check_images(images)


def test_a_folder_without_images_and_a_file_are_refused(folder):
    (folder / "empty").mkdir()
    with pytest.raises(InputError, match=r"There are no images \(PNG, JPEG\) in the folder"):
        check_images(folder / "empty")
    with pytest.raises(InputError, match=r"notes\.txt is a file\. Name a folder"):
        check_images(folder / "notes.txt")
    with pytest.raises(InputError, match="needs a data frame, got ndarray"):
        check_images(GRAY, "file")


def test_images_that_are_written_are_read_again(tmp_path):
    write_folder(GRAY[..., None], list("xyxyx"), tmp_path / "out")
    again = check_images(tmp_path / "out")
    assert isinstance(again, Images)
    np.testing.assert_array_equal(again.unique[..., 0], GRAY[[0, 2, 4, 1, 3]])
    with pytest.raises(InputError, match="is there already"):
        write_folder(GRAY[..., None], list("xyxyx"), tmp_path / "out")
