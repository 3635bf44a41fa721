import copy

import torch
from torch import nn

from coterie.encoders.transformer import TransformerEncoder
from coterie.heads.momentum import MomentumEncoder


def make_module():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))


def rows(seed=1):
    return torch.randn(8, 3, generator=torch.Generator().manual_seed(seed))


def randomly_moved(module):
    with torch.no_grad():
        for weight in module.parameters():
            weight += torch.randn_like(weight)
    return module


def test_starts_equal_and_does_not_change_without_update():
    module = make_module()
    averaged, before = MomentumEncoder(module, 0.9), copy.deepcopy(module)
    randomly_moved(module)
    assert torch.equal(averaged(module, rows()), before(rows()))
    assert not torch.equal(averaged(module, rows()), module(rows()))


def test_update_is_the_moving_average():
    module = make_module()
    averaged = MomentumEncoder(module, 0.9)
    expected = {name: weight.detach().clone() for name, weight in module.named_parameters()}
    for _ in range(3):
        randomly_moved(module)
        averaged.update(module)
        expected = {name: 0.9 * expected[name] + 0.1 * weight.detach() for name, weight in module.named_parameters()}
    for name, value in expected.items():
        torch.testing.assert_close(averaged.get_buffer(name.replace(".", "/")), value)


def test_momentum_zero_is_the_module_and_one_its_initial_state():
    for m, which in ((0.0, 1), (1.0, 0)):
        module = make_module()
        states = [copy.deepcopy(module), randomly_moved(module)]
        averaged = MomentumEncoder(states[0], m)
        averaged.update(module)
        torch.testing.assert_close(averaged(module, rows()), states[which](rows()))


def test_reset_makes_it_equal_to_the_module():
    module = make_module()
    averaged = MomentumEncoder(module, 0.9)
    randomly_moved(module)
    averaged.reset(module)
    assert torch.equal(averaged(module, rows()), module(rows()))


def test_forward_has_no_gradient_and_does_not_change_the_module():
    module = make_module()
    averaged = MomentumEncoder(module, 0.9)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    assert not averaged(module, rows()).requires_grad
    assert not list(averaged.parameters())
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert all(isinstance(weight, nn.Parameter) and weight.requires_grad for weight in module.parameters())


def test_batch_norm_statistics_are_separate():
    module = make_module()
    averaged = MomentumEncoder(module, 0.9)
    reference = copy.deepcopy(module)
    averaged(module, rows(seed=5))
    reference(rows(seed=5))
    torch.testing.assert_close(averaged.get_buffer("1/running_mean"), reference[1].running_mean)
    assert not module[1].running_mean.any()
    assert int(averaged.get_buffer("1/num_batches_tracked")) == 1


def test_frozen_weights_are_shared():
    module = make_module()
    module[0].requires_grad_(False)
    averaged = MomentumEncoder(module, 0.9)
    assert set(averaged.weight_names) == {"1.weight", "1.bias", "2.weight", "2.bias"}
    before = averaged(module, rows())
    with torch.no_grad():
        module[0].weight.mul_(2)
    assert not torch.allclose(averaged(module, rows()), before)


def test_only_the_trainable_layers_of_a_transformer_are_copied(tiny_bert):
    network = TransformerEncoder(model=str(tiny_bert), precision="float32").network(trainable_layers=1).eval()
    averaged, view = MomentumEncoder(network, 0.9), network.prepare(["goal match", "stock bank market"])
    assert averaged.weight_names
    assert all(name.startswith("bert.layers.1.") for name in averaged.weight_names)
    before = network(view)[0].detach()
    randomly_moved(network.bert.layers[1])
    assert torch.equal(averaged(network, view)[0], before)
    assert not torch.allclose(network(view)[0], before)


def test_weights_added_after_the_copy_are_not_part_of_it():
    module = make_module()
    averaged = MomentumEncoder(module, 0.9)
    module.register_buffer("later", torch.zeros(3))
    module.averaged = averaged  # an objective stores it as a submodule
    averaged.update(module)
    averaged.reset(module)
    assert set(averaged.state_dict()) == {name.replace(".", "/") for name in make_module().state_dict()}


def test_state_dict_round_trip():
    module = make_module()
    averaged = MomentumEncoder(module, 0.9)
    averaged.update(randomly_moved(module))
    other = MomentumEncoder(make_module(), 0.9)
    other.load_state_dict(averaged.state_dict())
    assert torch.equal(other(module, rows()), averaged(module, rows()))
