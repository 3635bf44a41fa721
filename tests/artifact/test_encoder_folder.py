"""Save an adapted encoder as a folder of transformers and sentence-transformers."""

import json

import numpy as np
import pytest
import torch

from coterie.artifact.encoder_folder import save_encoder
from coterie.encoders.encoder import make_encoder
from coterie.encoders.transformer import TransformerEncoder
from coterie.errors import InputError

SETTINGS = {"max_length": 32, "precision": "float32", "device": "cpu"}


@pytest.fixture
def network(tiny_bert):
    """A network whose weights differ from those of its encoder."""
    network = TransformerEncoder(model=str(tiny_bert), pooling="cls", **SETTINGS).network()
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(1.1)
    return network.eval()


def test_the_encoder_transformer_reads_the_saved_folder(network, topics, tmp_path):
    save_encoder(network, tmp_path / "encoder")
    again = make_encoder(f"transformer(model={tmp_path / 'encoder'},max_length=32,precision=float32,device=cpu)")
    assert again.resolved_pooling == "cls"
    np.testing.assert_allclose(again.embed(topics[0]), network.embed(topics[0]), atol=1e-6)


def test_sentence_transformers_reads_the_saved_folder(network, topics, tmp_path):
    from sentence_transformers import SentenceTransformer

    save_encoder(network, tmp_path / "encoder")
    model = SentenceTransformer(str(tmp_path / "encoder"), device="cpu")
    assert model.max_seq_length == 32
    np.testing.assert_allclose(model.encode(topics[0]), network.embed(topics[0]), atol=1e-5)


@pytest.mark.parametrize(("normalize", "n_modules"), [(True, 3), (False, 2)])
def test_normalization_is_a_module_of_its_own(tiny_bert, tmp_path, normalize, n_modules):
    network = TransformerEncoder(model=str(tiny_bert), normalize=normalize, **SETTINGS).network()
    save_encoder(network, tmp_path / "encoder")
    assert len(json.loads((tmp_path / "encoder" / "modules.json").read_text())) == n_modules


def test_an_older_encoder_is_replaced_and_other_folders_are_not(network, tmp_path):
    save_encoder(network, tmp_path / "encoder")
    save_encoder(network, tmp_path / "encoder", overwrite=True)
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match=r"was not written by coterie .*so it is not replaced"):
        save_encoder(network, tmp_path, overwrite=True)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"
