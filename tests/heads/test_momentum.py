import copy

import torch
from torch import nn

from coterie.encoders.transformer import TransformerEncoder
from coterie.heads.momentum import Momentum


def module():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))


def rows(seed=1):
    return torch.randn(8, 3, generator=torch.Generator().manual_seed(seed))


def moved(fast):
    with torch.no_grad():
        for weight in fast.parameters():
            weight += torch.randn_like(weight)
    return fast


def test_it_starts_equal_and_stays_where_it_is_until_it_follows():
    fast = module()
    slow, before = Momentum(fast, 0.9), copy.deepcopy(fast)
    moved(fast)
    assert torch.equal(slow(fast, rows()), before(rows()))
    assert not torch.equal(slow(fast, rows()), fast(rows()))


def test_it_follows_by_its_equation():
    fast = module()
    slow = Momentum(fast, 0.9)
    expected = {name: weight.detach().clone() for name, weight in fast.named_parameters()}
    for _ in range(3):
        moved(fast)
        slow.follow(fast)
        expected = {name: 0.9 * expected[name] + 0.1 * weight.detach() for name, weight in fast.named_parameters()}
    for name, value in expected.items():
        torch.testing.assert_close(slow.get_buffer(name.replace(".", "/")), value)


def test_a_momentum_of_zero_is_the_module_and_of_one_its_start():
    for m, which in ((0.0, 1), (1.0, 0)):
        fast = module()
        states = [copy.deepcopy(fast), moved(fast)]
        slow = Momentum(states[0], m)
        slow.follow(fast)
        torch.testing.assert_close(slow(fast, rows()), states[which](rows()))


def test_beginning_anew_makes_it_equal_again():
    fast = module()
    slow = Momentum(fast, 0.9)
    moved(fast)
    slow.begin(fast)
    assert torch.equal(slow(fast, rows()), fast(rows()))


def test_nothing_is_differentiated_and_the_module_is_left_as_it_was():
    fast = module()
    slow = Momentum(fast, 0.9)
    before = {name: value.clone() for name, value in fast.state_dict().items()}
    assert not slow(fast, rows()).requires_grad
    assert not list(slow.parameters())
    assert all(torch.equal(value, before[name]) for name, value in fast.state_dict().items())
    assert all(isinstance(weight, nn.Parameter) and weight.requires_grad for weight in fast.parameters())


def test_statistics_of_a_norm_are_its_own():
    fast = module()
    slow = Momentum(fast, 0.9)
    reference = copy.deepcopy(fast)
    slow(fast, rows(seed=5))
    reference(rows(seed=5))
    torch.testing.assert_close(slow.get_buffer("1/running_mean"), reference[1].running_mean)
    assert not fast[1].running_mean.any()
    assert int(slow.get_buffer("1/num_batches_tracked")) == 1


def test_what_is_frozen_is_shared_and_not_copied():
    fast = module()
    fast[0].requires_grad_(False)
    slow = Momentum(fast, 0.9)
    assert set(slow.weights) == {"1.weight", "1.bias", "2.weight", "2.bias"}
    before = slow(fast, rows())
    with torch.no_grad():
        fast[0].weight.mul_(2)
    assert not torch.allclose(slow(fast, rows()), before)


def test_of_a_transformer_only_the_layers_that_learn_are_copied(tiny_bert):
    network = TransformerEncoder(model=str(tiny_bert), precision="float32").network(32, trainable_layers=1).eval()
    slow, view = Momentum(network, 0.9), network.prepare(["goal match", "stock bank market"])
    assert slow.weights
    assert all(name.startswith("bert.layers.1.") for name in slow.weights)
    before = network(view)[0].detach()
    moved(network.bert.layers[1])
    assert torch.equal(slow(network, view)[0], before)
    assert not torch.allclose(network(view)[0], before)


def test_what_comes_later_is_no_part_of_it():
    fast = module()
    slow = Momentum(fast, 0.9)
    fast.register_buffer("later", torch.zeros(3))
    fast.slow = slow  # as an objective keeps its own
    slow.follow(fast)
    slow.begin(fast)
    assert set(slow.state_dict()) == {name.replace(".", "/") for name in module().state_dict()}


def test_it_survives_a_state_dict():
    fast = module()
    slow = Momentum(fast, 0.9)
    slow.follow(moved(fast))
    other = Momentum(module(), 0.9)
    other.load_state_dict(slow.state_dict())
    assert torch.equal(other(fast, rows()), slow(fast, rows()))
