"""Fits in several threads, and loading beside them, give the same results as each of them alone."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from short_training import DEEP_METHODS, short

import coterie

SETTINGS = {"guard": "off", "max_steps": 8, "epoch_steps": 4}


@pytest.fixture(scope="module")
def fit(topics, tiny_bert):
    """Return a function that fits a method on the tiny BERT and returns its trained weights."""

    def state(job):
        name, seed = job
        encoder = f"transformer(model={tiny_bert},precision=float32)"
        model = short(DEEP_METHODS[name], encoder=encoder, random_state=seed, **SETTINGS).fit(topics[0])
        return {name: value.clone() for name, value in model.objective_.trained_state().items()}

    return state


def assert_same(one, other):
    for expected, found in zip(one, other, strict=True):
        assert expected.keys() == found.keys()
        for name, value in expected.items():
            assert torch.equal(value, found[name]), name


def test_four_threads_that_train_give_the_weights_of_one(fit):
    jobs = [("sccl", 1), *((name, 4) for name in DEEP_METHODS)]
    alone = [fit(job) for job in jobs]
    with ThreadPoolExecutor(4) as threads:
        assert_same(alone, threads.map(fit, jobs))


def test_loading_models_beside_a_training_changes_neither(fit, topics, tiny_bert, tmp_path):
    model = short(coterie.AECL, encoder=f"transformer(model={tiny_bert})").fit(topics[0])
    model.save(tmp_path / "model")
    expected = model.predict_proba(topics[0])
    jobs = [("aecl", 7), ("rstc", 7), ("deccrl", 7)]
    alone = [fit(job) for job in jobs]
    with ThreadPoolExecutor(4) as threads:
        beside = [threads.submit(fit, job) for job in jobs]
        loaded = [coterie.load(tmp_path / "model", allow=True)]
        while not all(job.done() for job in beside):
            loaded.append(coterie.load(tmp_path / "model", allow=True))
        assert_same(alone, [job.result() for job in beside])
    for each in loaded[:: max(len(loaded) // 5, 1)]:
        np.testing.assert_array_equal(each.predict_proba(topics[0]), expected)


def test_threads_leave_the_filters_of_warnings_as_they_were(topics):
    before, show = list(warnings.filters), warnings.showwarning
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda seed: short(coterie.KMeans, random_state=seed).fit(topics[0]), range(12)))
    assert warnings.filters == before
    assert warnings.showwarning is show
