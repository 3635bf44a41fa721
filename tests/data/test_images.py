import os
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
COLOR = RNG.integers(0, 256, (4, 12, 12, 3), dtype=np.uint8)


@pytest.fixture
def folder(tmp_path):
    """Three gray PNGs, one of them in a folder below, and a file that is not an image."""
    (tmp_path / "b").mkdir()
    for name, image in zip(("c.png", "a.PNG", "b/d.png"), GRAY, strict=False):
        Image.fromarray(image).save(tmp_path / name, format="png")
    (tmp_path / "notes.txt").write_text("no image")
    return tmp_path


@pytest.mark.parametrize(
    "images", [GRAY, GRAY[..., None], list(GRAY), GRAY / 255, GRAY.astype(np.int64), (GRAY / 255).astype(np.float32)],
    ids=["N H W", "N H W 1", "list", "float", "int64", "float32"],
)  # fmt: skip
def test_every_type_of_array_gives_the_same_bytes(images):
    got = check_images(images)
    np.testing.assert_array_equal(got.unique[got.inverse], GRAY[..., None])
    assert (got.unique.dtype, got.counts.tolist()) == (np.uint8, [1] * 5)


def test_the_distinct_images_do_not_depend_on_the_order_of_the_rows():
    np.testing.assert_array_equal(check_images(GRAY[::-1]).unique, check_images(GRAY).unique)


def test_equal_images_are_deduplicated_and_counted():
    got = check_images(GRAY[[2, 0, 2, 2]])
    np.testing.assert_array_equal(got.unique[got.inverse][..., 0], GRAY[[2, 0, 2, 2]])
    assert got.counts[got.inverse].tolist() == [3, 1, 3, 3]
    assert got.expand(got.counts, -1).tolist() == [3, 1, 3, 3]
    assert got.sha256() == check_images(GRAY[[2, 0, 2, 2]] / 255).sha256() != check_images(GRAY[[0, 2, 2, 2]]).sha256()


def test_only_resizing_needs_pillow(monkeypatch):
    for name in ("PIL", "PIL.Image", "PIL.ImageOps"):
        monkeypatch.setitem(sys.modules, name, None)
    assert check_images(COLOR).unique.shape == (4, 12, 12, 3)
    assert check_images(COLOR, channels=1).unique.shape == (4, 12, 12, 1)
    with pytest.raises(MissingExtraError, match=r"pip install 'coterie\[images\]'"):
        check_images(COLOR, side=8)


def test_large_and_oblong_images_become_squares_with_side_32():
    assert check_images(np.zeros((2, 40, 40), dtype=np.uint8)).unique.shape == (1, 32, 32, 1)
    wide = np.zeros((1, 10, 30, 3), dtype=np.uint8)
    wide[:, :, 10:20] = 255  # the central square
    assert (check_images(wide).unique[:, :, 2:-2] > 250).all()  # resizing mixes the edge with its surroundings


def test_gray_and_color_are_converted_as_by_pillow(tmp_path):
    paths = []
    for number, image in enumerate(COLOR):
        paths.append(tmp_path / f"{number}.png")
        Image.fromarray(image).save(paths[-1])
    as_gray = check_images(COLOR, channels=1)
    np.testing.assert_array_equal(as_gray.unique, check_images(paths, channels=1).unique)
    assert as_gray.unique.shape == (4, 12, 12, 1)
    assert (np.ptp(check_images(GRAY, channels=3).unique, axis=3) == 0).all()


def test_a_folder_is_read_in_the_order_of_file_names(folder):
    assert [str(path.relative_to(folder)) for path in image_files(folder)] == ["a.PNG", "b/d.png", "c.png"]
    got = check_images(folder)
    np.testing.assert_array_equal(got.unique[got.inverse][..., 0], GRAY[[1, 2, 0]])
    np.testing.assert_array_equal(check_images(str(folder)).unique, check_images(folder).unique)


@pytest.mark.parametrize("wrap", [list, pd.Series, pl.Series, lambda paths: pd.DataFrame({"id": 1, "file": paths})])
def test_files_are_read_from_lists_series_and_columns(folder, wrap):
    paths = [str(path) for path in image_files(folder)]
    given = wrap(paths)
    got = check_images(given, "file" if hasattr(given, "columns") else None)
    np.testing.assert_array_equal(got.unique, check_images(folder).unique)


