"""The way back from a vector to its text."""

import math

import pytest
import torch
import torch.nn.functional as F
from transformers import (
    AutoModel,
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    GPT2Config,
    GPT2Model,
    MPNetConfig,
    MPNetModel,
    RobertaConfig,
    RobertaModel,
)  # fmt: skip

from coterie.encoders.decoder import TokenDecoder
from coterie.encoders.linear import LinearNetwork
from coterie.encoders.tokens import Tokens
from coterie.encoders.transformer import TransformerEncoder
from coterie.errors import InputError

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"alpha beta gamma delta epsilon zeta eta theta iota kappa".split()]
SMALL = {"vocab_size": len(WORDS), "max_position_embeddings": 40}
SHAPE = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 24, **SMALL}
MODELS = {
    "bert": lambda: BertModel(BertConfig(**SHAPE)),
    "roberta": lambda: RobertaModel(RobertaConfig(pad_token_id=0, bos_token_id=2, eos_token_id=3, **SHAPE)),
    "distilbert": lambda: DistilBertModel(DistilBertConfig(dim=16, n_layers=3, n_heads=4, hidden_dim=24, **SMALL)),
    "mpnet": lambda: MPNetModel(MPNetConfig(pad_token_id=0, bos_token_id=2, eos_token_id=3, **SHAPE)),
}
TEXTS = ["alpha beta gamma delta", "zeta", "eta theta alpha", "beta beta beta beta beta beta", "gamma zeta iota"]


@pytest.fixture(scope="module")
def folders(save_with_words):
    torch.manual_seed(0)
    models = {name: build() for name, build in MODELS.items()}
    for model in models.values():  # larger than fresh weights, so that a wrong connection shows
        for weight in model.parameters():
            torch.nn.init.normal_(weight, std=0.3)
    return {name: save_with_words(model, WORDS) for name, model in models.items()}


@pytest.fixture(params=MODELS)
def folder(request, folders):
    return folders[request.param]


def network_in(folder, trainable_layers=None, **options):
    settings = {"model": str(folder), "max_length": 32, "precision": "float32", "device": "cpu", **options}
    return TransformerEncoder(**settings).network(16, trainable_layers)


def decoder_of(network, n_layers=None, **options):
    torch.manual_seed(1)
    return network.decoder(n_layers, **options).eval()


def rows_of(states, lengths):
    """Return what belongs to each text, in the order of the texts."""
    order = torch.tensor(lengths).argsort(stable=True)
    parts = dict(zip(order.tolist(), torch.split(states, [lengths[i] for i in order]), strict=True))
    return [parts[i] for i in range(len(lengths))]


# -- the equation ------------------------------------------------------------------------------------------


def slow_states(decoder, network, model, h, ids):
    """Return the states of one text as the papers write them: cross-attention over keys of which there is one."""
    x = model.embeddings(input_ids=ids[None, :-1])[0]
    n, heads = len(x), 4
    for layer, cross in zip(decoder.layers, decoder.cross, strict=True):
        q, k, v = layer.qkv(x).view(n, 3, heads, -1).permute(1, 2, 0, 3)
        score = q @ k.transpose(1, 2) / 2
        for i in range(n):
            score[:, i, i + 1 :] = -math.inf
        x = layer.norm_1(x + layer.out((score.softmax(dim=2) @ v).transpose(0, 1).reshape(n, -1)))
        query, key = torch.randn(n, 16), torch.randn(1, 16)  # whatever they are
        share = (query @ key.T).softmax(dim=1)  # (n, 1)
        x = cross.norm(x + cross.out(share @ cross.value(h[None])))
        x = layer.norm_2(x + layer.down(layer.activation(layer.up(x))))
    return decoder.head(x)


def test_it_equals_a_slow_loop_with_cross_attention_to_one_key(folder):
    network = network_in(folder, normalize=False).eval()
    decoder = decoder_of(network, 2)
    tokens, h = network.prepare(TEXTS), torch.randn(len(TEXTS), 16)
    with torch.no_grad():
        states, targets = decoder.states(h, tokens)
        found = rows_of(states, (tokens.lengths - 1).tolist())
        model = AutoModel.from_pretrained(folder).eval()
        ids = torch.split(tokens.ids, tokens.lengths.tolist())
        wanted = [slow_states(decoder, network, model, h_i, i) for h_i, i in zip(h, ids, strict=True)]
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)
    assert [t.tolist() for t in rows_of(targets, (tokens.lengths - 1).tolist())] == [i[1:].tolist() for i in ids]
    table = model.get_input_embeddings().weight
    loss = F.cross_entropy(torch.cat(wanted) @ table.T + decoder.bias, torch.cat([i[1:] for i in ids]))
    torch.testing.assert_close(decoder(h, tokens), loss, atol=1e-4, rtol=1e-4)


