"""Networks that learn: transformers, and a linear layer above fixed vectors."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel, DistilBertConfig, DistilBertModel

from coterie.encoders.linear import LinearNetwork
from coterie.encoders.packed import Dropout
from coterie.encoders.tokens import Tokens, together, tokenize
from coterie.encoders.transformer import TransformerEncoder
from coterie.errors import InputError

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"alpha beta gamma delta epsilon zeta eta theta".split()]
SMALL = {"vocab_size": len(WORDS), "max_position_embeddings": 40}
LAYERS = 3
MODELS = {
    "bert": lambda: BertModel(
        BertConfig(hidden_size=16, num_hidden_layers=LAYERS, num_attention_heads=4, intermediate_size=24, **SMALL)
    ),
    "distilbert": lambda: DistilBertModel(DistilBertConfig(dim=16, n_layers=LAYERS, n_heads=2, hidden_dim=24, **SMALL)),
}
VIEWS = [
    ["alpha", "beta gamma", "alpha beta gamma delta", "theta " * 30],
    ["zeta eta theta", "alpha", "epsilon", "delta eta"],
    ["beta", "theta " * 30, "eta eta eta eta eta", "gamma"],
]
TEXTS = [text for view in VIEWS for text in view]


@pytest.fixture(scope="module")
def folders(save_with_words):
    torch.manual_seed(0)
    return {name: save_with_words(build(), WORDS) for name, build in MODELS.items()}


@pytest.fixture(params=MODELS)
def folder(request, folders):
    return folders[request.param]


def encoder_in(folder, **options):
    return TransformerEncoder(
        **{"model": str(folder), "max_length": 32, "precision": "float32", "device": "cpu"} | options
    )


def network_in(folder, trainable_layers=None, **options):
    return encoder_in(folder, **options).network(16, trainable_layers)


def prepared(network, texts=TEXTS):
    return network.prepare(texts)


def take_a_step(network, lr=0.05):
    """Push the vectors of two views apart, once."""
    network.train()
    optimizer = torch.optim.SGD([p for p in network.parameters() if p.requires_grad], lr=lr)
    h_1, h_2 = network(prepared(network, VIEWS[0]), prepared(network, VIEWS[1]))
    (h_1 * h_2).sum().backward()
    optimizer.step()
    network.eval()


def by_the_book(folder, texts, pooling):
    """One padded, masked pass of transformers' own model."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    batch = tokenizer(
        texts, padding=True, truncation=True, max_length=32, return_tensors="pt", return_token_type_ids=False
    )
    states, mask = model(**batch).last_hidden_state, batch["attention_mask"][..., None]
    return ((states * mask).sum(1) / mask.sum(1) if pooling == "mean" else states[:, 0]).detach()


# -- transformers: the numbers


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_views_encoded_together_equal_padded_passes_apart(folder, pooling):
    network = network_in(folder, pooling=pooling, normalize=False).eval()
    h = network(*(prepared(network, view) for view in VIEWS))
    assert [part.shape for part in h] == [(4, 16)] * 3
    for part, view in zip(h, VIEWS, strict=True):
        torch.testing.assert_close(part.detach(), by_the_book(folder, view, pooling), atol=1e-5, rtol=1e-5)


def test_views_may_differ_in_length(folder):
    network = network_in(folder).eval()
    h_1, h_2 = network(prepared(network, TEXTS[:1]), prepared(network, TEXTS[3:8]))
    assert (len(h_1), len(h_2)) == (1, 5)
    torch.testing.assert_close(torch.cat([h_1, h_2]), network(prepared(network, TEXTS[:1] + TEXTS[3:8]))[0])


def test_before_training_it_is_the_encoder(folder):
    np.testing.assert_array_equal(network_in(folder).embed(TEXTS), encoder_in(folder).embed(TEXTS))


@pytest.mark.parametrize("trainable_layers", [0, 1, 2])
def test_states_of_frozen_layers_are_kept_in_half_precision_and_give_the_same_vectors(folders, trainable_layers):
    network = network_in(folders["bert"], trainable_layers).eval()
    kept = prepared(network)
    assert (kept.values.dtype, kept.values.shape) == (torch.float16, (int(kept.lengths.sum()), 16))
    expected = torch.from_numpy(encoder_in(folders["bert"]).embed(TEXTS))
    torch.testing.assert_close(network(kept)[0].detach(), expected, atol=2e-3, rtol=0)
    torch.testing.assert_close(network.look(kept), expected, atol=2e-3, rtol=0)


