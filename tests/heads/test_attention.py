import copy

import pytest
import torch
from torch import nn

from coterie.heads.attention import SampleAttention


def attention(dim=128, **options):
    torch.manual_seed(0)
    module = SampleAttention(dim, **options)
    with torch.no_grad():  # biases and norms as training leaves them
        for weight in module.parameters():
            weight += 0.05 * torch.randn_like(weight)
    return module


def rows(n=9, dim=128, seed=1):
    return torch.randn(n, dim, generator=torch.Generator().manual_seed(seed))


def torchs(module, dim=128):
    """Return torch's own layer with the weights of ``module``."""
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


def test_it_is_torchs_encoder_layer_whose_sequence_is_the_batch():
    module, z = attention().eval(), rows()
    layer = torchs(module).eval()
    c, s = module(z)
    torch.testing.assert_close(c, layer(z[None])[0], atol=1e-5, rtol=1e-5)
    _, weights = layer.self_attn(z[None], z[None], z[None])
    torch.testing.assert_close(s, weights[0], atol=1e-6, rtol=1e-5)


def test_it_has_as_many_weights_as_torchs_encoder_layer():
    layer = nn.TransformerEncoderLayer(128, 1, 256)
    assert sum(w.numel() for w in SampleAttention(128).parameters()) == sum(w.numel() for w in layer.parameters())


def test_it_starts_as_torchs_encoder_layer_does():
    torch.manual_seed(0)
    module, layer = SampleAttention(128), nn.TransformerEncoderLayer(128, 1, 256)
    theirs = layer.self_attn
    for ours, expected in [(module.into.weight, theirs.in_proj_weight), (module.out.weight, theirs.out_proj.weight)]:
        widest = [weight.detach().abs().max().item() for weight in (ours, expected)]
        assert widest[0] == pytest.approx(widest[1], rel=0.02)  # both are uniform on one range
    assert not module.into.bias.any()
    assert not module.out.bias.any()


def test_with_dropout_gradients_flow_where_torchs_do_and_every_dropout_is_a_tenth():
    module = attention()
    assert [part.p for part in module.modules() if isinstance(part, nn.Dropout)] == [0.1, 0.1]
    c, s = module(rows().requires_grad_())
    (c.square().sum() + s.square().sum()).backward()
    assert all(weight.grad.abs().sum() > 0 for weight in module.parameters())


def test_the_attention_of_a_row_sums_to_one_without_dropout_only():
    module, z = attention(), rows(40)
    assert not torch.allclose(module.train()(z)[1].sum(dim=1), torch.ones(40), atol=0.01)
    torch.testing.assert_close(module.eval()(z)[1].sum(dim=1), torch.ones(40))


def test_with_dropout_attention_is_lost_here_and_there_and_the_rest_is_raised():
    module, z = attention(), rows(40)
    clean, dropped = module.eval()(z)[1], module.train()(z)[1]
    kept = dropped != 0
    assert 0.05 < float((~kept).float().mean()) < 0.15
    torch.testing.assert_close(dropped[kept], clean[kept] / 0.9)


def test_attention_is_its_equation():
    module, z = attention(4, width=8).eval().requires_grad_(False), rows(5, 4)
    k_1, k_2, _ = (z @ w.T + b for w, b in zip(module.into.weight.split(4), module.into.bias.split(4), strict=True))
    _, s = module(z)
    for i in range(5):
        scores = [float(k_1[i] @ k_2[j]) / 4**0.5 for j in range(5)]
        expected = torch.tensor(scores).exp() / torch.tensor(scores).exp().sum()
        torch.testing.assert_close(s[i], expected)


def test_texts_may_be_reordered():
    module, z = attention().eval(), rows()
    order = torch.randperm(9, generator=torch.Generator().manual_seed(2))
    (c, s), (c_2, s_2) = module(z), module(z[order])
    torch.testing.assert_close(c_2, c[order], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(s_2, s[order][:, order], atol=1e-6, rtol=1e-5)


def test_in_a_batch_a_row_depends_on_the_others():
    module, z = attention().eval(), rows()
    assert not torch.allclose(module(z)[0][:5], module(z[:5])[0], atol=1e-3)


# -- each row alone


def test_alone_a_row_depends_on_itself_and_what_is_remembered():
    module, z = attention().eval().double(), rows().double()
    module.remember(rows(20, seed=3))
    module.reference = module.reference.double()
    c, s = module(z, alone=True)
    for i in range(9):
        own, own_s = module(z[i : i + 1], alone=True)
        torch.testing.assert_close(own[0], c[i], atol=1e-12, rtol=0)
        torch.testing.assert_close(own_s[0], s[i], atol=1e-12, rtol=0)
    assert s.shape == (9, 21)
    torch.testing.assert_close(s.sum(dim=1), torch.ones(9, dtype=torch.float64))
    module.reference = module.reference.flip(1)
    assert not torch.allclose(module(z, alone=True)[0], c, atol=1e-3)


def test_alone_beside_the_rest_of_a_batch_a_row_is_what_it_is_in_the_batch():
    module, z = attention().eval(), rows()
    c, s = module(z)
    for i in range(9):
        rest = torch.cat([z[:i], z[i + 1 :]])
        module.remember(rest)
        alone, attends = module(z[i : i + 1], alone=True)
        torch.testing.assert_close(alone[0], c[i], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(attends[0], torch.cat([s[i, i : i + 1], s[i, :i], s[i, i + 1 :]]))


def test_alone_with_nothing_remembered_a_row_attends_to_itself():
    module, z = attention().eval(), rows()
    c, s = module(z, alone=True)
    torch.testing.assert_close(s, torch.ones(9, 1))
    torch.testing.assert_close(c[:1], module(z[:1])[0])


# -- what is remembered


def test_what_is_remembered_is_kept_and_not_learnt():
    module, z = attention(), rows().requires_grad_()
    module.remember((2 * z).double())
    assert torch.equal(module.state_dict()["reference"], 2 * z.detach())
    assert module.reference.dtype == torch.float32
    assert not module.reference.requires_grad  # nor does it hold on to how it was computed
    assert "reference" not in dict(module.named_parameters())
    assert torch.equal(copy.deepcopy(module).reference, module.reference)


@pytest.mark.parametrize("already", [0, 3, 30])
def test_a_state_with_any_number_of_remembered_texts_can_be_taken(already):
    module, other = attention(), attention()
    module.remember(rows(20))
    other.remember(rows(already, seed=5))
    other.load_state_dict(module.state_dict())
    assert torch.equal(other.reference, rows(20))
    other.load_state_dict({"norm_1.bias": torch.ones(128)}, strict=False)
    assert torch.equal(other.reference, rows(20))
