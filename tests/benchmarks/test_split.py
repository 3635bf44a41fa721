"""Learn from one part of a set, be judged on the other."""

import json
from dataclasses import replace

import numpy as np
import pytest

from coterie.benchmarks import run as runner
from coterie.benchmarks.jobs import expand
from coterie.benchmarks.run import run_job
from coterie.benchmarks.table import make_table
from coterie.data.datasets import Dataset
from coterie.errors import InputError


@pytest.fixture
def parts(topics):
    texts, labels = topics
    train, test = (Dataset("agnews", texts[rows], labels[rows], ["a", "b", "c"]) for rows in (slice(60), slice(60, 90)))
    return train, test


def job(**options):
    return expand(["kmeans"], ["agnews"], 1, "cpu", encoder="tfidf", **options)[0]


def test_true_labels_are_compared_on_the_texts_that_were_not_learnt_from(parts, tmp_path):
    train, test = parts
    result, labels = run_job(job(split=True), train, tmp_path, test)
    assert (result["split"], result["n"], result["n_test"], len(labels)) == (True, 60, 30, 30)
    assert result["label_based"]["acc"] > 0.9
    shuffle = np.random.default_rng(0).permutation
    wrong = replace(test, true_labels=shuffle(test.true_labels))
    assert run_job(job(split=True), train, tmp_path, wrong)[0]["label_based"]["acc"] < 0.9
    other = replace(train, true_labels=shuffle(train.true_labels))
    assert run_job(job(split=True), other, tmp_path, test)[0]["label_based"] == result["label_based"]
    assert result == json.loads(json.dumps(result, allow_nan=False))


def test_the_runner_takes_the_parts_only_when_asked(parts, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "load_split", lambda name: parts)
    monkeypatch.setattr(runner.datasets, "load", lambda name: parts[0])
    assert runner._work(job(split=True), tmp_path)["n_test"] == 30
    whole = runner._work(job(), tmp_path)
    assert "n_test" not in whole
    assert "split" not in whole


def test_a_result_on_a_part_is_not_one_on_the_whole(parts, tmp_path):
    divided, whole = job(split=True), job()
    part = run_job(divided, parts[0], tmp_path, parts[1])[0]
    assert divided.is_in([part])
    assert not whole.is_in([part])
    assert not divided.is_in([run_job(whole, parts[0], tmp_path)[0]])
    assert str(divided) == "agnews (test part) kmeans seed 0"


def test_the_table_has_a_column_for_each(parts, tmp_path):
    results = [run_job(job(), parts[0], tmp_path)[0], run_job(job(split=True), parts[0], tmp_path, parts[1])[0]]
    head = make_table(results).splitlines()[0]
    assert "kmeans ACC" in head
    assert "kmeans, test part ACC" in head


def test_sets_without_parts_are_refused():
    with pytest.raises(InputError, match="'tweet' has no train and test part"):
        expand(["kmeans"], ["agnews", "tweet"], 1, "cpu", split=True)
