"""Model folders made by a stranger, with hashes that fit: refused in a sentence, soon."""

import json
import os

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from stranger import change, change_tensors, sign

import coterie
from coterie.artifact.allocation import AllocationLimit
from coterie.artifact.manifest import write_manifest
from coterie.artifact.model import Artifact
from coterie.errors import ArtifactError
from coterie.methods.sccl import SCCL

# -- the manifest


@pytest.mark.parametrize(
    "name", ["/etc/hostname", "../model/config.json", "sub/config.json", ".hidden", "", "a\0b", "a\x1b[2J"]
)
def test_a_name_outside_the_folder_is_refused(folder, name):
    change(folder, lambda m: m["files"].update({name: "0" * 64}), name="manifest.json")
    with pytest.raises(ArtifactError, match="which is not the name of a file in this folder") as raised:
        coterie.load(folder)
    assert "\x1b" not in str(raised.value)


@pytest.mark.parametrize("version", [-7, 0, True, 1.5, None, "2"])
def test_a_version_that_is_no_count_is_refused(folder, version):
    change(folder, lambda m: m | {"schema_version": version}, name="manifest.json")
    with pytest.raises(ArtifactError, match=r"manifest\.json is not a coterie manifest"):
        coterie.load(folder)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"files": {}}, r"does not list config\.json, which every model has"),
        ({"files": []}, "is not a coterie manifest"),
        ({"files": {"config.json": 5}}, r"has no SHA-256 of config\.json"),
        ({"sizes": []}, "does not list the size of every file"),
        ({"sizes": {"config.json": 3}}, "does not list the size of every file"),
    ],
)
def test_incomplete_entries_are_refused(folder, entries, message):
    change(folder, lambda m: m | entries, name="manifest.json")
    with pytest.raises(ArtifactError, match=message):
        coterie.load(folder)


def test_a_dropped_entry_and_its_file_are_refused(folder):
    (folder / "encoder.json").unlink()
    sign(folder)
    with pytest.raises(ArtifactError, match=r"config\.json does not describe a model that this coterie can read"):
        coterie.load(folder)


def test_an_unlisted_file_is_refused_and_a_signature_is_not(folder, topics):
    (folder / "manifest.json.minisig").write_text("of the user")
    coterie.load(folder).predict(topics[0][:1])
    (folder / "plugin.py").write_text("import os")
    with pytest.raises(ArtifactError, match=r"plugin\.py is not listed in manifest\.json"):
        coterie.load(folder)


@pytest.mark.parametrize("name", ["weights.safetensors", "manifest.json"])
def test_a_pipe_is_not_opened(folder, name):
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(ArtifactError, match=r"is not a file .*so it is not read"):
        coterie.load(folder)


def test_a_file_of_many_gigabytes_is_not_read(folder):
    change(folder, lambda m: m | {"sizes": {}}, name="manifest.json")
    with (folder / "weights.safetensors").open("r+b") as stream:
        stream.truncate(20 * 10**9)  # sparse: it takes no space
    with pytest.raises(ArtifactError, match=r"has 20\.0 GB; a model file may have 4.*COTERIE_MAX_MODEL_GB"):
        coterie.load(folder)


def test_a_header_that_promises_more_than_the_file_has_is_refused(folder):
    (folder / "weights.safetensors").write_bytes((2**40).to_bytes(8, "little") + b"{}")
    sign(folder)
    with pytest.raises(ArtifactError, match="its header has 1,099,511,627,776 bytes"):
        coterie.load(folder)


# -- configuration and weights that do not fit


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda c: [c], "is not the configuration of a model"),
        (lambda c: c | {"method": ["kmeans"]}, "method must be a word"),
        (lambda c: c | {"method": "os.system"}, "There is no method called 'os.system'"),
        (lambda c: c | {"encoder": None}, "encoder must be an object"),
        (lambda c: c["encoder"].update(name="../x"), r"There is no encoder called '\.\./x'"),
        (lambda c: c["encoder"].update(params={"exec": 1}), "does not describe a model"),
        (lambda c: c["encoder"].update(params={"max_features": "1"}), "`max_features` must be"),
        (lambda c: c["params"].update(n_clusters=-1), "`n_clusters` must be a whole number"),
        (lambda c: c["params"].update(n_clusters="auto"), "params.n_clusters must be a whole number"),
        (lambda c: c["params"].update(n_clusters=10**12), "far more memory than the saved weights"),
        (lambda c: c["texts"].update(n=True), "texts.n must be a whole number"),
        (lambda c: c | {"notes": 5}, "notes must be an object"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(folder, function, message):
    change(folder, function)
    with pytest.raises(ArtifactError, match=message):
        coterie.load(folder)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"nearest.mu": np.full((3, 21), np.nan, dtype=np.float32)}, "not finite"),
        ({"nearest.mu": np.zeros((3, 21), dtype=np.int64)}, "has the type torch.int64"),
        ({"labels_": np.full(90, 7)}, "the labels are not those of 3 clusters"),
        ({"labels_": np.zeros(9, dtype=np.int64)}, "the labels are not those of 3 clusters"),
        ({"second_labels_": np.full(90, 7)}, "the labels are not those of 3 clusters"),
        ({"more": np.zeros(3)}, "holds .*expected"),
    ],
)
def test_weights_that_do_not_fit_are_refused(folder, tensors, message):
    change_tensors(folder, **tensors)
    with pytest.raises(ArtifactError, match=message):
        coterie.load(folder)


