import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Six images of horizontal bars, six of vertical bars, a broken file, and a text file."""
    made = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(0)
    (made / "bars").mkdir()
    for number in range(12):
        bars = np.zeros((16, 16))
        bars[::4] = 200
        image = (bars if number % 2 else bars.T) + rng.integers(0, 50, (16, 16))
        Image.fromarray(image.astype(np.uint8)).save(made / "bars" / f"{number:02}.{'png' if number else 'jpg'}")
    (made / "bars" / "broken.png").write_bytes(b"\x89PNG no more")
    (made / "note.txt").write_text("some words\nother words\n")
    (made / "empty").mkdir()
    return made


@pytest.fixture(scope="module")
def output(folder, invoke):
    run = invoke("cluster", "--items", "images", folder / "bars", "-k", 2, "--method", "kmeans", "-o", folder / "out")
    assert "13 images from" in run.stderr
    assert "Warning: 1 of 13 images cannot be read" in run.stderr
    assert "broken.png" in run.stderr
    assert "- " + str(folder / "bars" / "01.png") in run.stdout.replace("\n     ", "")
    assert "keywords" not in run.stdout
    return folder / "out"


def rows(text):
    return list(csv.DictReader(text.splitlines()))


def test_cluster_writes_a_table_of_files_and_a_model(invoke, output):
    table = rows((output / "assignments.csv").read_text())
    assert list(table[0]) == ["file", "cluster", "cluster_name", "confidence", "second_cluster", "margin"]
    assert [Path(row["file"]).name for row in table[:2]] == ["00.jpg", "01.png"]
    horizontal = {row["cluster"] for row in table[1:12:2]}
    vertical = {row["cluster"] for row in table[0:12:2]}
    assert len(horizontal) == len(vertical) == 1
    assert horizontal != vertical
    assert (table[12]["cluster"], table[12]["confidence"]) == ("", "")
    info = invoke("info", output / "model").stdout
    assert "13 images" in info
    assert "01.png" in info


def test_assign_gives_the_same_clusters_to_a_folder(invoke, folder, output):
    run = invoke("assign", output / "model", folder / "bars", "-q")
    assert run.stdout.replace("\r", "") == (output / "assignments.csv").read_text()


def test_a_data_set_of_images_is_written_as_a_folder(invoke, tmp_path, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda _: None)  # slow for many files
    invoke("datasets", "digits", "-o", tmp_path / "digits", "-q")
    assert len(list((tmp_path / "digits" / "7").glob("*.png"))) == 179
    listed = json.loads(invoke("datasets", "--json").stdout)
    assert {row["name"]: row["input_type"] for row in listed}["digits"] == "images"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--items", "images", "{}/empty", "-k", "2"], "There are no images (PNG, JPEG) in the folder"),
        (["--items", "images", "{}/note.txt", "-k", "2"], "note.txt is a file. Name a folder with images"),
        (["--items", "images", "{}/nowhere", "-k", "2"], "nowhere does not exist"),
        (["--items", "images", "{}/bars", "-k", "2", "-e", "tfidf"], "The encoder 'tfidf' takes texts, not images"),
        (["--items", "images", "{}/bars", "-k", "2", "-c", "text"], "--column is for files of texts"),
        (["--items", "images", "{}/bars", "-k", "2", "--on-empty", "error"], "1 of 13 images cannot be read"),
        (["--items", "images", "{}/bars", "-k", "20"], "20 clusters need at least 20 distinct images"),
        (["--items", "images", "{}/bars", "-k", "2", "-m", "deccrl"], "images have none"),
        (["--items", "images", "{}/bars", "-k", "2", "-m", "sccl", "-a", "chars"], "'chars' changes texts"),
        (["{}/note.txt", "-k", "2", "-e", "image"], "The encoder 'image' takes images, not texts"),
    ],
)
def test_wrong_input_is_an_error(invoke, folder, arguments, message):
    run = invoke("cluster", *(argument.format(folder) for argument in arguments), code=2)
    assert message in run.stderr.splitlines()[-1]
    assert run.stderr.splitlines()[-1].startswith("Error: ")


def test_a_model_of_images_needs_a_folder(invoke, folder, output):
    assert "is a file. Name a folder" in invoke("assign", output / "model", folder / "note.txt", code=2).stderr


def test_without_pillow_the_error_names_the_extra(invoke, folder, monkeypatch):
    for name in ("PIL", "PIL.Image", "PIL.ImageOps"):
        monkeypatch.setitem(sys.modules, name, None)
    run = invoke("cluster", "--items", "images", folder / "bars", "-k", "2", code=2)
    assert "pip install 'coterie[images]'" in run.stderr
