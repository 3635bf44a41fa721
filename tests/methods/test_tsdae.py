import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

import coterie
from coterie.artifact import save_encoder
from coterie.encoders.transformer import TransformerEncoder
from coterie.errors import InputError
from coterie.heads.centers import squared_distances
from coterie.methods.tsdae import TSDAE

SHORT = {"n_clusters": 3, "epoch_steps": 4, "batch_size": 30}


def encoder_in(folder, **options):
    settings = {"model": str(folder), "max_length": 16, "precision": "float32", "device": "cpu"}
    return TransformerEncoder(**settings | options)


@pytest.fixture(scope="module")
def fitted(topics, tiny_bert):
    return TSDAE(encoder=encoder_in(tiny_bert), trainable_layers=None, encoder_lr=1e-3, **SHORT).fit(topics[0])


def test_a_token_costs_less_and_less(topics, tiny_bert):
    fast = {"encoder_lr": 3e-3, "head_lr": 1e-2, "guard": "off", "trainable_layers": 1}
    model = TSDAE(encoder=encoder_in(tiny_bert), **fast, **SHORT | {"epoch_steps": 8}).fit(topics[0])
    costs = [record["reconstruction"] for record in model.history_]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < 0.97 * costs[0]


def test_labels_are_the_nearest_center_of_adapted_vectors(fitted, topics):
    h = torch.from_numpy(fitted.transform(topics[0]))
    nearest = squared_distances(h, torch.from_numpy(fitted.cluster_centers_)).argmin(dim=1)
    np.testing.assert_array_equal(fitted.labels_, nearest.numpy())


def test_the_decoder_is_not_saved(fitted, topics, tmp_path):
    fitted.save(tmp_path / "model")
    kept = {name.split(".")[0] for name in load_file(tmp_path / "model" / "weights.safetensors")}
    assert kept == {"encoder", "nearest", "labels_", "confidence_"}
    np.testing.assert_array_equal(coterie.load(tmp_path / "model").predict(topics[0]), fitted.labels_)


@pytest.mark.parametrize("tied", [True, False])
def test_copies_and_tied_layers_both_learn(topics, tiny_bert, tied):
    model = TSDAE(encoder=encoder_in(tiny_bert), tied=tied, guard="off", trainable_layers=1, **SHORT)
    before = encoder_in(tiny_bert).embed(topics[0][:5])
    assert not np.allclose(model.fit(topics[0]).transform(topics[0][:5]), before, atol=1e-5)


# -- the adapted encoder as a folder -----------------------------------------------------------------------


@pytest.mark.parametrize(("pooling", "normalize"), [("mean", True), ("cls", False)])
@pytest.mark.parametrize("trainable_layers", [1, None])
def test_here_and_in_sentence_transformers_it_gives_equal_vectors(
    topics, tiny_bert, tmp_path, pooling, normalize, trainable_layers
):
    from sentence_transformers import SentenceTransformer

    how = {"pooling": pooling, "normalize": normalize}
    model = TSDAE(encoder=encoder_in(tiny_bert, **how), encoder_lr=1e-2, trainable_layers=trainable_layers, **SHORT)
    model.set_params(guard="off").fit(topics[0])
    save_encoder(model.objective_.encoder, tmp_path / "adapted")
    texts = [*topics[0][:6], "goal " * 30]  # the last is longer than what is read
    wanted = model.transform(texts)
    assert not np.allclose(wanted, encoder_in(tiny_bert, **how).embed(texts), atol=1e-2)
    again = encoder_in(tmp_path / "adapted", normalize=normalize)  # the pooling is read from the folder
    np.testing.assert_allclose(again.embed(texts), wanted, atol=2e-6)
    theirs = SentenceTransformer(str(tmp_path / "adapted"), device="cpu").encode(texts)
    np.testing.assert_allclose(theirs, wanted, atol=2e-6)


def test_other_transformers_are_written_too(topics, tmp_path):
    from transformers import AutoTokenizer, DistilBertConfig, DistilBertModel

    torch.manual_seed(0)
    config = DistilBertConfig(dim=16, n_layers=2, n_heads=2, hidden_dim=24, vocab_size=40, max_position_embeddings=32)
    DistilBertModel(config).save_pretrained(tmp_path / "distilbert")
    _tokenizer_of(topics[0]).save_pretrained(tmp_path / "distilbert")
    assert AutoTokenizer.from_pretrained(tmp_path / "distilbert").is_fast
    model = TSDAE(encoder=encoder_in(tmp_path / "distilbert"), encoder_lr=1e-2, guard="off", **SHORT).fit(topics[0])
    save_encoder(model.objective_.encoder, tmp_path / "adapted")
    wanted = model.transform(topics[0][:4])
    np.testing.assert_allclose(encoder_in(tmp_path / "adapted").embed(topics[0][:4]), wanted, atol=2e-6)


def _tokenizer_of(texts):
    from transformers import BertTokenizerFast

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *dict.fromkeys(" ".join(texts).split())]
    return BertTokenizerFast(vocab={word: i for i, word in enumerate(words)}, model_max_length=32)


def test_a_folder_of_something_else_is_not_replaced(fitted, tmp_path):
    (tmp_path / "diary").write_text("dear diary")
    with pytest.raises(InputError, match="is not an encoder, so it is not replaced"):
        save_encoder(fitted.objective_.encoder, tmp_path)
    assert (tmp_path / "diary").read_text() == "dear diary"
