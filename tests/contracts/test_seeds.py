"""random_state is the one seed of every random choice."""

import ast
from pathlib import Path

import numpy as np
import pytest
import torch
from short_training import DEEP_METHODS, short

from coterie.clusterer import METHODS

SOURCE = Path(__file__).parents[2] / "src" / "coterie"
SEEDED = [
    *("methods", "objectives", "heads", "training", "clustering", "knn", "words", "losses"),
    *("clusterer.py", "deep.py", "topic_clusterer.py", "contracts.py", "arrays.py"),
]
FIXED_SEEDS = {
    ("contracts.py", "in_chunks"): "the fixed shuffle of rows that are assigned as one batch",
    ("arrays.py", "subsample"): "the same sample in every call",
    ("clustering/silhouette.py", "cosine_silhouette"): "the same sample for all candidates that are compared",
    ("knn/nn_descent.py", "nn_descent"): "the neighbors of a corpus are the same in every training",
}
each_deep_method = pytest.mark.parametrize("cls", DEEP_METHODS.values(), ids=DEEP_METHODS.keys())


@pytest.fixture(scope="module")
def trained(topics):
    """Return the trained state of a method for a seed; without the guard, so that no earlier state is restored."""
    states = {}

    def state(cls, seed):
        if (cls, seed) not in states:
            model = short(cls, guard="off", random_state=seed).fit(topics[0])
            states[cls, seed] = {name: value.clone() for name, value in model.objective_.trained_state().items()}
        return states[cls, seed]

    return state


@each_deep_method
def test_the_same_seed_gives_the_same_weights(cls, topics, trained):
    again = short(cls, guard="off", random_state=1).fit(topics[0]).objective_.trained_state()
    assert again.keys() == trained(cls, 1).keys()
    for name, value in again.items():
        assert torch.equal(value, trained(cls, 1)[name]), name


@each_deep_method
def test_another_seed_gives_other_weights(cls, trained):
    one, other = trained(cls, 1), trained(cls, 2)
    weights = [name for name in one if name.startswith("network.") and name.endswith("weight")]
    assert weights
    for name in weights:
        assert not torch.equal(one[name], other[name]), name


@pytest.mark.parametrize("cls", METHODS.values(), ids=METHODS.keys())
def test_the_same_seed_gives_the_same_model(cls, topics):
    one = short(cls, random_state=4).fit(topics[0])
    other = short(cls, random_state=np.int64(4)).fit(topics[0])
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.predict_proba(topics[0]), other.predict_proba(topics[0]))
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)


@each_deep_method
def test_a_random_generator_is_a_seed_too(cls, topics):
    fits = [short(cls, guard="off", random_state=np.random.RandomState(5)).fit(topics[0]) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].transform(topics[0]), fits[1].transform(topics[0]))


# -- no seed is written into the source code


def python_files(entry):
    path = SOURCE / entry
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def literal_seeds(tree):
    """Yield the function and the code of every call with a constant seed."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and any(isinstance(seed, ast.Constant) for seed in seeds_of(node)):
                    yield function.name, ast.unparse(node)


def seeds_of(call):
    """Return the arguments of a call that are seeds."""
    seeds = [keyword.value for keyword in call.keywords if keyword.arg in ("seed", "random_state")]
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in ("manual_seed", "default_rng", "RandomState", "seeded", "check_random_state"):
        seeds += call.args[:1] or [ast.Constant(None)]
    return seeds


def test_the_search_finds_literal_seeds():
    code = "def f():\n    torch.manual_seed(0)\n    g(seed=1)\n    default_rng()\n    h(seed=seed)\n    seeded(seed)\n"
    found = [call for _, call in literal_seeds(ast.parse(code))]
    assert found == ["torch.manual_seed(0)", "g(seed=1)", "default_rng()"]


def test_no_module_of_the_training_has_a_literal_seed():
    found = {
        (path.relative_to(SOURCE).as_posix(), function)
        for entry in SEEDED
        for path in python_files(entry)
        for function, _ in literal_seeds(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set(FIXED_SEEDS)
