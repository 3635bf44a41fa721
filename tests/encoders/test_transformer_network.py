"""A transformer as a network: the same numbers as the transformers library, and training of its last layers."""

import numpy as np
import pytest
import torch

from coterie.encoders.engine.device import bfloat16_works
from coterie.errors import InputError

LAYERS = 3
VIEWS = [
    ["alpha", "beta gamma", "alpha beta gamma delta", "theta " * 30],
    ["zeta eta theta", "alpha", "epsilon", "delta eta"],
    ["beta", "theta " * 30, "eta eta eta eta eta", "gamma"],
]
TEXTS = [text for view in VIEWS for text in view]
vnni = pytest.mark.skipif(not torch.cpu.get_capabilities().get("avx512_vnni"), reason="int8 needs VNNI")


@pytest.fixture(params=["bert", "distilbert"])
def folder(request, model_folder):
    return model_folder(request.param)


@pytest.fixture
def network_of(encoder_of):
    return lambda folder, trainable_layers=None, **options: encoder_of(folder, **options).network(trainable_layers)


def take_step(network):
    """Push the embeddings of two views apart, once."""
    network.train()
    optimizer = torch.optim.SGD([p for p in network.parameters() if p.requires_grad], lr=0.05)
    h_1, h_2 = network(network.prepare(VIEWS[0]), network.prepare(VIEWS[1]))
    (h_1 * h_2).sum().backward()
    optimizer.step()
    network.eval()


# -- the numbers


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_views_encoded_together_equal_separate_padded_passes(folder, network_of, padded_embeddings, pooling):
    network = network_of(folder, pooling=pooling, normalize=False).eval()
    h = network(*(network.prepare(view) for view in VIEWS))
    assert [part.shape for part in h] == [(4, 16)] * 3
    for part, view in zip(h, VIEWS, strict=True):
        torch.testing.assert_close(part.detach(), padded_embeddings(folder, view, pooling), atol=1e-5, rtol=1e-5)


def test_views_may_have_different_numbers_of_texts(folder, network_of):
    network = network_of(folder).eval()
    h_1, h_2 = network(network.prepare(TEXTS[:1]), network.prepare(TEXTS[3:8]))
    assert (len(h_1), len(h_2)) == (1, 5)
    torch.testing.assert_close(torch.cat([h_1, h_2]), network(network.prepare(TEXTS[:1] + TEXTS[3:8]))[0])


def test_before_training_the_network_embeds_as_the_encoder(folder, network_of, encoder_of):
    network, encoder = network_of(folder), encoder_of(folder)
    assert network.dim == encoder.dim == 16
    assert network.device == torch.device("cpu")
    np.testing.assert_array_equal(network.embed(TEXTS), encoder.embed(TEXTS))
    np.testing.assert_array_equal(encoder.frozen_network().embed(TEXTS), encoder.embed(TEXTS))


@pytest.mark.parametrize("trainable_layers", [0, 1, 2])
def test_the_outputs_of_frozen_layers_are_cached_in_float16(model_folder, network_of, encoder_of, trainable_layers):
    network = network_of(model_folder("bert"), trainable_layers).eval()
    prepared = network.prepare(TEXTS)
    assert (prepared.values.dtype, prepared.values.shape) == (torch.float16, (int(prepared.lengths.sum()), 16))
    expected = torch.from_numpy(encoder_of(model_folder("bert")).embed(TEXTS))
    torch.testing.assert_close(network(prepared)[0].detach(), expected, atol=2e-3, rtol=0)
    torch.testing.assert_close(network.encode(prepared), expected, atol=2e-3, rtol=0)


def test_other_transformers_than_bert_prepare_token_ids_only(model_folder, network_of, encoder_of):
    folder = model_folder("distilbert")
    network = network_of(folder, 1).eval()
    prepared = network.prepare(TEXTS)
    assert prepared.values.dtype == torch.long
    np.testing.assert_allclose(network(prepared)[0].detach(), encoder_of(folder).embed(TEXTS), atol=1e-6)