def test_other_transformers_than_bert_keep_ids_and_run_their_frozen_layers(folders):
    network = network_in(folders["distilbert"], 1).eval()
    assert prepared(network).values.dtype == torch.long
    np.testing.assert_allclose(
        network(prepared(network))[0].detach(), encoder_in(folders["distilbert"]).embed(TEXTS), atol=1e-6
    )


@pytest.mark.parametrize("trainable_layers", [None, 1])
def test_look_equals_a_pass_without_dropout_and_changes_nothing(folder, trainable_layers):
    network = network_in(folder, trainable_layers)
    texts = prepared(network)
    expected = network.eval()(texts)[0].detach()
    network.train()
    torch.manual_seed(0)
    before = torch.get_rng_state()
    h = network.look(texts)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(module.training for module in network.modules())
    assert not h.requires_grad
    torch.testing.assert_close(h, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("trainable_layers", [None, 2])
def test_dropout_makes_two_passes_differ_in_training_only(folder, trainable_layers):
    network = network_in(folder, trainable_layers)
    texts = prepared(network)
    h_1, h_2 = network.train()(texts, texts)
    assert (h_1 - h_2).abs().amax(dim=1).min() > 1e-4  # each text has its own mask in each view
    h_1, h_2 = network.eval()(texts, texts)
    torch.testing.assert_close(h_1, h_2, atol=1e-6, rtol=0)


def test_dropout_follows_the_seed(folder):
    network = network_in(folder).train()
    texts = prepared(network)
    passes = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        passes.append(network(texts)[0].detach())
    torch.testing.assert_close(passes[0], passes[1], atol=0, rtol=0)
    assert not torch.equal(passes[0], passes[2])


# -- transformers: what learns


@pytest.mark.parametrize("trainable_layers", [0, 1, 2, None])
def test_gradients_reach_exactly_the_weights_that_are_to_learn(folder, trainable_layers):
    network = network_in(folder, trainable_layers).train()
    (h,) = network(prepared(network))
    names = {name for name, _ in network.named_parameters()}
    last = [f".{number}." for number in range(LAYERS - (trainable_layers or 0), LAYERS)]
    learning = names if trainable_layers is None else {name for name in names if any(part in name for part in last)}
    assert len(learning) == len(names) or len(learning) == len(last) * len([name for name in names if ".2." in name])
    assert {name for name, weight in network.named_parameters() if weight.requires_grad} == learning
    assert h.requires_grad == bool(learning)
    if learning:
        (h * torch.linspace(-1, 1, 16)).sum().backward()
    reached = {name for name, p in network.named_parameters() if p.grad is not None and p.grad.abs().sum() > 0}
    assert reached == learning


@pytest.mark.parametrize("trainable_layers", [1, None])
def test_a_step_changes_what_embed_says_and_only_the_weights_that_learn(folder, trainable_layers):
    network = network_in(folder, trainable_layers)
    before, weights = network.embed(TEXTS), {name: p.clone() for name, p in network.named_parameters()}
    take_a_step(network)
    after = network.embed(TEXTS)
    assert np.abs(after - before).max() > 1e-3
    changed = {name for name, p in network.named_parameters() if not torch.equal(p, weights[name])}
    assert changed == {name for name, p in network.named_parameters() if p.requires_grad}
    atol = 2e-3 if network.prepare(TEXTS).values.dtype == torch.float16 else 1e-6
    np.testing.assert_allclose(network.look(prepared(network)).numpy(), after, atol=atol)


def test_the_encoder_it_came_from_does_not_learn_along(folder):
    encoder = encoder_in(folder)
    before = encoder.embed(TEXTS)
    take_a_step(encoder.network(16))
    np.testing.assert_array_equal(encoder.embed(TEXTS), before)


@pytest.mark.parametrize("normalize", [True, False])
def test_length_one_is_kept_through_training(folder, normalize):
    network = network_in(folder, normalize=normalize)
    take_a_step(network)
    lengths = np.linalg.norm(network.embed(TEXTS), axis=1)
    assert np.allclose(lengths, 1, atol=1e-5) == normalize


vnni = pytest.mark.skipif(not torch.cpu.get_capabilities().get("avx512_vnni"), reason="int8 needs VNNI")


@pytest.mark.parametrize("precision", ["float32", "bfloat16", pytest.param("int8", marks=vnni)])
@pytest.mark.parametrize("trainable_layers", [1, None])
def test_after_training_a_vector_is_the_same_to_the_bit_in_any_company(folders, precision, trainable_layers):
    network = network_in(folders["bert"], trainable_layers, precision=precision)
    take_a_step(network)
    together = network.embed(TEXTS * 30)
    np.testing.assert_array_equal(network.embed(TEXTS), together[: len(TEXTS)])
    np.testing.assert_array_equal(network.embed(TEXTS[::-1])[::-1], together[: len(TEXTS)])
    np.testing.assert_array_equal(np.concatenate([network.embed([text]) for text in TEXTS]), together[: len(TEXTS)])


@vnni
def test_int8_sees_the_trained_weights(folders):
    network = network_in(folders["bert"], precision="int8")
    before = network.embed(TEXTS)
    take_a_step(network)
    exact = network.look(prepared(network)).numpy()
    assert np.abs(before - exact).max() > 0.02
    assert np.abs(network.embed(TEXTS) - exact).max() < 0.02


def test_more_trainable_layers_than_there_are_is_refused(folder):
    with pytest.raises(InputError, match="`trainable_layers` is 4, but this encoder has 3 layers"):
        network_in(folder, 4)


def test_what_was_learnt_fits_a_fresh_network(folder):
    network = network_in(folder, 1)
    take_a_step(network)
    again = network_in(folder, 1)
    again.load_state_dict({name: p for name, p in network.named_parameters() if p.requires_grad}, strict=False)
    np.testing.assert_array_equal(again.eval().embed(TEXTS), network.embed(TEXTS))


# -- texts end to end

some_lengths = st.lists(st.integers(1, 9), min_size=1, max_size=12)


def made_up_tokens(lengths, width=0):
    values = torch.arange(sum(lengths))
    return Tokens(values[:, None] * torch.ones(width) if width else values, torch.tensor(lengths))


def as_lists(tokens):
    return [part.tolist() for part in torch.split(tokens.values, tokens.lengths.tolist())]


@settings(max_examples=50, deadline=None)
@given(lengths=some_lengths, width=st.sampled_from([0, 3]), data=st.data())
def test_rows_are_picked_like_a_list_of_texts(lengths, width, data):
    tokens = made_up_tokens(lengths, width)
    rows = data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=20))
    picked = tokens[torch.tensor(rows, dtype=torch.long)]
    assert len(tokens) == len(lengths)
    assert len(picked) == len(rows)
    assert as_lists(picked) == [as_lists(tokens)[row] for row in rows]