def test_stored_neighbors_out_of_range_are_refused(topics, tmp_path):
    path = tmp_path / "model"
    coterie.Neighbors(n_clusters=3, encoder="tfidf").fit(topics[0]).save(path)
    name = next(name for name in load_file(path / "weights.safetensors") if name.endswith("neighbors"))
    value = load_file(path / "weights.safetensors")[name]
    value[0, 0] = 10**6
    change_tensors(path, **{name: value})
    with pytest.raises(ArtifactError, match="a stored label or neighbor is out of range"):
        coterie.load(path)


def test_cluster_tables_of_another_kind_are_refused(folder):
    change(folder, lambda rows: [{"cluster": []}], name="clusters.json")
    with pytest.raises(ArtifactError, match=r"clusters\.json does not describe a model"):
        Artifact.open(folder).clusters()


def test_a_loaded_model_writes_no_file_that_the_folder_names(topics, tmp_path):
    SCCL(n_clusters=3, encoder="tfidf", epochs=0).fit(topics[0]).save(tmp_path / "model")
    change(tmp_path / "model", lambda c: c["params"].update(checkpoint="/etc/passwd", log_dir="/etc"))
    loaded = coterie.load(tmp_path / "model")
    assert loaded.checkpoint is None
    assert loaded.log_dir is None


def test_new_tensors_are_counted_before_they_take_memory():
    with pytest.raises(ArtifactError, match="far more memory"), AllocationLimit(10**6, 10, "config.json"):
        torch.nn.Linear(10**7, 10**7)
    with pytest.raises(ArtifactError, match="far more memory"), AllocationLimit(10**6, 10, "config.json"):
        [torch.zeros(1) for _ in range(20)]
    with AllocationLimit() as count:
        torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    assert (count.n_elements, count.n_tensors) == (12, 1)


@pytest.mark.parametrize("length", [10**9, 1025])
def test_a_network_of_words_that_asks_for_gigabytes_is_refused(topics, tmp_path, length):
    vectors = tmp_path / "vectors.txt"
    words = sorted({word for text in topics[0] for word in text.split()})
    vectors.write_text("\n".join(f"{word} {i % 7} {i % 5} {i % 3} 1" for i, word in enumerate(words)))
    model = coterie.STCC(n_clusters=3, encoder=f"cnn:{vectors}", epochs=1, max_steps=2).fit(topics[0])
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(coterie.load(tmp_path / "model", allow=vectors).predict(topics[0]), model.labels_)
    change(tmp_path / "model", lambda c: c["encoder"]["params"].update(max_length=length))
    with pytest.raises(ArtifactError, match=r"`max_length` must be a whole number and >= 1 and <= 1024, got"):
        coterie.load(tmp_path / "model", allow=vectors)


@pytest.mark.parametrize("n", [0, 5])
def test_weights_of_words_of_another_number_are_refused(folder, n):
    save_file({"idf": np.ones(n)}, folder / "encoder.safetensors")
    sign(folder)
    with pytest.raises(ArtifactError, match=rf"21 words, but their weights have the shape \({n},\)"):
        coterie.load(folder)


@pytest.mark.parametrize(
    "merges",
    [
        {"target": [0, 1, 9], "sizes": [1, 1, 1]},
        {"target": [1, 2, 2], "sizes": [1, 1, 1]},
        {"target": [0, 0], "sizes": [1, 1]},
        {"target": [0, 0, 2], "sizes": [1, 1]},
        {"target": [0, 0, "2"], "sizes": [1, 1, 1]},
        {"target": [0, 0, -1], "sizes": [1, 1, 1]},
        {"target": [0, 0, 2], "sizes": [10**30, 1, 1]},
        {"target": 3},
        [1, 2],
    ],
)
def test_merges_that_are_not_those_of_the_clusters_are_refused(folder, merges):
    change(folder, lambda config: config.update(merges=merges))
    with pytest.raises(ArtifactError, match="does not describe a model"):
        coterie.load(folder)


@pytest.mark.parametrize("entry", ["keywords", "examples"])
def test_a_keyword_or_example_that_is_no_text_is_refused(folder, entry):
    path = folder / "clusters.json"
    clusters = json.loads(path.read_text())
    clusters[0][entry] = ["goal", []]
    path.write_text(json.dumps(clusters))
    (folder / "manifest.json").unlink()
    write_manifest(folder)
    with pytest.raises(ArtifactError):
        str(coterie.load(folder).describe())


def test_weights_whose_embeddings_overflow_are_refused(topics, tmp_path):
    folder = tmp_path / "model"
    coterie.DEC(n_clusters=3, encoder="tfidf", epochs=2, epoch_steps=2, guard="off").fit(topics[0]).save(folder)
    tensors = load_file(folder / "weights.safetensors")
    tensors["network.f.0.bias"] = np.full_like(tensors["network.f.0.bias"], np.finfo(np.float32).max)
    save_file(tensors, folder / "weights.safetensors")
    sign(folder)
    with pytest.raises(ArtifactError, match="contain NaN or infinity"):
        coterie.load(folder).predict(topics[0][:4])
