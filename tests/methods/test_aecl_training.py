import copy
import math
import pickle

import numpy as np
import pytest
import torch
from aecl_reference import small
from sklearn.metrics import adjusted_rand_score

from coterie.errors import InputError, TrainingStopped

SHORT = {"epoch_steps": 4, "n_clusters": 5, "pseudo_labels": "kmeans"}


def stop_at(epoch):
    def callback(evaluation):
        if evaluation.record["step"] == 4 * epoch and evaluation.record["stage"] != "init":
            raise KeyboardInterrupt

    return callback


@pytest.fixture(scope="module", params=["on", "off"])
def uninterrupted(topics, request):
    options = SHORT | {"guard": request.param}
    return options, small(**options).fit(topics[0])


@pytest.mark.parametrize("epoch", [1, 3, 5])
def test_resumed_in_any_stage_it_ends_with_the_same_model(topics, uninterrupted, tmp_path, epoch):
    options, whole = uninterrupted
    options = options | {"checkpoint": tmp_path / "run.checkpoint", "checkpoint_every": 3}
    with pytest.raises(TrainingStopped):
        small(**options).fit(topics[0], callback=stop_at(epoch))
    stages = []
    resumed = small(**options).fit(topics[0], callback=lambda evaluation: stages.append(evaluation.record["stage"]))
    assert len(stages) == 6 - epoch
    for name, value in whole.objective_.state_dict().items():
        assert torch.equal(value, resumed.objective_.state_dict()[name]), name
    assert [record["loss"] for record in resumed.history_] == [record["loss"] for record in whole.history_]
    assert resumed.guard_ == whole.guard_
    np.testing.assert_array_equal(resumed.labels_, whole.labels_)


def test_a_model_can_be_copied_and_pickled(topics):
    model = small(epoch_steps=4).fit(topics[0])
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copied.predict_proba(topics[0]), model.predict_proba(topics[0]))


def test_the_guard_keeps_a_state_at_least_as_good_as_the_initial_one(topics):
    initial = small(epochs=0, guard="on").fit(topics[0])
    guarded = small(epochs=4, head_lr=1e-3, guard="on").fit(topics[0])
    scores = [record["guard"] for record in guarded.history_]
    assert guarded.guard_.score == max([initial.guard_.score, *scores])
    assert min(scores) < initial.guard_.score  # training made it worse at some epoch
    if guarded.guard_.kept == 0:
        np.testing.assert_array_equal(guarded.labels_, initial.labels_)


@pytest.mark.parametrize("implementation", ["paper", "official"])
def test_a_single_cluster_is_possible(topics, implementation):
    model = small(n_clusters=1, implementation=implementation, epoch_steps=1).fit(topics[0])
    assert set(model.labels_) == {0}
    assert all(math.isfinite(record["loss"]) for record in model.history_)
    last = model.history_[-1]
    assert [last[name] for name in ("cluster", "pseudo_label", "entropy", "balance")] == [0, 0, 0, 0]
    assert np.isfinite(model.cluster_centers_).all()


@pytest.mark.parametrize("texts", [["one text"], ["one text", "other words", "third line"]])
def test_a_batch_may_have_a_single_text(texts):
    model = small(n_clusters=1, batch_size=2, epoch_steps=2).fit(texts)
    assert len(model.history_) == 5
    assert set(model.labels_) == {0}


@pytest.mark.parametrize(
    "options",
    [
        {"implementation": "official"},
        {"positives": "confidence"},
        {"positives": "none"},
        {"positives_by": "head"},
        {"n_neighbors": 0, "augmenter": "delete"},
    ],
    ids=str,
)
def test_every_option_finds_the_obvious_topics(topics, options):
    model = small(**options, guard="on", epoch_steps=4).fit(topics[0])
    assert adjusted_rand_score(topics[1], model.labels_) > 0.9
    np.testing.assert_array_equal(model.predict(topics[0]), model.labels_)


def test_it_cannot_be_its_own_init(topics):
    with pytest.raises(InputError, match="`init` is 'aecl'"):
        small(init="aecl").fit(topics[0])
