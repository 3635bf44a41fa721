"""FC_e, the layer that DECCRL and TCC put on top of the encoder network."""

import numpy as np
import pytest
import torch

from coterie.clusterer import METHODS
from coterie.contracts import Network
from coterie.encoders.networks.fc import FCNetwork
from coterie.encoders.networks.linear import LinearNetwork
from coterie.methods.deccrl import DECCRL
from coterie.methods.tcc import TCC
from coterie.training.optimizer import Optimizer


@pytest.mark.parametrize("cls", [DECCRL, TCC])
def test_the_methods_put_it_on_top_of_the_network(cls):
    inner = Network(5)
    network = cls(latent_dim=3).wrap_network(inner)
    assert isinstance(network, FCNetwork)
    assert network.inner is inner
    assert network.dim == 3


def test_with_the_width_of_the_encoder_it_starts_as_the_identity():
    h = torch.randn(700, 5)
    network = FCNetwork(Network(5), None)
    assert torch.equal(network.encode(h), h)
    np.testing.assert_array_equal(network.embed(h.numpy()), h.numpy())


def test_with_a_smaller_width_it_preserves_distances_on_average():
    torch.manual_seed(0)
    h = torch.nn.functional.normalize(torch.randn(200, 64), dim=1)
    network = FCNetwork(Network(64), 32)
    ratio = torch.pdist(network.encode(h)) / torch.pdist(h)
    assert network.dim == 32
    assert ratio.mean().item() == pytest.approx(1, abs=0.05)


def test_it_is_trained_and_transforms_every_view():
    network = FCNetwork(Network(4), 3)
    views = network(torch.randn(5, 4), torch.randn(2, 4))
    assert [tuple(view.shape) for view in views] == [(5, 3), (2, 3)]
    sum(view.square().sum() for view in views).backward()
    assert network.fc_e.weight.grad.abs().sum() > 0


@pytest.mark.parametrize("method", ["deccrl", "tcc"])
def test_the_new_layer_learns_at_the_rate_of_the_heads(method):
    model = METHODS[method](n_clusters=3)
    objective = model.build_objective(FCNetwork(LinearNetwork(4, lambda items: items), 3))
    optimizer = Optimizer(objective, encoder_lr=0.1, head_lr=0.2, schedule="constant", max_grad_norm=None)
    rates = {id(weight): group["lr"] for group in optimizer.adam.param_groups for weight in group["params"]}
    assert rates[id(objective.network.fc_e.weight)] == 0.2
    assert {rates[id(weight)] for weight in objective.network.inner.parameters()} == {0.1}