def test_a_later_token_never_changes_an_earlier_prediction(folder):
    network = network_in(folder).eval()
    decoder, h = decoder_of(network), torch.randn(1, 16)
    one, other = (decoder.states(h, network.prepare([text]))[0] for text in ("alpha beta gamma", "alpha beta zeta"))
    torch.testing.assert_close(one[:3], other[:3])
    assert not torch.allclose(one[3], other[3])


def test_the_same_holds_in_training_where_attention_has_dropout(folders):
    network = network_in(folders["bert"])
    decoder = decoder_of(network)
    network.train()
    decoder.train()
    found = []
    for text in ("alpha beta gamma", "alpha beta zeta"):
        torch.manual_seed(3)
        found.append(decoder.states(torch.ones(1, 16), network.prepare([text]))[0])
    torch.testing.assert_close(found[0][:3], found[1][:3])


def test_a_text_costs_the_same_in_any_company(folder):
    network = network_in(folder).eval()
    decoder, h, tokens = decoder_of(network), torch.randn(len(TEXTS), 16), network.prepare(TEXTS)
    together = decoder(h, tokens)
    alone = [decoder(h[i : i + 1], tokens[torch.tensor([i])]) for i in range(len(TEXTS))]
    weight = (tokens.lengths - 1).float()
    torch.testing.assert_close(together, (torch.stack(alone) * weight).sum() / weight.sum())


# -- before and while it learns ----------------------------------------------------------------------------


def test_a_fresh_model_finds_every_word_as_likely(save_with_words):
    words = [*WORDS, *(f"w{i}" for i in range(300))]
    torch.manual_seed(0)
    folder = save_with_words(BertModel(BertConfig(**SHAPE | {"vocab_size": len(words)})), words)
    network = network_in(folder).eval()
    loss = decoder_of(network, words="all")(torch.randn(len(TEXTS), 16), network.prepare(TEXTS))
    assert loss.item() == pytest.approx(math.log(len(words)), abs=0.05)


def test_gradients_reach_the_encoder_through_the_vector_alone(folder):
    network = network_in(folder).eval()
    decoder, tokens = decoder_of(network, tied=False), network.prepare(TEXTS)
    (h,) = network(network.prepare(["alpha", "zeta", "eta", "beta beta", "gamma"]))
    h.retain_grad()
    decoder(h, tokens).backward()
    assert (h.grad.norm(dim=1) > 0).all()
    learning = [w for name, w in network.bert.named_parameters() if "layer" in name and w.grad is not None]
    assert any(float(w.grad.abs().max()) > 0 for w in learning)


@pytest.mark.parametrize("tied", [True, False])
def test_tied_layers_learn_from_both_passes_and_copies_from_one(folder, tied):
    network = network_in(folder, 2).eval()
    decoder = decoder_of(network, tied=tied)
    decoder(torch.randn(len(TEXTS), 16), network.prepare(TEXTS)).backward()
    reached = [w for w in network.parameters() if w.grad is not None and float(w.grad.abs().max()) > 0]
    assert bool(reached) == tied
    assert len(decoder.layers) == 2
    own = {name.split(".")[0] for name, _ in decoder.named_parameters()}
    assert own == {"cross", "head", "bias"} | (set() if tied else {"copies"})
    assert all(w.grad is not None for w in decoder.parameters() if w.requires_grad)


