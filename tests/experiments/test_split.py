"""Fit on the training split of a data set, score on its test split."""

import json
from dataclasses import replace

import numpy as np
import pytest

from coterie.datasets import Dataset
from coterie.errors import InputError
from coterie.experiments import runner
from coterie.experiments.jobs import expand
from coterie.experiments.runner import run_job
from coterie.experiments.table import make_table


@pytest.fixture
def splits(topics):
    """60 texts for training and 30 for the test."""
    texts, labels = topics
    train = Dataset("agnews", texts[:60], labels[:60], ["a", "b", "c"])
    test = Dataset("agnews", texts[60:], labels[60:], ["a", "b", "c"])
    return train, test


def make_job(**options):
    return expand(["kmeans"], ["agnews"], 1, "cpu", encoder="tfidf", **options)[0]


def test_only_true_labels_of_the_test_split_are_scored(splits, tmp_path):
    train, test = splits
    result, labels = run_job(make_job(split=True), train, tmp_path, test)
    assert (result["split"], result["n"], result["n_test"], len(labels)) == (True, 60, 30, 30)
    assert result["label_based"]["acc"] > 0.9
    shuffle = np.random.default_rng(0).permutation
    wrong = replace(test, true_labels=shuffle(test.true_labels))
    assert run_job(make_job(split=True), train, tmp_path, wrong)[0]["label_based"]["acc"] < 0.9
    other = replace(train, true_labels=shuffle(train.true_labels))
    assert run_job(make_job(split=True), other, tmp_path, test)[0]["label_based"] == result["label_based"]
    assert result == json.loads(json.dumps(result, allow_nan=False))


def test_the_runner_loads_the_splits_only_for_a_job_with_split(splits, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "load_split", lambda name: splits)
    monkeypatch.setattr(runner.datasets, "load", lambda name: splits[0])
    assert runner._load_and_run(make_job(split=True), tmp_path, tmp_path)["n_test"] == 30
    whole = runner._load_and_run(make_job(), tmp_path, tmp_path)
    assert "n_test" not in whole
    assert "split" not in whole


def test_results_with_and_without_split_are_different(splits, tmp_path):
    with_split = make_job(split=True)
    without_split = make_job()
    result_with = run_job(with_split, splits[0], tmp_path, splits[1])[0]
    result_without = run_job(without_split, splits[0], tmp_path)[0]
    assert with_split.is_in([result_with])
    assert not without_split.is_in([result_with])
    assert not with_split.is_in([result_without])
    assert str(with_split) == "agnews (test split) kmeans seed 0"
    header = make_table([result_without, result_with]).splitlines()[0]
    assert "kmeans ACC" in header
    assert "kmeans, test split ACC" in header


def test_data_sets_without_splits_raise_an_input_error():
    with pytest.raises(InputError, match="'tweet' has no training and test split"):
        expand(["kmeans"], ["agnews", "tweet"], 1, "cpu", split=True)
