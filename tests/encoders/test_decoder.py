"""Decoders: TSDAE's decoder of tokens, and the decoder of fixed embeddings."""

import math

import pytest
import torch
import torch.nn.functional as F
from transformers import AutoModel, BertConfig, BertModel, ElectraConfig, ElectraModel, GPT2Config, GPT2Model

from coterie.encoders.engine.decoder import TokenDecoder
from coterie.encoders.networks.linear import LinearNetwork
from coterie.errors import InputError

TEXTS = ["alpha beta gamma delta", "zeta", "eta theta alpha", "beta beta beta beta beta beta", "gamma zeta iota"]


@pytest.fixture(params=["bert", "roberta", "distilbert", "mpnet"])
def folder(request, model_folder):
    """Weights are larger than usual, so that a wrong connection shows."""
    return model_folder(request.param, std=0.3)


@pytest.fixture
def bert(model_folder):
    return model_folder("bert", std=0.3)


@pytest.fixture
def network_of(encoder_of):
    return lambda folder, trainable_layers=None, **options: encoder_of(folder, **options).network(trainable_layers)


def decoder_of(network, n_layers=None, **options):
    torch.manual_seed(1)
    return network.decoder(n_layers, **options).eval()


def rows_of(states, lengths):
    """Return the states of each text, in the order of the texts."""
    order = torch.tensor(lengths).argsort(stable=True)
    parts = dict(zip(order.tolist(), torch.split(states, [lengths[i] for i in order]), strict=True))
    return [parts[i] for i in range(len(lengths))]


# -- the equation


def slow_states(decoder, network, model, h, ids):
    """Return the states of one text as in the paper: cross-attention, to a single key."""
    x = model.embeddings(input_ids=ids[None, :-1])[0]
    n, heads = len(x), 4
    for layer, cross in zip(decoder.layers, decoder.cross, strict=True):
        q, k, v = layer.qkv(x).view(n, 3, heads, -1).permute(1, 2, 0, 3)
        score = q @ k.transpose(1, 2) / 2
        for i in range(n):
            score[:, i, i + 1 :] = -math.inf
        x = layer.norm_1(x + layer.out((score.softmax(dim=2) @ v).transpose(0, 1).reshape(n, -1)))
        query, key = torch.randn(n, 16), torch.randn(1, 16)  # their values do not matter
        share = (query @ key.T).softmax(dim=1)  # (n, 1)
        x = cross.norm(x + cross.out(share @ cross.value(h[None])))
        x = layer.norm_2(x + layer.down(layer.activation(layer.up(x))))
    return decoder.head(x)


def test_the_decoder_equals_a_slow_loop_with_cross_attention_to_one_key(folder, network_of):
    network = network_of(folder, normalize=False).eval()
    decoder = decoder_of(network, 2)
    tokens, h = network.prepare(TEXTS), torch.randn(len(TEXTS), 16)
    with torch.no_grad():
        states, targets = decoder.states(h, tokens)
        found = rows_of(states, (tokens.lengths - 1).tolist())
        model = AutoModel.from_pretrained(folder).eval()
        ids = torch.split(tokens.ids, tokens.lengths.tolist())
        expected = [slow_states(decoder, network, model, h_i, i) for h_i, i in zip(h, ids, strict=True)]
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)
    assert [t.tolist() for t in rows_of(targets, (tokens.lengths - 1).tolist())] == [i[1:].tolist() for i in ids]
    table = model.get_input_embeddings().weight
    loss = F.cross_entropy(torch.cat(expected) @ table.T + decoder.bias, torch.cat([i[1:] for i in ids]))
    torch.testing.assert_close(decoder(h, tokens), loss, atol=1e-4, rtol=1e-4)