def test_it_overfits_sixteen_sentences(save_with_words):
    words = [*WORDS, *(f"w{i}" for i in range(40))]
    torch.manual_seed(0)
    shape = SHAPE | {"vocab_size": len(words), "hidden_size": 32, "num_hidden_layers": 1, "intermediate_size": 64}
    config = BertConfig(**shape, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    network = network_in(save_with_words(BertModel(config), words))
    decoder = decoder_of(network)
    drawn = torch.randint(4, len(words), (16, 6)).tolist()
    texts = [" ".join(words[i] for i in row) for row in drawn]
    decoder.begin(texts)
    original, noised = network.prepare(texts), network.prepare([" ".join(t.split()[::2]) for t in texts])
    weights = {*network.parameters(), *decoder.parameters()}
    optimizer = torch.optim.Adam(list(weights), lr=5e-3)
    for _ in range(250):
        (h,) = network(noised)
        loss = decoder(h, original)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1


# -- words -------------------------------------------------------------------------------------------------


def test_words_of_the_corpus_are_told_apart_and_no_others(folders):
    network = network_in(folders["bert"]).eval()
    some, everything = decoder_of(network, words="corpus"), decoder_of(network, words="all")
    some.begin(TEXTS)
    everything.begin(TEXTS)
    tokens, h = network.prepare(TEXTS), torch.randn(len(TEXTS), 16)
    assert some.allowed.tolist() == sorted(set(tokens.ids.tolist()))
    assert len(everything.allowed) == len(WORDS)
    states, targets = some.states(h, tokens)
    logits = states @ network.bert.words.weight.T + some.bias
    there = torch.isin(torch.arange(len(WORDS)), tokens.ids)
    torch.testing.assert_close(some(h, tokens), F.cross_entropy(logits.masked_fill(~there, -math.inf), targets))
    torch.testing.assert_close(everything(h, tokens), F.cross_entropy(logits, targets))


def test_frequent_words_are_likely_from_the_start(folders):
    decoder = decoder_of(network_in(folders["bert"]))
    decoder.begin(TEXTS)
    share = decoder.bias.detach().exp()
    assert share.sum().item() == pytest.approx(1)
    total = sum(len(text.split()) + 2 for text in TEXTS) + len(WORDS)  # one more of each word than there are
    assert share[WORDS.index("beta")].item() == pytest.approx(8 / total)
    assert share[WORDS.index("kappa")].item() == pytest.approx(1 / total)


# -- its places --------------------------------------------------------------------------------------------


def test_states_of_frozen_layers_bring_their_ids(folders):
    network = network_in(folders["bert"], 1)
    tokens = network.prepare(TEXTS)
    assert tokens.values.dim() == 2
    assert (
        tokens[torch.tensor([3, 1])].ids.tolist()
        == network_in(folders["bert"]).prepare(["beta " * 6, "zeta"]).ids.tolist()
    )
    decoder = decoder_of(network)
    assert len(decoder.layers) == 1
    assert torch.isfinite(decoder(torch.randn(len(TEXTS), 16), tokens))


def test_without_a_number_all_layers_decode_when_none_or_all_learn(folders):
    assert [len(decoder_of(network_in(folders["bert"], n)).layers) for n in (None, 0, 2)] == [3, 3, 2]
    with pytest.raises(InputError, match="`decoder_layers` is 4, but this encoder has 3 layers"):
        decoder_of(network_in(folders["bert"]), 4)


def test_a_transformer_that_is_not_built_like_bert_is_refused(save_with_words):
    config = GPT2Config(n_embd=16, n_layer=1, n_head=2, vocab_size=len(WORDS), n_positions=40)
    with pytest.raises(InputError, match="GPT2Model is not built like BERT"):
        decoder_of(network_in(save_with_words(GPT2Model(config), WORDS)))


def test_words_narrower_than_states_are_refused(save_with_words):
    from transformers import ElectraConfig, ElectraModel

    model = ElectraModel(ElectraConfig(embedding_size=8, **SHAPE))
    with pytest.raises(InputError, match="ElectraModel is not built like BERT"):
        decoder_of(network_in(save_with_words(model, WORDS)))


def test_vectors_without_tokens_are_told_as_vectors():
    torch.manual_seed(0)
    network, x = LinearNetwork(6, lambda items: items), torch.randn(8, 6)
    decoder = network.decoder()
    assert not isinstance(decoder, TokenDecoder)
    h = torch.randn(8, 6)
    assert decoder(x, x).item() == 0
    wanted = sum(float(((a - b) ** 2).sum()) for a, b in zip(h, x, strict=True)) / 8
    assert decoder(h, x).item() == pytest.approx(wanted, rel=1e-5)


def test_rows_are_picked_with_their_ids():
    tokens = Tokens(torch.randn(5, 2), torch.tensor([2, 3]), torch.tensor([7, 8, 9, 10, 11]))
    assert tokens[torch.tensor([1, 0])].ids.tolist() == [9, 10, 11, 7, 8]
    assert tokens.shortest_first()[0].ids.tolist() == [7, 8, 9, 10, 11]