@settings(max_examples=50, deadline=None)
@given(lengths=some_lengths, width=st.sampled_from([0, 3]), rows=st.integers(0, 150))
def test_packed_texts_can_be_read_back(lengths, width, rows):
    tokens = made_up_tokens(lengths, width)
    ordered, place = tokens.shortest_first()
    assert ordered.lengths.tolist() == sorted(lengths)
    values, packed = ordered.pack(rows)
    assert len(values) == packed.rows == max(rows, sum(lengths))
    assert packed.n_tokens == sum(lengths)
    assert not values[sum(lengths) :].any()  # filler
    texts = [text.tolist() for group in packed.split(values) for text in group]
    assert [texts[i] for i in place.tolist()] == as_lists(tokens)
    positions = [i for group in packed.groups for _ in range(group.texts) for i in range(group.length)]
    assert packed.positions.tolist() == positions + [0] * (packed.rows - packed.n_tokens)


@settings(max_examples=50, deadline=None)
@given(lengths=some_lengths, budget=st.integers(1, 40))
def test_chunks_hold_every_row_once_shortest_first_within_the_budget(lengths, budget):
    chunks = [chunk.tolist() for chunk in made_up_tokens(lengths).chunks(budget)]
    flat = [row for chunk in chunks for row in chunk]
    assert sorted(flat) == list(range(len(lengths)))
    assert [lengths[row] for row in flat] == sorted(lengths)
    sizes = [sum(lengths[row] for row in chunk) for chunk in chunks]
    assert all(size <= budget or len(chunk) == 1 for size, chunk in zip(sizes, chunks, strict=True))
    for size, following in zip(sizes, chunks[1:], strict=False):  # and none could have held one more
        assert size + lengths[following[0]] > budget


@settings(max_examples=20, deadline=None)
@given(views=st.lists(some_lengths, min_size=1, max_size=3))
def test_views_laid_together_follow_each_other(views):
    tokens = [made_up_tokens(lengths) for lengths in views]
    assert as_lists(together(tokens)) == [text for part in tokens for text in as_lists(part)]