def test_a_later_token_does_not_change_an_earlier_prediction(folder, network_of):
    network = network_of(folder).eval()
    decoder, h = decoder_of(network), torch.randn(1, 16)
    one, other = (decoder.states(h, network.prepare([text]))[0] for text in ("alpha beta gamma", "alpha beta zeta"))
    torch.testing.assert_close(one[:3], other[:3])
    assert not torch.allclose(one[3], other[3])


def test_in_training_a_later_token_does_not_change_an_earlier_prediction(bert, network_of):
    network = network_of(bert)
    decoder = decoder_of(network)
    network.train()
    decoder.train()
    found = []
    for text in ("alpha beta gamma", "alpha beta zeta"):
        torch.manual_seed(3)
        found.append(decoder.states(torch.ones(1, 16), network.prepare([text]))[0])
    torch.testing.assert_close(found[0][:3], found[1][:3])


def test_the_loss_of_a_text_does_not_depend_on_its_batch(folder, network_of):
    network = network_of(folder).eval()
    decoder, h, tokens = decoder_of(network), torch.randn(len(TEXTS), 16), network.prepare(TEXTS)
    together = decoder(h, tokens)
    alone = [decoder(h[i : i + 1], tokens[torch.tensor([i])]) for i in range(len(TEXTS))]
    weight = (tokens.lengths - 1).float()
    torch.testing.assert_close(together, (torch.stack(alone) * weight).sum() / weight.sum())


# -- training


def test_an_untrained_model_predicts_all_words_with_equal_probability(save_model, words, shape, network_of):
    words = [*words, *(f"w{i}" for i in range(300))]
    torch.manual_seed(0)
    folder = save_model(BertModel(BertConfig(**shape | {"vocab_size": len(words)})), words)
    network = network_of(folder).eval()
    loss = decoder_of(network, vocabulary="all")(torch.randn(len(TEXTS), 16), network.prepare(TEXTS))
    assert loss.item() == pytest.approx(math.log(len(words)), abs=0.05)


def test_gradients_reach_the_encoder_through_the_embedding(folder, network_of):
    network = network_of(folder).eval()
    decoder, tokens = decoder_of(network, tied=False), network.prepare(TEXTS)
    (h,) = network(network.prepare(["alpha", "zeta", "eta", "beta beta", "gamma"]))
    h.retain_grad()
    decoder(h, tokens).backward()
    assert (h.grad.norm(dim=1) > 0).all()
    layers = [w for name, w in network.bert.named_parameters() if "layer" in name and w.grad is not None]
    assert any(float(w.grad.abs().max()) > 0 for w in layers)


@pytest.mark.parametrize("tied", [True, False])
def test_the_loss_trains_the_layers_of_the_encoder_only_if_they_are_tied(folder, network_of, tied):
    network = network_of(folder, 2).eval()
    decoder = decoder_of(network, tied=tied)
    decoder(torch.randn(len(TEXTS), 16), network.prepare(TEXTS)).backward()
    reached = [w for w in network.parameters() if w.grad is not None and float(w.grad.abs().max()) > 0]
    assert bool(reached) == tied
    assert len(decoder.layers) == 2
    own = {name.split(".")[0] for name, _ in decoder.named_parameters()}
    assert own == {"cross", "head", "bias"} | (set() if tied else {"copies"})
    assert all(w.grad is not None for w in decoder.parameters() if w.requires_grad)


