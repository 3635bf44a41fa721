import copy

import pytest
import torch
from torch import nn

from coterie.heads.attention import SampleAttention


def attention(dim=128, **options):
    torch.manual_seed(0)
    module = SampleAttention(dim, **options)
    with torch.no_grad():  # biases and norms that are not at their initial values
        for weight in module.parameters():
            weight += 0.05 * torch.randn_like(weight)
    return module


def rows(n=9, dim=128, seed=1):
    return torch.randn(n, dim, generator=torch.Generator().manual_seed(seed))


def torch_layer(module, dim=128):
    """Return torch's ``TransformerEncoderLayer`` with the weights of ``module``."""
    layer = nn.TransformerEncoderLayer(dim, 1, 256, dropout=0.1, batch_first=True)
    names = {
        "self_attn.in_proj_weight": module.into.weight, "self_attn.in_proj_bias": module.into.bias,
        "self_attn.out_proj.weight": module.out.weight, "self_attn.out_proj.bias": module.out.bias,
        "linear1.weight": module.feed[0].weight, "linear1.bias": module.feed[0].bias,
        "linear2.weight": module.feed[3].weight, "linear2.bias": module.feed[3].bias,
        "norm1.weight": module.norm_1.weight, "norm1.bias": module.norm_1.bias,
        "norm2.weight": module.norm_2.weight, "norm2.bias": module.norm_2.bias,
    }  # fmt: skip
    layer.load_state_dict({name: weight.detach().clone() for name, weight in names.items()}, strict=True)
    return layer


def test_equals_torch_encoder_layer_with_the_batch_as_sequence():
    module, z = attention().eval(), rows()
    layer = torch_layer(module).eval()
    c, s = module(z)
    torch.testing.assert_close(c, layer(z[None])[0], atol=1e-5, rtol=1e-5)
    _, weights = layer.self_attn(z[None], z[None], z[None])
    torch.testing.assert_close(s, weights[0], atol=1e-6, rtol=1e-5)


def test_parameter_count_equals_torch_encoder_layer():
    layer = nn.TransformerEncoderLayer(128, 1, 256)
    assert sum(w.numel() for w in SampleAttention(128).parameters()) == sum(w.numel() for w in layer.parameters())


def test_initialization_equals_torch_encoder_layer():
    torch.manual_seed(0)
    module, layer = SampleAttention(128), nn.TransformerEncoderLayer(128, 1, 256)
    attention_of_torch = layer.self_attn
    for ours, expected in [
        (module.into.weight, attention_of_torch.in_proj_weight),
        (module.out.weight, attention_of_torch.out_proj.weight),
    ]:
        largest, expected_largest = (weight.detach().abs().max().item() for weight in (ours, expected))
        assert largest == pytest.approx(expected_largest, rel=0.02)  # both are uniform on the same range
    assert not module.into.bias.any()
    assert not module.out.bias.any()


def test_dropout_rate_is_a_tenth_and_every_weight_has_a_gradient():
    module = attention()
    assert [part.p for part in module.modules() if isinstance(part, nn.Dropout)] == [0.1, 0.1]
    c, s = module(rows().requires_grad_())
    (c.square().sum() + s.square().sum()).backward()
    assert all(weight.grad.abs().sum() > 0 for weight in module.parameters())


def test_attention_of_a_row_sums_to_one_only_without_dropout():
    module, z = attention(), rows(40)
    assert not torch.allclose(module.train()(z)[1].sum(dim=1), torch.ones(40), atol=0.01)
    torch.testing.assert_close(module.eval()(z)[1].sum(dim=1), torch.ones(40))


def test_dropout_removes_a_tenth_of_the_attention_and_scales_the_rest():
    module, z = attention(), rows(40)
    clean, dropped = module.eval()(z)[1], module.train()(z)[1]
    kept = dropped != 0
    assert 0.05 < float((~kept).float().mean()) < 0.15
    torch.testing.assert_close(dropped[kept], clean[kept] / 0.9)


def test_attention_equals_equation_2():
    module, z = attention(4, width=8).eval().requires_grad_(False), rows(5, 4)
    k_1, k_2, _ = (z @ w.T + b for w, b in zip(module.into.weight.split(4), module.into.bias.split(4), strict=True))
    _, s = module(z)
    for i in range(5):
        scores = [float(k_1[i] @ k_2[j]) / 4**0.5 for j in range(5)]
        expected = torch.tensor(scores).exp() / torch.tensor(scores).exp().sum()
        torch.testing.assert_close(s[i], expected)


def test_is_equivariant_to_the_order_of_the_texts():
    module, z = attention().eval(), rows()
    order = torch.randperm(9, generator=torch.Generator().manual_seed(2))
    (c, s), (c_2, s_2) = module(z), module(z[order])
    torch.testing.assert_close(c_2, c[order], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(s_2, s[order][:, order], atol=1e-6, rtol=1e-5)


def test_in_a_batch_a_row_depends_on_the_other_rows():
    module, z = attention().eval(), rows()
    assert not torch.allclose(module(z)[0][:5], module(z[:5])[0], atol=1e-3)


# -- against the reference texts


def test_against_the_reference_a_row_depends_only_on_itself_and_the_reference():
    module, z = attention().eval().double(), rows().double()
    module.store_reference(rows(20, seed=3))
    module.reference = module.reference.double()
    c, s = module(z, against_reference=True)
    for i in range(9):
        own, own_s = module(z[i : i + 1], against_reference=True)
        torch.testing.assert_close(own[0], c[i], atol=1e-12, rtol=0)
        torch.testing.assert_close(own_s[0], s[i], atol=1e-12, rtol=0)
    assert s.shape == (9, 21)
    torch.testing.assert_close(s.sum(dim=1), torch.ones(9, dtype=torch.float64))
    module.reference = module.reference.flip(1)
    assert not torch.allclose(module(z, against_reference=True)[0], c, atol=1e-3)


def test_with_the_rest_of_a_batch_as_reference_a_row_equals_that_of_the_batch():
    module, z = attention().eval(), rows()
    c, s = module(z)
    for i in range(9):
        rest = torch.cat([z[:i], z[i + 1 :]])
        module.store_reference(rest)
        c_i, s_i = module(z[i : i + 1], against_reference=True)
        torch.testing.assert_close(c_i[0], c[i], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(s_i[0], torch.cat([s[i, i : i + 1], s[i, :i], s[i, i + 1 :]]))


def test_with_an_empty_reference_a_row_attends_to_itself():
    module, z = attention().eval(), rows()
    c, s = module(z, against_reference=True)
    torch.testing.assert_close(s, torch.ones(9, 1))
    torch.testing.assert_close(c[:1], module(z[:1])[0])


# -- the stored reference


def test_the_reference_is_a_float32_buffer_without_gradient():
    module, z = attention(), rows().requires_grad_()
    module.store_reference((2 * z).double())
    assert torch.equal(module.state_dict()["reference"], 2 * z.detach())
    assert module.reference.dtype == torch.float32
    assert not module.reference.requires_grad
    assert "reference" not in dict(module.named_parameters())
    assert torch.equal(copy.deepcopy(module).reference, module.reference)


@pytest.mark.parametrize("n_before", [0, 3, 30])
def test_a_state_dict_with_any_number_of_reference_texts_can_be_loaded(n_before):
    module, other = attention(), attention()
    module.store_reference(rows(20))
    other.store_reference(rows(n_before, seed=5))
    other.load_state_dict(module.state_dict())
    assert torch.equal(other.reference, rows(20))
    other.load_state_dict({"norm_1.bias": torch.ones(128)}, strict=False)
    assert torch.equal(other.reference, rows(20))