def test_token_ids_are_the_tokenizers(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert as_lists(tokenize(tokenizer, ["alpha", "beta no-such-word", "theta " * 30], 5)) == [
        [2, 4, 3],
        [2, 5, 1, 1, 3],
        [2, 11, 11, 11, 3],
    ]
    assert len(tokenize(tokenizer, [], 5)) == 0


# -- dropout


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_dropout_zeroes_its_share_and_keeps_the_mean(p):
    torch.manual_seed(0)
    x = torch.rand(500, 401) + 1
    y = Dropout(p)(x)
    share = round(p * 256) / 256
    assert (y == 0).float().mean().item() == pytest.approx(share, abs=0.004)
    torch.testing.assert_close(y[y != 0], x[y != 0] / (1 - share))
    assert y.mean().item() == pytest.approx(x.mean().item(), abs=0.01)
    by_column = (y == 0).float().mean(dim=0)  # no column is favoured
    assert by_column.max() < share + 0.15
    assert by_column.min() > share - 0.15


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (2, 3, 4, 5)])
def test_dropout_takes_any_shape(shape):
    assert Dropout(0.5)(torch.ones(shape)).shape == shape


def test_dropout_is_off_in_evaluation_and_at_zero():
    x = torch.randn(50, 50)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_dropout_follows_the_seed_and_differs_from_call_to_call():
    drop, x = Dropout(0.3), torch.ones(100)
    torch.manual_seed(5)
    first, second = drop(x), drop(x)
    torch.manual_seed(5)
    assert torch.equal(drop(x), first)
    assert not torch.equal(first, second)


def test_the_gradient_of_dropout_is_its_mask():
    x = torch.randn(40, 11).requires_grad_()
    y = Dropout(0.25)(x)
    y.sum().backward()
    torch.testing.assert_close(x.grad * x.detach(), y.detach())
    assert x.grad.unique().tolist() == [0.0, pytest.approx(256 / 192)]


# -- a linear layer above fixed vectors


def linear(dim=6, **options):
    torch.manual_seed(0)
    return LinearNetwork(dim, lambda items: np.asarray(items, dtype=np.float32), **options)


def random_vectors(n=20, dim=6):
    return np.random.default_rng(0).normal(size=(n, dim)).astype(np.float32)


def trained_linear():
    network, x = linear(), random_vectors()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    for _ in range(3):
        optimizer.zero_grad()
        (h,) = network(network.prepare(x))
        h.square().sum().backward()
        optimizer.step()
    return network


def test_a_linear_network_starts_as_the_identity():
    network, x = linear(), random_vectors()
    views = network.prepare(x), network.prepare(x[:5])
    h_1, h_2 = network(*views)
    np.testing.assert_array_equal(h_1.detach(), x)
    np.testing.assert_array_equal(h_2.detach(), x[:5])
    np.testing.assert_array_equal(network.embed(x), x)


def test_a_linear_network_can_leave_the_identity():
    network, x = trained_linear(), random_vectors()
    assert np.abs(network.embed(x)).mean() < 0.9 * np.abs(x).mean()
    assert all(p.requires_grad for p in network.parameters())


def test_a_linear_network_equals_its_equation():
    network, x = trained_linear().eval(), random_vectors()
    inward, outward = (weight.detach().numpy() for weight in (network.inward.weight, network.outward.weight))
    expected = np.stack([row + outward @ (inward @ row) for row in x])
    np.testing.assert_allclose(network(network.prepare(x))[0].detach(), expected, atol=1e-5)
    np.testing.assert_allclose(network.embed(x), expected, atol=1e-5)


def test_a_wide_linear_network_has_a_bottleneck():
    assert linear(1000).inward.weight.shape == (256, 1000)
    assert linear(10).inward.weight.shape == (10, 10)


def test_the_vector_of_a_row_does_not_depend_on_the_others_after_training():
    network, x = trained_linear(), random_vectors(1100)
    together = network.embed(x)
    np.testing.assert_array_equal(
        np.concatenate([network.embed(x[i : i + 1]) for i in range(0, 1100, 100)]), together[::100]
    )
    np.testing.assert_array_equal(network.embed(x[::-1].copy())[::-1], together)


def test_looking_at_a_linear_network_needs_no_dropout_and_leaves_it_training():
    network, x = trained_linear(), random_vectors()
    h = network.look(network.prepare(x))
    assert network.training
    assert network.dropout.training
    assert not h.requires_grad
    np.testing.assert_array_equal(h, network.eval().embed(x))
    network.train()
    assert not np.array_equal(network(network.prepare(x))[0].detach(), h)  # in training it has
