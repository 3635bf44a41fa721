"""Model folders made by a stranger whose encoder has code, is elsewhere, or has a state that does not fit."""

import io
import json
import shutil
import socket

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from stranger import change, sign

import coterie
from coterie.errors import ArtifactError, EncoderError

CODE = """
from pathlib import Path
Path(__file__).with_name("ran").touch()
Path({ran!r}).touch()
from transformers import BertConfig as Config, BertModel as Model
"""


@pytest.fixture
def poisoned(tiny_bert, tmp_path):
    """A folder of transformers that asks for code of its own."""
    path = shutil.copytree(tiny_bert, tmp_path / "poisoned")
    (path / "code.py").write_text(CODE.format(ran=str(tmp_path / "ran")))
    auto_map = {"AutoConfig": "code.Config", "AutoModel": "code.Model"}
    config = json.loads((path / "config.json").read_text()) | {"model_type": "own", "auto_map": auto_map}
    (path / "config.json").write_text(json.dumps(config))
    return path


def test_code_in_the_folder_of_an_encoder_is_never_run(poisoned, tmp_path, monkeypatch):
    monkeypatch.setattr("builtins.input", lambda _: "y")  # transformers would ask
    with pytest.raises(EncoderError, match="Cannot load the model"):
        coterie.make_encoder(f"transformer:{poisoned}").embed(["a text"])
    assert not (tmp_path / "ran").exists()


def test_what_transformers_logs_about_a_folder_cannot_steer_a_terminal(poisoned, monkeypatch):
    from logging import StreamHandler

    from transformers.utils import logging

    stream = io.StringIO()
    handler = next(h for h in logging.get_logger("transformers").handlers if type(h) is StreamHandler)
    monkeypatch.setattr(handler, "stream", stream)
    config = json.loads((poisoned / "config.json").read_text()) | {"model_type": "own\x1b]0;owned\x07" + "x" * 10_000}
    (poisoned / "config.json").write_text(json.dumps(config))
    with pytest.raises(EncoderError, match="Cannot load the model"):
        coterie.make_encoder(f"transformer:{poisoned}").embed(["a text"])
    said = stream.getvalue()
    assert "own\\x1b]0;owned\\x07" in said
    assert "\x1b" not in said
    assert len(said) < 5_000


def test_a_model_that_names_another_folder_is_loaded_only_if_allowed(tiny_bert, topics, tmp_path):
    encoder = f"transformer(model={tiny_bert},precision=float32,device=cpu)"
    model = coterie.KMeans(n_clusters=3, encoder=encoder).fit(topics[0])
    model.save(tmp_path / "model")
    for allow in (False, "another/encoder", str(tmp_path)):
        with pytest.raises(
            ArtifactError, match=r"from the file or folder .*If you trust it, allow it: --allow-encoder"
        ):
            coterie.load(tmp_path / "model", allow=allow)
    for allow in (True, str(tiny_bert), ["another/encoder", tiny_bert], tiny_bert / ".." / tiny_bert.name):
        np.testing.assert_array_equal(coterie.load(tmp_path / "model", allow=allow).predict(topics[0]), model.labels_)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("transformer", {"model": "someone/encoder"}),
        ("transformer", {}),
        ("image", {"model": "someone/encoder"}),
        ("sif", {"vectors": "/etc/hostname"}),
        ("joined", {"encoders": "tfidf+transformer:someone/encoder"}),
    ],
)
def test_a_hub_id_in_a_configuration_does_not_open_the_network(folder, monkeypatch, name, params):
    change(folder, lambda c: c["encoder"].update(name=name, params=params))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: pytest.fail("the network was used"))
    with pytest.raises(ArtifactError, match="which is not part of the model"):
        coterie.load(folder)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_a_state_of_an_encoder_that_makes_no_numbers_is_refused(folder, value):
    idf = load_file(folder / "encoder.safetensors")["idf"]
    save_file({"idf": np.full_like(idf, value)}, folder / "encoder.safetensors")
    sign(folder)
    with pytest.raises(ArtifactError, match=r"encoder\.safetensors: idf has values that are not finite"):
        coterie.load(folder)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["goal", ["match"]], "not lists of words"),
        (5, "not lists of words"),
        (["goal"] * 21, "does not describe a model that this coterie can read .Duplicate"),
        ([], "There are 0 words, but their weights have the shape"),
    ],
    ids=["no word", "no list", "twice", "none"],
)
def test_a_vocabulary_that_cannot_be_used_is_refused_when_the_model_is_loaded(folder, words, message):
    change(folder, lambda state: state | {"vocabulary": words}, name="encoder.json")
    with pytest.raises(ArtifactError, match=message):
        coterie.load(folder)
