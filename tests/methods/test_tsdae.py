import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

import coterie
from coterie.artifact.encoder_folder import save_encoder
from coterie.clustering.kmeans import kmeans_centers, squared_distances
from coterie.contracts import Batch, Corpus, Network
from coterie.encoders.networks.linear import LinearNetwork
from coterie.encoders.transformer import TransformerEncoder
from coterie.errors import InputError, UnreadableTextWarning
from coterie.methods.tsdae import TSDAE, TSDAEObjective
from coterie.objectives import final_kmeans as module

SHORT = {"n_clusters": 3, "epoch_steps": 4, "batch_size": 30}


def float32_encoder(folder, **options):
    settings = {"model": str(folder), "max_length": 16, "precision": "float32", "device": "cpu"}
    return TransformerEncoder(**settings | options)


@pytest.fixture(scope="module")
def fitted(topics, tiny_bert):
    settings = {"trainable_layers": None, "encoder_lr": 1e-3, "guard": "off", **SHORT}
    return TSDAE(encoder=float32_encoder(tiny_bert), **settings).fit(topics[0])


def test_the_reconstruction_loss_decreases_in_every_epoch(topics, tiny_bert):
    fast = {"encoder_lr": 3e-3, "head_lr": 1e-2, "guard": "off", "trainable_layers": 1}
    model = TSDAE(encoder=float32_encoder(tiny_bert), **fast, **SHORT | {"epoch_steps": 8}).fit(topics[0])
    losses = [record["reconstruction"] for record in model.history_]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.97 * losses[0]


def test_labels_are_the_nearest_center_of_the_adapted_vectors(fitted, topics):
    h = torch.from_numpy(fitted.transform(topics[0]))
    nearest = squared_distances(h, torch.from_numpy(fitted.cluster_centers_)).argmin(dim=1)
    np.testing.assert_array_equal(fitted.labels_, nearest.numpy())


def test_the_decoder_is_not_saved(fitted, topics, tmp_path):
    fitted.save(tmp_path / "model")
    saved = {name.split(".")[0] for name in load_file(tmp_path / "model" / "weights.safetensors")}
    assert saved == {"network", "nearest", "labels_", "confidence_", "second_labels_", "margin_"}
    np.testing.assert_array_equal(coterie.load(tmp_path / "model", allow=True).predict(topics[0]), fitted.labels_)


@pytest.mark.parametrize("tie_decoder", [True, False])
def test_the_encoder_is_trained_with_tied_layers_and_with_copies(topics, tiny_bert, tie_decoder):
    model = TSDAE(encoder=float32_encoder(tiny_bert), tie_decoder=tie_decoder, guard="off", trainable_layers=1, **SHORT)
    before = float32_encoder(tiny_bert).embed(topics[0][:5])
    assert not np.allclose(model.fit(topics[0]).transform(topics[0][:5]), before, atol=1e-5)


def initialized(seed=0):
    labels = torch.arange(24) % 3
    h = 0.3 * torch.randn(24, 4, generator=torch.Generator().manual_seed(2)) + 2 * torch.eye(3, 4)[labels]
    corpus = Corpus(h.numpy(), h, torch.ones(24, dtype=torch.long), labels)
    objective = TSDAEObjective(TSDAE(n_clusters=3), LinearNetwork(4, lambda items: items))
    objective.initialize(corpus, seed)
    return objective, corpus


class RecordsDecoder(Network):
    """Records the arguments of the decoder."""

    def decoder(self, n_layers=None, *, tied, vocabulary):
        self.arguments = (n_layers, tied, vocabulary)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({}, (None, True, "corpus")),
        ({"decoder_layers": 2, "tie_decoder": False, "vocabulary": "all"}, (2, False, "all")),
    ],
)
def test_departure_by_default_the_decoder_is_tied_and_predicts_tokens_of_the_corpus(options, arguments):
    network = RecordsDecoder(4)
    TSDAEObjective(TSDAE(n_clusters=3, **options), network)
    assert network.arguments == arguments


