from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from aecl_reference import distinct, make_corpus, small

from coterie.clustering.kmeans import kmeans_centers
from coterie.contracts import Network
from coterie.losses.entropy import balance_weight_for
from coterie.methods.aecl import AECL, AECLObjective
from coterie.methods.neighbors import Neighbors

# -- lengths of the stages, and the weight of the balance


def planned(epochs, corpus=None, **options):
    """Return the number of epochs of each stage, and λ4."""
    corpus = corpus or make_corpus(n_clusters=options.get("n_clusters", 3))
    objective = AECLObjective(AECL(**{"n_clusters": 3} | options), Network(8))
    objective.initialize(corpus, 0)
    stages = objective.stages(epochs)
    assert [stage.name for stage in stages] == ["contrast", "pseudo-label", "refine"]
    return tuple(stage.epochs for stage in stages), objective.lambda_4


def test_by_default_stage_1_has_25_steps_and_stage_2_has_50_or_125_for_many_clusters():
    assert planned(8)[0] == (1, 2, 5)
    assert planned(8, make_corpus(200, 49), n_clusters=49)[0] == (1, 2, 5)
    assert planned(8, make_corpus(200, 50), n_clusters=50)[0] == (1, 5, 2)
    assert planned(70, epoch_steps=10)[0] == (3, 5, 62)
    assert planned(70, epoch_steps=100)[0] == (1, 1, 68)


def test_without_epoch_steps_a_smaller_corpus_gets_more_epochs():
    assert planned(70, make_corpus(60), epoch_steps=None, batch_size=20)[0] == (9, 17, 44)
    assert planned(70, make_corpus(600), epoch_steps=None, batch_size=20)[0] == (1, 2, 67)


@pytest.mark.parametrize(
    ("e_1", "e_2", "epochs", "lengths"),
    [(2, 3, 8, (2, 3, 3)), (0, 3, 8, (0, 3, 5)), (2, 0, 8, (2, 0, 6)), (0, 0, 4, (0, 0, 4)),
     (2, 3, 4, (2, 2, 0)), (1000, 3, 4, (4, 0, 0)), (2, 3, 0, (0, 0, 0))],
)  # fmt: skip
def test_settings_override_the_rule_and_the_epochs_limit_the_stages(e_1, e_2, epochs, lengths):
    assert planned(epochs, contrast_epochs=e_1, pseudo_label_epochs=e_2)[0] == lengths


def test_by_default_the_balance_weight_depends_on_the_initial_cluster_sizes():
    balanced = make_corpus()
    imbalanced = replace(make_corpus(), labels=torch.tensor([0] * 20 + [1] * 6 + [2] * 4))
    assert planned(8, balanced)[1] == 10
    assert planned(8, imbalanced)[1] == balance_weight_for(torch.tensor([20, 6, 4])) < 0.2
    balanced_by_counts = replace(imbalanced, counts=torch.tensor([1] * 20 + [4] * 5 + [0] + [5] * 4))
    assert planned(8, balanced_by_counts)[1] == 10
    assert planned(8, imbalanced, balance_weight=0.0)[1] == 0
    assert planned(8, imbalanced, balance_weight=3.0)[1] == 3


# -- training


def states(model, texts):
    """Fit, and return the state before training and after every epoch."""
    found = []

    def callback(evaluation):
        objective = evaluation.objective
        found.append(
            {
                "stage": evaluation.record["stage"],
                "h": torch.tensor(evaluation.h),
                "pseudo_labels": objective.pseudo_labels.clone(),
                "head_trained": bool(objective.head_trained),
            }
        )

    model.fit(texts, callback=callback)
    return found


@pytest.mark.parametrize(
    ("options", "stages"),
    [
        ({}, ["contrast", "pseudo-label", "pseudo-label", "refine", "refine"]),
        ({"contrast_epochs": 0}, ["pseudo-label", "pseudo-label", "refine", "refine", "refine"]),
        ({"pseudo_label_epochs": 0}, ["contrast", "refine", "refine", "refine", "refine"]),
        ({"contrast_epochs": 1000}, ["contrast"] * 5),
    ],
)
def test_a_stage_has_its_terms_and_the_head_is_trained_from_stage_2(topics, options, stages):
    model = small(**options, epoch_steps=1)
    found = states(model, topics[0])
    terms = {"contrast": {"instance"}, "pseudo-label": {"instance", "pseudo_label"}}
    terms["refine"] = terms["pseudo-label"] | {"cluster", "entropy", "balance"}
    usual = {"stage", "epoch", "step", "seconds", "loss"}
    assert [record["stage"] for record in model.history_] == stages
    assert [set(record) - usual for record in model.history_] == [terms[stage] for stage in stages]
    assert [state["head_trained"] for state in found] == [False, *(stage != "contrast" for stage in stages)]
    untrained = small(epochs=0).fit(topics[0]).objective_.classifier.layers[-1].weight
    unchanged = torch.equal(model.objective_.classifier.layers[-1].weight, untrained)
    assert unchanged == (set(stages) == {"contrast"})


def test_the_losses_decrease(topics):
    model = small(contrast_epochs=2, pseudo_label_epochs=3, epochs=5, head_lr=3e-3)
    history = model.fit(topics[0]).history_
    assert history[1]["instance"] < history[0]["instance"]
    assert history[-1]["pseudo_label"] < 0.7 * history[2]["pseudo_label"]


# -- pseudo-labels


def kmeans_labels(h):
    mu = kmeans_centers(h, torch.ones(len(h), dtype=torch.long), 5, n_init=10, seed=0)
    return torch.cdist(h.double(), mu.double()).argmin(dim=1)


def test_pseudo_labels_are_the_initial_labels_to_the_end(topics):
    texts = distinct(topics)
    initial = Neighbors(n_clusters=5, encoder="tfidf").fit(texts).labels_
    for state in states(small(n_clusters=5, encoder_lr=0.02, epoch_steps=2), texts):
        np.testing.assert_array_equal(state["pseudo_labels"], initial)


def test_or_kmeans_computes_them_before_every_epoch_of_stage_1_and_before_stage_2(topics):
    options = {"n_clusters": 5, "pseudo_labels": "kmeans", "init": "neighbors", "encoder_lr": 0.02}
    found = states(small(**options, contrast_epochs=2, pseudo_label_epochs=2), distinct(topics))
    assert [state["stage"] for state in found] == [
        "init", "contrast", "contrast", "pseudo-label", "pseudo-label", "refine",
    ]  # fmt: skip
    for before, after in pairwise(found[:4]):
        assert torch.equal(after["pseudo_labels"], kmeans_labels(before["h"]))
    assert not torch.equal(found[3]["pseudo_labels"], found[0]["pseudo_labels"])
    assert all(torch.equal(state["pseudo_labels"], found[3]["pseudo_labels"]) for state in found[4:])


def test_without_stage_1_kmeans_computes_them_once(topics):
    options = {"n_clusters": 5, "pseudo_labels": "kmeans", "contrast_epochs": 0}
    found = states(small(**options, encoder_lr=0.02, epoch_steps=2), distinct(topics))
    assert all(torch.equal(state["pseudo_labels"], kmeans_labels(found[0]["h"])) for state in found[1:])
