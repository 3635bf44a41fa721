import copy

import pytest
import torch
from torch import nn

from coterie.heads.classifier import Classifier
from coterie.heads.precise import in_double


def head():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, 3))


def rows(n=40):
    return torch.randn(n, 6, generator=torch.Generator().manual_seed(1))


def test_it_is_the_module_in_float64_without_dropout():
    module, x = head(), rows()
    result = in_double(module, x)
    assert result.dtype == torch.float64
    expected = copy.deepcopy(module).double().eval()(x.double())
    torch.testing.assert_close(result, expected, atol=0, rtol=0)
    assert not torch.equal(result, module.eval()(x).double())  # float32 differs


def test_nothing_of_the_module_is_changed():
    module, x = head(), rows()
    module[2].eval()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    flags = [part.training for part in module.modules()]
    in_double(module, x)
    assert [part.training for part in module.modules()] == flags == [True, True, True, False, True, True]
    for name, value in module.state_dict().items():
        assert value.dtype == before[name].dtype, name
        assert torch.equal(value, before[name]), name  # nor have the statistics of the norm moved


def test_its_mode_comes_back_after_an_error():
    module = head().train()
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        in_double(module, torch.zeros(2, 5))
    assert all(part.training for part in module.modules())


@pytest.mark.parametrize("module", [head(), Classifier(6, 3, width=16)], ids=["sequence", "classifier"])
def test_a_row_depends_on_itself_alone(module):
    x = rows(300)
    together = in_double(module, x)
    alone = torch.cat([in_double(module, x[i : i + 1]) for i in range(20)])
    torch.testing.assert_close(alone, together[:20], atol=1e-13, rtol=0)


def test_several_inputs_and_outputs_are_possible():
    class Both(nn.Bilinear):
        def forward(self, x, y):
            return super().forward(x, y), x - y

    torch.manual_seed(0)
    module, x, y = Both(6, 6, 2), rows(), rows().flip(dims=(0,))
    results = in_double(module, x, y)
    expected = copy.deepcopy(module).double()(x.double(), y.double())
    assert [result.dtype for result in results] == [torch.float64] * 2
    torch.testing.assert_close(results, expected, atol=0, rtol=0)


def test_whole_numbers_stay_whole():
    torch.manual_seed(0)
    words = nn.Embedding(10, 4)
    result = in_double(words, torch.tensor([3, 1]))
    torch.testing.assert_close(result, words.weight[[3, 1]].double(), atol=0, rtol=0)


def test_gradients_reach_the_module_through_it():
    module = head()
    in_double(module, rows()).square().sum().backward()
    assert all(weight.grad is not None and weight.grad.abs().sum() > 0 for weight in module[4].parameters())
    assert module[4].weight.grad.dtype == torch.float32
