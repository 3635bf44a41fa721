import copy

import pytest
import torch
from torch import nn

from coterie.float64 import in_float64
from coterie.heads.classifier import Classifier


def make_head():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, 3))


def random_rows(n=40):
    return torch.randn(n, 6, generator=torch.Generator().manual_seed(1))


def test_result_is_that_of_the_module_in_float64_and_evaluation_mode():
    module, x = make_head(), random_rows()
    result = in_float64(module, x)
    assert result.dtype == torch.float64
    assert torch.equal(result, copy.deepcopy(module).double().eval()(x.double()))
    assert not torch.equal(result, module.eval()(x).double())  # float32 differs


def test_the_module_is_not_changed():
    module, x = make_head(), random_rows()
    module[2].eval()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    modes = [submodule.training for submodule in module.modules()]
    in_float64(module, x)
    assert [submodule.training for submodule in module.modules()] == modes == [True, True, True, False, True, True]
    for name, value in module.state_dict().items():  # with the running statistics of the batch norm
        assert value.dtype == before[name].dtype, name
        assert torch.equal(value, before[name]), name


def test_the_training_mode_is_restored_after_an_error():
    module = make_head().train()
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        in_float64(module, torch.zeros(2, 5))
    assert all(submodule.training for submodule in module.modules())


@pytest.mark.parametrize("module", [make_head(), Classifier(6, 3, width=16)], ids=["sequential", "classifier"])
def test_a_row_does_not_depend_on_the_rest_of_the_batch(module):
    x = random_rows(300)
    batch = in_float64(module, x)
    single = torch.cat([in_float64(module, x[i : i + 1]) for i in range(20)])
    assert (single - batch[:20]).abs().max() < 1e-13


def test_several_inputs_and_outputs():
    class BilinearAndDifference(nn.Bilinear):
        def forward(self, x, y):
            return super().forward(x, y), x - y

    torch.manual_seed(0)
    module = BilinearAndDifference(6, 6, 2)
    x, y = random_rows(), random_rows().flip(dims=(0,))
    results = in_float64(module, x, y)
    expected = copy.deepcopy(module).double()(x.double(), y.double())
    assert all(map(torch.equal, results, expected))


def test_integer_inputs_stay_integers():
    torch.manual_seed(0)
    embedding = nn.Embedding(10, 4)
    result = in_float64(embedding, torch.tensor([3, 1]))
    assert torch.equal(result, embedding.weight[[3, 1]].double())


def test_gradients_reach_the_parameters_in_float32():
    module = make_head()
    in_float64(module, random_rows()).square().sum().backward()
    assert all(weight.grad is not None and weight.grad.abs().sum() > 0 for weight in module[4].parameters())
    assert module[4].weight.grad.dtype == torch.float32