def test_unreadable_files_are_reported_and_get_no_cluster(folder):
    (folder / "broken.png").write_bytes((folder / "c.png").read_bytes()[:40])
    got = check_images([*image_files(folder), folder / "gone.png"])
    assert (got.n_blank, (got.inverse < 0).tolist()) == (2, [False, False, True, False, True])
    assert f"2 of 5 images cannot be read and get no cluster: {folder / 'broken.png'} (it is not" in got.blank_message
    assert "gone.png (there is no such file)" in got.blank_message
    with pytest.raises(InputError, match=r"2 of 5 images cannot be read: .*broken\.png"):
        check_images([*image_files(folder), folder / "gone.png"], on_empty="error")
    with pytest.raises(InputError, match=r"None of the 1 images can be read: .*broken\.png"):
        check_images([folder / "broken.png"])


def test_exif_orientation_is_applied_and_transparency_is_white(tmp_path):
    upright = np.zeros((8, 8), dtype=np.uint8)
    upright[:4] = 255
    exif = Image.Exif()
    exif[0x0112] = 3  # upside down
    Image.fromarray(upright).save(tmp_path / "turned.png", exif=exif)
    np.testing.assert_array_equal(check_images([tmp_path / "turned.png"]).unique[0, ..., 0], upright[::-1])
    Image.new("RGBA", (8, 8), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    assert (check_images([tmp_path / "clear.png"]).unique == 255).all()


def test_images_with_16_bits_are_scaled_not_clipped(tmp_path):
    deep = (np.arange(64).reshape(8, 8) * 1024).astype(np.uint16)
    Image.fromarray(deep).save(tmp_path / "deep.png")
    np.testing.assert_array_equal(check_images([tmp_path / "deep.png"]).unique[0, ..., 0], deep >> 8)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((3, 4)), r"array \(N, H, W\) or \(N, H, W, C\) with 1 or 3 channels, got \(3, 4\)"),
        (np.zeros((3, 3, 8, 8)), "Channels come last"),
        (np.zeros((0, 8, 8)), "There are no images"),
        (np.full((2, 8, 8), 200.0), r"Row 1 has values from 200 to 200, expected 0 to 1\. Divide by 255"),
        (np.full((2, 8, 8), np.nan), "Row 1 has values from nan"),
        (np.full((2, 8, 8), -1), "Row 1 has values from -1 to -1, expected 0 to 255"),
        (np.full((2, 8, 8), "a"), "an array of <U1"),
        ([np.zeros((8, 8)), np.zeros((9, 9))], "differ in shape"),
        ([], "There are no images"),
        (["a.png", None], "Row 2 is None, not the name of an image file"),
        (7, "Expected images, got int"),
        ("no such folder", "no such folder does not exist"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), "Name the image column"),
    ],
)
def test_wrong_images_are_an_error(images, message):
    with pytest.raises(InputError, match=message):
        check_images(images)


def test_a_folder_without_images_and_a_file_are_an_error(folder):
    (folder / "empty").mkdir()
    with pytest.raises(InputError, match=r"There are no images \(PNG, JPEG\) in the folder"):
        check_images(folder / "empty")
    with pytest.raises(InputError, match=r"notes\.txt is a file\. Name a folder"):
        check_images(folder / "notes.txt")
    with pytest.raises(InputError, match="needs a data frame, got ndarray"):
        check_images(GRAY, "file")


def test_written_images_are_read_again(tmp_path):
    write_folder(GRAY[..., None], list("xyxyx"), tmp_path / "out")
    again = check_images(tmp_path / "out")
    assert isinstance(again, Images)
    np.testing.assert_array_equal(again.unique[again.inverse][..., 0], GRAY[[0, 2, 4, 1, 3]])
    with pytest.raises(InputError, match="is not empty"):
        write_folder(GRAY[..., None], list("xyxyx"), tmp_path / "out")


def test_only_png_and_jpeg_are_decoded_whatever_a_file_is_called(tmp_path):
    Image.fromarray(GRAY[0]).convert("RGB").save(tmp_path / "a.eps", format="eps")  # Pillow would start Ghostscript
    Image.fromarray(GRAY[0]).save(tmp_path / "b.gif")
    for name in ("a.eps", "b.gif"):
        hidden = (tmp_path / name).rename(tmp_path / f"{name}.png")
        with pytest.raises(InputError, match="None of the 1 images can be read"):
            check_images([hidden])


def test_a_pipe_is_not_opened(folder, tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(InputError, match=r"None of the 1 images can be read: .*pipe\.png"):
        check_images([tmp_path / "pipe.png"])