def test_departure_vectors_are_reconstructed_as_vectors():
    objective, corpus = initialized()
    objective.eval()
    noisy = torch.randn(24, 4)
    loss = objective.adapt(Batch(torch.arange(24), corpus.h, (noisy,)))["reconstruction"]
    assert loss.item() == pytest.approx(float((noisy - corpus.h).square().sum(dim=1).mean()), rel=1e-5)


def test_the_centers_are_those_of_kmeans_from_the_initial_clusters():
    objective, corpus = initialized()
    objective.fit_assigner(corpus, 0)
    expected = kmeans_centers(corpus.h, corpus.counts, 3, seed=0, init=corpus.means(3))
    torch.testing.assert_close(objective.centers, expected)


@pytest.mark.parametrize("seed", [0, 7])
def test_that_kmeans_gets_the_seed(monkeypatch, seed):
    seeds = []
    monkeypatch.setattr(module, "kmeans_centers", lambda *_, seed, init, n_init: seeds.append(seed) or init)
    objective, corpus = initialized()
    objective.fit_assigner(corpus, seed)
    assert seeds == [seed]


# -- the adapted encoder as a folder


@pytest.mark.parametrize(("pooling", "normalize"), [("mean", True), ("cls", False)])
@pytest.mark.parametrize("trainable_layers", [1, None])
def test_a_saved_encoder_gives_the_same_vectors_here_and_in_sentence_transformers(
    topics, tiny_bert, tmp_path, pooling, normalize, trainable_layers
):
    from sentence_transformers import SentenceTransformer

    options = {"pooling": pooling, "normalize": normalize}
    model = TSDAE(
        encoder=float32_encoder(tiny_bert, **options), encoder_lr=1e-2, trainable_layers=trainable_layers, **SHORT
    )
    model.set_params(guard="off").fit(topics[0])
    save_encoder(model.objective_.network, tmp_path / "adapted")
    texts = [*topics[0][:6], "goal " * 30]  # the last is longer than max_length
    with pytest.warns(UnreadableTextWarning, match="1 of 7 distinct texts is longer than the first 16 tokens"):
        expected = model.transform(texts)
    assert not np.allclose(expected, float32_encoder(tiny_bert, **options).embed(texts), atol=1e-2)
    reloaded = float32_encoder(tmp_path / "adapted", normalize=normalize)  # the pooling is read from the folder
    np.testing.assert_allclose(reloaded.embed(texts), expected, atol=2e-6)
    by_sentence_transformers = SentenceTransformer(str(tmp_path / "adapted"), device="cpu").encode(texts)
    np.testing.assert_allclose(by_sentence_transformers, expected, atol=2e-6)


def test_a_distilbert_can_be_saved(topics, tmp_path):
    from transformers import AutoTokenizer, DistilBertConfig, DistilBertModel

    torch.manual_seed(0)
    config = DistilBertConfig(dim=16, n_layers=2, n_heads=2, hidden_dim=24, vocab_size=40, max_position_embeddings=32)
    DistilBertModel(config).save_pretrained(tmp_path / "distilbert")
    make_tokenizer(topics[0]).save_pretrained(tmp_path / "distilbert")
    assert AutoTokenizer.from_pretrained(tmp_path / "distilbert").is_fast
    model = TSDAE(encoder=float32_encoder(tmp_path / "distilbert"), encoder_lr=1e-2, guard="off", **SHORT).fit(
        topics[0]
    )
    save_encoder(model.objective_.network, tmp_path / "adapted")
    expected = model.transform(topics[0][:4])
    np.testing.assert_allclose(float32_encoder(tmp_path / "adapted").embed(topics[0][:4]), expected, atol=2e-6)


def make_tokenizer(texts):
    from transformers import BertTokenizerFast

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *dict.fromkeys(" ".join(texts).split())]
    return BertTokenizerFast(vocab={word: i for i, word in enumerate(words)}, model_max_length=32)


def test_a_folder_without_an_encoder_is_not_replaced(fitted, tmp_path):
    (tmp_path / "diary").write_text("dear diary")
    with pytest.raises(InputError, match="is not empty"):
        save_encoder(fitted.objective_.network, tmp_path)
    assert (tmp_path / "diary").read_text() == "dear diary"
