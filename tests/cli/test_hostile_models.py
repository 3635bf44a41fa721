"""Commands on model folders that a stranger changed, with hashes that fit: a sentence, never a traceback."""

import json
import shutil

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load_file, save_file

from coterie.artifact.manifest import write_manifest


@pytest.fixture(scope="module")
def saved(invoke, topics, tmp_path_factory):
    """An output folder of `coterie cluster` whose clusters 1 and 2 were merged."""
    base = tmp_path_factory.mktemp("hostile")
    (base / "tickets.csv").write_text("text\n" + "\n".join(topics[0]) + "\n")
    clusters = ["-k", 4, "-m", "kmeans", "-e", "tfidf", "--no-report"]
    invoke("cluster", base / "tickets.csv", *clusters, "--out", base / "four")
    invoke("edit", base / "four", "--merge", "1,2", "--out", base / "three", "--no-report")
    return base / "three"


@pytest.fixture
def folder(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "three")


def sign(model):
    (model / "manifest.json").unlink()
    write_manifest(model)


def change(model, name, function):
    value = json.loads((model / name).read_text())
    function(value)
    (model / name).write_text(json.dumps(value))
    sign(model)


def nested(tree):
    for _ in range(60):
        tree["children"] = [dict(tree)]


TABLES = {
    "number": lambda rows: rows[0].update(cluster=9),
    "huge number": lambda rows: rows[0].update(cluster=10**30),
    "no number": lambda rows: rows[0].update(cluster=True),
    "twice": lambda rows: rows.append(rows[0]),
    "name": lambda rows: rows[0].update(name=None),
    "size": lambda rows: rows[0].update(size="many"),
    "share": lambda rows: rows[0].update(share="all"),
    "confidence": lambda rows: rows[0].update(confidence=[]),
    "stability": lambda rows: rows[0].update(stability={}),
    "nearest": lambda rows: rows[0].update(nearest=7),
    "keywords": lambda rows: rows[0].update(keywords="goal"),
    "topics": lambda rows: rows[0].update(topics=[{"weight": "x", "words": []}]),
    "topic words": lambda rows: rows[0].update(topics=[{"weight": 1, "words": [1]}]),
}
TREES = {
    "name": lambda tree: tree["children"][0].update(name=5),
    "cluster": lambda tree: tree["children"][0].update(cluster="0"),
    "keywords": lambda tree: tree["children"][0].update(keywords=[None]),
    "levels": nested,
}
MERGES = {
    "huge sizes": {"target": [0, 1, 1, 3], "sizes": [10**30, 1, 1, 1]},
    "out of range": {"target": [0, 1, 1, 9], "sizes": [1, 1, 1, 1]},
    "no numbers": {"target": ["0"] * 4, "sizes": [1] * 4},
    "other entries": {"targets": []},
    "very many": {"target": [1, 0] * 100_000, "sizes": [1] * 200_000},
}


@pytest.mark.parametrize("command", [["info"], ["edit", "--merge", "0,1", "--rename", "0=Both"]], ids=["info", "edit"])
@pytest.mark.parametrize("what", TABLES)
def test_a_table_of_clusters_that_is_none_is_refused(invoke, folder, what, command):
    change(folder / "model", "clusters.json", TABLES[what])
    said = invoke(command[0], folder, *command[1:], code=2).stderr
    assert "clusters.json does not describe a model that this coterie can read" in said


@pytest.mark.parametrize("command", [["tree"], ["edit", "--rename", "0=Both"]], ids=["tree", "edit"])
@pytest.mark.parametrize("what", TREES)
def test_a_tree_that_is_none_is_refused(invoke, folder, what, command):
    change(folder / "model", "tree.json", TREES[what])
    said = invoke(command[0], folder, *command[1:], code=2).stderr
    assert "tree.json does not describe a model that this coterie can read" in said


@pytest.mark.parametrize("command", [["info"], ["edit", "--merge", "0,1"]], ids=["info", "edit"])
@pytest.mark.parametrize("what", MERGES)
def test_merges_that_are_not_those_of_the_clusters_are_refused(invoke, folder, what, command):
    change(folder / "model", "config.json", lambda config: config.update(merges=MERGES[what]))
    said = invoke(command[0], folder, *command[1:], code=2).stderr
    assert "config.json does not describe a model that this coterie can read" in said


@pytest.mark.parametrize(
    "tensors",
    [{"second_labels_": np.full(90, 9)}, {"margin_": np.zeros(7)}, {"confidence_": np.zeros(90, dtype=np.int64)}],
    ids=["out of range", "other length", "no confidence"],
)
def test_a_second_cluster_that_is_none_is_refused(invoke, folder, tensors):
    path = folder / "model" / "weights.safetensors"
    save_file(load_file(path) | tensors, path)
    sign(folder / "model")
    said = invoke("edit", folder / "model", "--merge", "0,1", code=2).stderr
    assert "weights.safetensors: the " in said


def test_an_edit_never_replaces_what_coterie_did_not_write(invoke, folder, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "thesis.txt").write_text("years of work")
    said = invoke("edit", folder, "--merge", "0,1", "--out", tmp_path / "work", "--force", code=2).stderr
    assert "was not written by coterie" in said
    assert (tmp_path / "work" / "thesis.txt").read_text() == "years of work"


def test_an_edit_does_not_replace_the_model_in_its_folder(invoke, folder):
    said = invoke("edit", folder, "--merge", "0,1", "--out", folder / "model", "--force", code=2).stderr
    assert "is the model itself, which stays as it is" in said
    invoke("info", folder)


def test_a_model_of_images_names_images_that_can_be_read(invoke, tmp_path):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for number in range(8):
        pixels = np.full((8, 8), 10 * number, dtype=np.uint8)
        pixels[:4] += np.uint8(100 * (number % 2))
        Image.fromarray(pixels).save(pictures / f"{number}.png")
    invoke("cluster", "--items", "images", pictures, "-k", 2, "-m", "kmeans", "-o", tmp_path / "out", "--no-report")
    (tmp_path / "out" / "assignments.csv").write_text("name,cluster\nx,0\n")
    assert "There is no column 'file'" in invoke("report", tmp_path / "out", code=2).stderr
    state = tmp_path / "out" / "model" / "encoder.safetensors"
    save_file({"shape": np.array([100_000, 100_000, 3])}, state)
    sign(state.parent)
    said = invoke("assign", tmp_path / "out", pictures, code=2).stderr
    assert "are not those that coterie reads" in said
