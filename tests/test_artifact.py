import json

import numpy as np
import pytest

import coterie
from coterie import artifact
from coterie.encoders.lexical import TfidfEncoder
from coterie.errors import ArtifactError, InputError

FILES = ["manifest.json", "config.json", "weights.safetensors", "encoder.json", "encoder.safetensors", "clusters.json"]


@pytest.fixture(scope="module")
def model(topics):
    return coterie.KMeans(n_clusters=3, encoder=TfidfEncoder(max_features=12), random_state=7).fit(topics[0])


@pytest.fixture
def folder(model, tmp_path):
    artifact.save(model, tmp_path / "model", clusters=[{"cluster": 0, "keywords": ["goal"]}])
    return tmp_path / "model"


def test_holds_json_and_safetensors_and_no_texts(folder, topics):
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    assert not any(topics[0][0].encode() in path.read_bytes() for path in folder.iterdir())


def test_config_says_what_made_it(folder):
    config = json.loads((folder / "config.json").read_text())
    assert config["method"] == "kmeans"
    assert config["params"]["random_state"] == 7
    assert config["params"]["n_clusters"] == 3
    assert config["encoder"]["params"]["max_features"] == 12
    assert config["texts"]["n"] == 90
    assert {"coterie", "torch", "scikit-learn", "python"} <= config["versions"].keys()


def test_settings_of_model_and_encoder_come_back(folder, model):
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
def test_a_manifest_that_is_none_is_refused(folder, content):
    (folder / "manifest.json").write_text(content)
    with pytest.raises(ArtifactError, match=r"manifest\.json"):
        coterie.load(folder)


def test_other_encoder_weights_are_refused(model, folder, monkeypatch):
    monkeypatch.setattr(TfidfEncoder, "fingerprint", lambda _: "other weights")
    with pytest.raises(ArtifactError, match="trained with other weights of the encoder 'tfidf'"):
        coterie.load(folder)


def test_no_folder_is_said(tmp_path):
    with pytest.raises(ArtifactError, match="There is no model folder"):
        coterie.load(tmp_path / "nothing")


def test_an_older_model_is_replaced(folder, model):
    model.save(folder)
    assert not (folder / "clusters.json").exists()
    assert coterie.load(folder).n_clusters == 3


def test_a_folder_that_is_not_a_model_is_never_replaced(model, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="not a coterie model"):
        model.save(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_a_save_that_fails_leaves_the_older_model_whole(folder, model, monkeypatch):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr(artifact, "_config", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.save(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert [path.name for path in folder.parent.iterdir()] == ["model"]
