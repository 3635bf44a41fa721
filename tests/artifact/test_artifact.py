"""Save and load a model: what the folder holds, damaged files, and atomic replacement."""

import json

import numpy as np
import pytest

import coterie
from coterie.artifact import model as model_module
from coterie.artifact.model import Artifact
from coterie.describe.cluster_table import ClusterTable
from coterie.encoders.tfidf import TfidfEncoder
from coterie.errors import ArtifactError, InputError

FILES = [
    "manifest.json",
    "tree.json",
    "config.json",
    "weights.safetensors",
    "encoder.json",
    "encoder.safetensors",
    "clusters.json",
]


@pytest.fixture(scope="module")
def model(topics):
    return coterie.KMeans(n_clusters=3, encoder=TfidfEncoder(max_features=12), random_state=7).fit(topics[0])


@pytest.fixture
def folder(model, tmp_path):
    model.save(tmp_path / "model")
    return tmp_path / "model"


def test_a_model_folder_has_json_and_safetensors_files_only(folder):
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)


def test_the_only_texts_in_a_model_are_the_examples_of_the_clusters(folder, model, topics):
    examples = {text for row in model.clusters_ for text in row.examples}
    stored = "".join(path.read_bytes().decode("latin-1") for path in folder.iterdir())
    assert len(examples) == 6
    assert {text for text in topics[0] if text in stored} == examples


def test_the_configuration_has_method_settings_and_versions(folder):
    config = json.loads((folder / "config.json").read_text())
    assert config["method"] == "kmeans"
    assert config["params"]["random_state"] == 7
    assert config["params"]["n_clusters"] == 3
    assert config["encoder"]["params"]["max_features"] == 12
    assert config["texts"]["n"] == 90
    assert {"coterie", "torch", "scikit-learn", "python"} <= config["versions"].keys()


def test_settings_of_model_and_encoder_are_restored(folder, model):
    loaded = coterie.load(folder)
    assert loaded.random_state == 7
    assert loaded.encoder.max_features == 12
    assert loaded.n_init == model.n_init
    assert loaded.texts_sha256_ == model.texts_sha256_


def test_a_loaded_model_can_be_saved_again(folder, tmp_path, topics, model):
    coterie.load(folder).save(tmp_path / "again")
    np.testing.assert_array_equal(coterie.load(tmp_path / "again").predict(topics[0]), model.labels_)


def test_same_texts_same_hash_other_texts_other_hash(topics):
    def sha(texts):
        return coterie.KMeans(n_clusters=3, encoder="tfidf", n_init=1).fit(texts).texts_sha256_

    assert sha(topics[0]) == sha(list(topics[0]))
    assert sha(topics[0]) != sha(topics[0][::-1])
    assert sha(topics[0]) != sha([*topics[0], "goal goal"])


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(ArtifactError, match=f"{name} is missing"):
        coterie.load(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_file_is_named(folder, name):
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(ArtifactError, match=name):
        coterie.load(folder)


@pytest.mark.parametrize("name", FILES[1:])
def test_an_altered_file_is_named(folder, name):
    data = bytearray((folder / name).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / name).write_bytes(bytes(data))
    with pytest.raises(ArtifactError, match=f"{name} is damaged or was altered"):
        coterie.load(folder)


def test_a_newer_schema_says_to_upgrade(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"schema_version": 99}))
    with pytest.raises(ArtifactError, match=r"schema version 99.*Upgrade"):
        coterie.load(folder)


@pytest.mark.parametrize("content", ["[]", "{}", '{"schema_version": "one", "files": {}}', "not json"])
def test_a_file_that_is_no_manifest_is_refused(folder, content):
    (folder / "manifest.json").write_text(content)
    with pytest.raises(ArtifactError, match=r"manifest\.json"):
        coterie.load(folder)


def test_other_encoder_weights_are_refused(model, folder, monkeypatch):
    monkeypatch.setattr(TfidfEncoder, "fingerprint", lambda _: "other weights")
    with pytest.raises(ArtifactError, match="trained with other weights of the encoder 'tfidf'"):
        coterie.load(folder)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(ArtifactError, match="There is no model folder"):
        coterie.load(tmp_path / "nothing")


def test_an_older_model_is_replaced_only_if_it_is_asked_for(folder, model):
    with pytest.raises(InputError, match=r"is not empty\. Name a new one, or replace it: --force .*overwrite=True"):
        model.save(folder)
    model.save(folder, overwrite=True)
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    assert coterie.load(folder).n_clusters == 3


def test_a_folder_that_is_not_a_model_is_never_replaced(model, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="was not written by coterie"):
        model.save(tmp_path, overwrite=True)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_a_failed_save_keeps_the_older_model(folder, model, monkeypatch):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr(model_module, "_config", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.save(folder, overwrite=True)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


# -- the cluster table


def test_the_cluster_table_is_saved_and_loaded(folder, model):
    assert len(model.describe()) == 3
    assert coterie.load(folder).describe() == model.describe()
    assert Artifact.open(folder).clusters() == model.describe()


def test_another_cluster_table_can_be_saved_with_the_model(model, tmp_path):
    table = ClusterTable(model.describe()[:1])
    model_module.save(model, tmp_path / "model", clusters=table)
    assert coterie.load(tmp_path / "model").describe() == table


# -- reading only the configuration


def test_opening_a_folder_reads_the_configuration_only(folder, monkeypatch):
    monkeypatch.setattr(model_module, "read_tensors", lambda _: pytest.fail("tensors were read"))
    artifact = Artifact.open(str(folder))
    assert artifact.config["method"] == "kmeans"
    assert artifact.schema == 2


def test_an_unknown_setting_is_named(folder):
    artifact = Artifact.open(folder)
    artifact.config["params"]["n_restarts"] = 3
    with pytest.raises(ArtifactError, match=r"config\.json: KMeans has no setting 'n_restarts'"):
        artifact.load()


def test_tensors_of_another_shape_are_refused(folder):
    artifact = Artifact.open(folder)
    artifact.config["params"]["n_clusters"] = 4
    with pytest.raises(ArtifactError, match=r"nearest\.mu has shape \(3, 12\), expected \(4, 12\)"):
        artifact.load()
