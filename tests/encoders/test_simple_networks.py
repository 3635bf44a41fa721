"""Networks above fixed embeddings: linear, fully connected, frozen."""

import numpy as np
import pytest
import torch

from coterie.contracts import Network
from coterie.encoders.encoder import make_encoder
from coterie.encoders.networks.fc import FCNetwork
from coterie.encoders.networks.frozen import FrozenNetwork
from coterie.encoders.networks.linear import LinearNetwork
from coterie.errors import InputError
from coterie.fixed_height import in_fixed_chunks


def embed(items):
    return np.asarray(items, dtype=np.float32)


def linear(dim=6):
    torch.manual_seed(0)
    return LinearNetwork(dim, embed)


def random_vectors(n=20, dim=6):
    return np.random.default_rng(0).normal(size=(n, dim)).astype(np.float32)


def trained(network):
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    for _ in range(3):
        optimizer.zero_grad()
        (h,) = network(network.prepare(random_vectors()))
        h.square().sum().backward()
        optimizer.step()
    return network


# -- a linear layer


def test_a_linear_network_starts_as_the_identity():
    network, x = linear(), random_vectors()
    h_1, h_2 = network(network.prepare(x), network.prepare(x[:5]))
    np.testing.assert_array_equal(h_1.detach(), x)
    np.testing.assert_array_equal(h_2.detach(), x[:5])
    np.testing.assert_array_equal(network.embed(x), x)


def test_a_linear_network_can_be_trained():
    network, x = trained(linear()), random_vectors()
    assert np.abs(network.embed(x)).mean() < 0.9 * np.abs(x).mean()
    assert all(p.requires_grad for p in network.parameters())


def test_a_linear_network_equals_its_equation():
    network, x = trained(linear()).eval(), random_vectors()
    inward, outward = (weight.detach().numpy() for weight in (network.inward.weight, network.outward.weight))
    expected = np.stack([row + outward @ (inward @ row) for row in x])
    np.testing.assert_allclose(network(network.prepare(x))[0].detach(), expected, atol=1e-5)
    np.testing.assert_allclose(network.embed(x), expected, atol=1e-5)


def test_a_wide_linear_network_has_a_bottleneck():
    assert linear(1000).inward.weight.shape == (256, 1000)
    assert linear(10).inward.weight.shape == (10, 10)


def test_encode_of_a_linear_network_is_without_dropout_and_keeps_the_mode():
    network, x = trained(linear()), random_vectors()
    h = network.encode(network.prepare(x))
    assert network.training
    assert network.dropout.training
    assert not h.requires_grad
    np.testing.assert_array_equal(h, network.eval().embed(x))
    network.train()
    assert not np.array_equal(network(network.prepare(x))[0].detach(), h)


def test_encoders_without_weights_are_trained_by_a_linear_network():
    encoder = make_encoder("tfidf").fit(["red blue", "green"])
    network = encoder.network(trainable_layers=2)
    assert isinstance(network, LinearNetwork)
    assert network.dim == encoder.dim == 3
    np.testing.assert_array_equal(network.embed(["red"]), encoder.embed(["red"]))


# -- a fully connected layer above another network


def test_a_fully_connected_layer_of_equal_width_starts_as_the_identity():
    network, x = FCNetwork(linear(), None), random_vectors()
    assert network.dim == 6
    np.testing.assert_allclose(network.embed(x), x, atol=1e-6)


def test_a_narrower_fully_connected_layer_preserves_distances_on_average():
    torch.manual_seed(0)
    network = FCNetwork(linear(60), 30)
    x = random_vectors(200, 60)
    h = network.embed(x)
    assert (network.dim, h.shape) == (30, (200, 30))
    ratio = np.linalg.norm(h[1:] - h[:-1], axis=1) / np.linalg.norm(x[1:] - x[:-1], axis=1)
    assert ratio.mean() == pytest.approx(1, abs=0.05)


def test_encode_and_embed_of_a_fully_connected_layer_equal_its_forward_pass():
    network, x = trained(FCNetwork(linear(), 4)).eval(), random_vectors()
    expected = network(network.prepare(x))[0].detach()
    torch.testing.assert_close(network.encode(network.prepare(x)), expected)
    np.testing.assert_allclose(network.embed(x), expected, atol=1e-6)


# -- independence of the batch


@pytest.mark.parametrize("build", [linear, lambda: FCNetwork(linear(), 4)], ids=["linear", "fc"])
def test_after_training_a_row_does_not_depend_on_its_batch(build):
    network, x = trained(build()), random_vectors(1100)
    together = network.embed(x)
    alone = np.concatenate([network.embed(x[i : i + 1]) for i in range(0, 1100, 100)])
    np.testing.assert_array_equal(alone, together[::100])
    np.testing.assert_array_equal(network.embed(x[::-1].copy())[::-1], together)


def test_every_chunk_has_the_same_height():
    heights = []

    def double(part):
        heights.append(len(part))
        return 2 * part

    x = torch.arange(14.0).view(7, 2)
    assert torch.equal(in_fixed_chunks(double, x, 3), 2 * x)
    assert heights == [3, 3, 3]


# -- nothing to train


def test_a_frozen_network_returns_the_embeddings_of_its_function():
    network, x = FrozenNetwork(6, embed), random_vectors()
    assert list(network.parameters()) == []
    np.testing.assert_array_equal(network.encode(network.prepare(x)), x)
    np.testing.assert_array_equal(network.embed(x), x)


def test_the_base_network_returns_its_input_and_has_no_decoder():
    network, x = Network(6), random_vectors()
    np.testing.assert_array_equal(network.encode(network.prepare(x)), x)
    assert network.device == torch.device("cpu")
    with pytest.raises(
        InputError, match="reconstruct items from their embeddings, which the network of this encoder cannot"
    ):
        network.decoder()