def test_the_decoder_overfits_eight_texts(save_model, words, shape, network_of):
    words = [*words, *(f"w{i}" for i in range(40))]
    torch.manual_seed(0)
    small = shape | {"vocab_size": len(words), "hidden_size": 32, "num_hidden_layers": 1, "intermediate_size": 64}
    config = BertConfig(**small, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    network = network_of(save_model(BertModel(config), words))
    decoder = decoder_of(network)
    drawn = torch.randint(4, len(words), (8, 6)).tolist()
    texts = [" ".join(words[i] for i in row) for row in drawn]
    decoder.initialize(texts)
    original, noised = network.prepare(texts), network.prepare([" ".join(t.split()[::2]) for t in texts])
    weights = {*network.parameters(), *decoder.parameters()}
    optimizer = torch.optim.Adam(list(weights), lr=5e-3)
    for _ in range(120):
        (h,) = network(noised)
        loss = decoder(h, original)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1


# -- the output vocabulary


def test_the_output_vocabulary_is_the_tokens_of_the_corpus_or_all(bert, network_of, words):
    network = network_of(bert).eval()
    reduced, full = decoder_of(network, vocabulary="corpus"), decoder_of(network, vocabulary="all")
    reduced.initialize(TEXTS)
    full.initialize(TEXTS)
    tokens, h = network.prepare(TEXTS), torch.randn(len(TEXTS), 16)
    assert reduced.allowed.tolist() == sorted(set(tokens.ids.tolist()))
    assert len(full.allowed) == len(words)
    states, targets = reduced.states(h, tokens)
    logits = states @ network.bert.words.weight.T + reduced.bias
    there = torch.isin(torch.arange(len(words)), tokens.ids)
    torch.testing.assert_close(reduced(h, tokens), F.cross_entropy(logits.masked_fill(~there, -math.inf), targets))
    torch.testing.assert_close(full(h, tokens), F.cross_entropy(logits, targets))


def test_the_initial_output_bias_is_the_log_frequency_of_the_tokens(bert, network_of, words):
    decoder = decoder_of(network_of(bert))
    decoder.initialize(TEXTS)
    share = decoder.bias.detach().exp()
    assert share.sum().item() == pytest.approx(1)
    total = sum(len(text.split()) + 2 for text in TEXTS) + len(words)  # each word is counted once more
    assert share[words.index("beta")].item() == pytest.approx(8 / total)
    assert share[words.index("kappa")].item() == pytest.approx(1 / total)


# -- the layers


def test_cached_states_of_frozen_layers_keep_their_token_ids(bert, network_of):
    network = network_of(bert, 1)
    tokens = network.prepare(TEXTS)
    assert tokens.values.dim() == 2
    assert tokens[torch.tensor([3, 1])].ids.tolist() == network_of(bert).prepare(["beta " * 6, "zeta"]).ids.tolist()
    decoder = decoder_of(network)
    assert len(decoder.layers) == 1
    assert torch.isfinite(decoder(torch.randn(len(TEXTS), 16), tokens))


def test_by_default_the_decoder_has_as_many_layers_as_are_trained_or_all(bert, network_of):
    assert [len(decoder_of(network_of(bert, n)).layers) for n in (None, 0, 2)] == [3, 3, 2]
    with pytest.raises(InputError, match="`decoder_layers` is 4, but this encoder has 3 layers"):
        decoder_of(network_of(bert), 4)


def test_a_transformer_that_is_not_built_like_bert_is_refused(save_model, words, network_of):
    config = GPT2Config(n_embd=16, n_layer=1, n_head=2, vocab_size=len(words), n_positions=40)
    with pytest.raises(InputError, match="GPT2Model is not built like BERT"):
        decoder_of(network_of(save_model(GPT2Model(config))))


def test_word_embeddings_narrower_than_the_states_are_refused(save_model, shape, network_of):
    model = ElectraModel(ElectraConfig(embedding_size=8, **shape))
    with pytest.raises(InputError, match="ElectraModel is not built like BERT"):
        decoder_of(network_of(save_model(model)))


def test_the_decoder_of_a_linear_network_reconstructs_vectors():
    torch.manual_seed(0)
    network, x = LinearNetwork(6, lambda items: items), torch.randn(8, 6)
    decoder = network.decoder()
    assert not isinstance(decoder, TokenDecoder)
    h = torch.randn(8, 6)
    assert decoder(x, x).item() == 0
    expected = sum(float(((a - b) ** 2).sum()) for a, b in zip(h, x, strict=True)) / 8
    assert decoder(h, x).item() == pytest.approx(expected, rel=1e-5)
