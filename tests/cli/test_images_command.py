import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from coterie.cli.main import app

pytestmark = pytest.mark.filterwarnings("ignore::coterie.data.images.UnreadableImageWarning")  # one file is broken
COTERIE = Path(sys.executable).parent / "coterie"


def coterie(*arguments, code=0):
    run = subprocess.run([COTERIE, *map(str, arguments)], capture_output=True, text=True, encoding="utf-8", check=False)
    assert "Traceback" not in run.stderr, run.stderr
    assert run.returncode == code, run.stderr
    return run


def inside(*arguments):
    """Run a command in this process, because there are many."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception  # what the user would see as a traceback
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Twelve images of bars, half of them across and half down, one broken file, and a note."""
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
def groups(folder):
    run = coterie("cluster", "--items", "images", folder / "bars", "-k", 2, "--method", "kmeans", "-o", folder / "out")
    assert "13 images from" in run.stderr
    assert "Warning: 1 of 13 images cannot be read" in run.stderr
    assert "broken.png" in run.stderr
    assert "typical images" in run.stdout
    assert "keywords" not in run.stdout
    return folder / "out"


def rows(text):
    return list(csv.DictReader(text.splitlines()))


def test_cluster_writes_a_table_of_files_and_a_model(folder, groups):
    table = rows((groups / "assignments.csv").read_text())
    assert list(table[0]) == ["file", "cluster", "confidence"]
    assert [Path(row["file"]).name for row in table[:2]] == ["00.jpg", "01.png"]
    across = {row["cluster"] for row in table[1:12:2]}
    down = {row["cluster"] for row in table[0:12:2]}
    assert len(across) == len(down) == 1
    assert across != down
    assert (table[12]["cluster"], table[12]["confidence"]) == ("", "")
    assert "images" in inside("info", groups / "model").stdout


def test_assign_gives_the_same_answers_to_a_folder(folder, groups):
    run = inside("assign", groups / "model", folder / "bars", "-q")
    assert run.exit_code == 0
    assert run.stdout.replace("\r", "") == (groups / "assignments.csv").read_text()


def test_a_set_of_images_is_written_as_a_folder_that_can_be_clustered(folder, tmp_path):
    assert inside("datasets", "digits", "-o", tmp_path / "digits", "-q").exit_code == 0
    assert len(list((tmp_path / "digits" / "7").glob("*.png"))) == 179
    listed = json.loads(inside("datasets", "--json").stdout)
    assert {row["name"]: row["kind"] for row in listed}["digits"] == "images"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--items", "images", "{}/empty", "-k", "2"], "There are no images (PNG, JPEG) in the folder"),
        (["--items", "images", "{}/note.txt", "-k", "2"], "note.txt is a file. Name a folder with images"),
        (["--items", "images", "{}/nowhere", "-k", "2"], "nowhere does not exist"),
        (["--items", "images", "{}/bars", "-k", "2", "-e", "tfidf"], "The encoder 'tfidf' reads texts, not images"),
        (["--items", "images", "{}/bars", "-k", "2", "-c", "text"], "--column is for texts in a file"),
        (["--items", "images", "{}/bars", "-k", "2", "--on-empty", "error"], "1 of 13 images cannot be read"),
        (["--items", "images", "{}/bars", "-k", "20"], "20 clusters need at least 20 distinct images"),
        (["--items", "images", "{}/bars", "-k", "2", "-m", "deccrl"], "images have none"),
        (["--items", "images", "{}/bars", "-k", "2", "-m", "sccl", "-a", "chars"], "'chars' changes texts"),
        (["{}/note.txt", "-k", "2", "-e", "image"], "The encoder 'image' reads images, not texts"),
    ],
)
def test_mistakes_are_told_in_one_sentence(folder, arguments, message):
    run = inside("cluster", *(argument.format(folder) for argument in arguments))
    assert run.exit_code == 2
    assert message in run.stderr
    assert "Error: " in run.stderr


def test_texts_are_refused_by_a_model_of_images(folder, groups):
    run = inside("assign", groups / "model", folder / "note.txt")
    assert (run.exit_code, "is a file. Name a folder" in run.stderr) == (2, True)


def test_without_the_extra_a_sentence_names_it(folder, monkeypatch):
    for name in ("PIL", "PIL.Image", "PIL.ImageOps"):
        monkeypatch.setitem(sys.modules, name, None)
    run = inside("cluster", "--items", "images", folder / "bars", "-k", "2")
    assert (run.exit_code, "pip install 'coterie[images]'" in run.stderr) == (2, True)