@pytest.mark.parametrize("trainable_layers", [None, 1])
def test_encode_equals_a_pass_without_dropout_and_has_no_side_effects(folder, network_of, trainable_layers):
    network = network_of(folder, trainable_layers)
    prepared = network.prepare(TEXTS)
    expected = network.eval()(prepared)[0].detach()
    network.train()
    before = torch.get_rng_state()
    h = network.encode(prepared)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(module.training for module in network.modules())
    assert not h.requires_grad
    torch.testing.assert_close(h, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("trainable_layers", [None, 2])
def test_dropout_makes_two_views_differ_in_training_only(folder, network_of, trainable_layers):
    network = network_of(folder, trainable_layers)
    prepared = network.prepare(TEXTS)
    h_1, h_2 = network.train()(prepared, prepared)
    assert (h_1 - h_2).abs().amax(dim=1).min() > 1e-4  # each text has its own mask in each view
    h_1, h_2 = network.eval()(prepared, prepared)
    torch.testing.assert_close(h_1, h_2, atol=1e-6, rtol=0)


def test_dropout_is_determined_by_the_seed(folder, network_of):
    network = network_of(folder).train()
    prepared = network.prepare(TEXTS)
    passes = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        passes.append(network(prepared)[0].detach())
    torch.testing.assert_close(passes[0], passes[1], atol=0, rtol=0)
    assert not torch.equal(passes[0], passes[2])


# -- what is trained


@pytest.mark.parametrize("trainable_layers", [0, 1, 2, None])
def test_gradients_reach_exactly_the_trainable_layers(folder, network_of, trainable_layers):
    network = network_of(folder, trainable_layers).train()
    (h,) = network(network.prepare(TEXTS))
    names = {name for name, _ in network.named_parameters()}
    last = [f".{number}." for number in range(LAYERS - (trainable_layers or 0), LAYERS)]
    expected = names if trainable_layers is None else {name for name in names if any(part in name for part in last)}
    assert {name for name, weight in network.named_parameters() if weight.requires_grad} == expected
    assert h.requires_grad == bool(expected)
    if expected:
        (h * torch.linspace(-1, 1, 16)).sum().backward()
    reached = {name for name, p in network.named_parameters() if p.grad is not None and p.grad.abs().sum() > 0}
    assert reached == expected


@pytest.mark.parametrize("trainable_layers", [1, None])
def test_a_step_changes_the_embeddings_and_the_trainable_weights_only(folder, network_of, trainable_layers):
    network = network_of(folder, trainable_layers)
    before, weights = network.embed(TEXTS), {name: p.clone() for name, p in network.named_parameters()}
    take_step(network)
    after = network.embed(TEXTS)
    assert np.abs(after - before).max() > 1e-3
    changed = {name for name, p in network.named_parameters() if not torch.equal(p, weights[name])}
    assert changed == {name for name, p in network.named_parameters() if p.requires_grad}
    prepared = network.prepare(TEXTS)
    atol = 2e-3 if prepared.values.dtype == torch.float16 else 1e-6
    np.testing.assert_allclose(network.encode(prepared).numpy(), after, atol=atol)


def test_training_a_network_does_not_change_its_encoder(folder, encoder_of):
    encoder = encoder_of(folder)
    before = encoder.embed(TEXTS)
    take_step(encoder.network())
    np.testing.assert_array_equal(encoder.embed(TEXTS), before)


@pytest.mark.parametrize("normalize", [True, False])
def test_embeddings_have_unit_length_after_training_if_normalize_is_set(folder, network_of, normalize):
    network = network_of(folder, normalize=normalize)
    take_step(network)
    lengths = np.linalg.norm(network.embed(TEXTS), axis=1)
    assert np.allclose(lengths, 1, atol=1e-5) == normalize


@pytest.mark.parametrize("precision", ["float32", "bfloat16", pytest.param("int8", marks=vnni)])
@pytest.mark.parametrize("trainable_layers", [1, None])
def test_after_training_a_row_does_not_depend_on_its_batch(model_folder, network_of, precision, trainable_layers):
    if precision == "bfloat16" and not bfloat16_works():
        pytest.skip("bfloat16 crashes on this processor")
    network = network_of(model_folder("bert"), trainable_layers, precision=precision)
    take_step(network)
    together = network.embed(TEXTS * 30)[: len(TEXTS)]
    np.testing.assert_array_equal(network.embed(TEXTS), together)
    np.testing.assert_array_equal(network.embed(TEXTS[::-1])[::-1], together)
    np.testing.assert_array_equal(np.concatenate([network.embed([text]) for text in TEXTS]), together)


@vnni
def test_int8_uses_the_trained_weights(model_folder, network_of):
    network = network_of(model_folder("bert"), precision="int8")
    before = network.embed(TEXTS)
    take_step(network)
    exact = network.encode(network.prepare(TEXTS)).numpy()
    assert np.abs(before - exact).max() > 0.02
    assert np.abs(network.embed(TEXTS) - exact).max() < 0.02


def test_more_trainable_layers_than_there_are_is_refused(folder, network_of):
    with pytest.raises(InputError, match="`trainable_layers` is 4, but this encoder has 3 layers"):
        network_of(folder, 4)


def test_the_trained_weights_can_be_loaded_into_a_new_network(folder, network_of):
    network = network_of(folder, 1)
    take_step(network)
    again = network_of(folder, 1)
    again.load_state_dict({name: p for name, p in network.named_parameters() if p.requires_grad}, strict=False)
    np.testing.assert_array_equal(again.eval().embed(TEXTS), network.embed(TEXTS))


def test_the_trained_weights_can_be_converted_back_to_transformers(folder, network_of, padded_embeddings, tmp_path):
    network = network_of(folder, normalize=False)
    take_step(network)
    tokenizer, model = network.to_transformers()
    tokenizer.save_pretrained(tmp_path)
    model.save_pretrained(tmp_path)
    np.testing.assert_allclose(padded_embeddings(tmp_path, TEXTS, "mean"), network.embed(TEXTS), atol=1e-5)


# -- training texts are not encoded again


@pytest.mark.skipif(not bfloat16_works(), reason="bfloat16 crashes on this processor")
@pytest.mark.parametrize("trainable_layers", [None, 1])
def test_in_bfloat16_prepared_texts_are_embedded_as_new_ones(model_folder, network_of, trainable_layers):
    network = network_of(model_folder("bert"), trainable_layers, precision="bfloat16")
    prepared = network.prepare(TEXTS)
    untrained = network.embed_corpus(TEXTS, prepared)
    np.testing.assert_array_equal(untrained, network.embed(TEXTS))
    take_step(network)
    network.train()
    np.testing.assert_array_equal(network.encode(prepared).numpy(), network.embed_corpus(TEXTS, prepared))
    np.testing.assert_array_equal(network.embed_corpus(TEXTS, prepared), network.eval().embed(TEXTS))
    assert not np.array_equal(network.embed(TEXTS), untrained)


def test_the_weights_of_a_checkpoint_are_those_that_encode(model_folder, network_of):
    network = network_of(model_folder("bert"), 1, precision="bfloat16").eval()
    prepared = network.prepare(TEXTS)
    before = network.encode(prepared)
    with torch.no_grad():
        network.bert.layers[-1].up.weight.mul_(-1)  # as when a state is loaded between two epochs
    assert not torch.equal(network.encode(prepared), before)
