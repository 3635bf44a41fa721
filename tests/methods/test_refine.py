"""refine: its two losses against loops, its pseudo-labels, and what it trains."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import coterie
from coterie.clusterer import METHODS
from coterie.contracts import Batch, Corpus, Objective
from coterie.encoders.encoder import make_encoder
from coterie.methods.refine import Refine, SmallNetwork
from coterie.training.optimizer import Optimizer


@pytest.fixture
def objective():
    """Return an objective on eight vectors of width four, in three clusters; the last two are not sure."""
    h = torch.from_numpy(np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32))
    model = Refine(n_clusters=3, encoder="precomputed", temperature=0.2, instance_weight=0.5, pseudo_label_weight=2.0)
    encoder = make_encoder("precomputed")
    encoder.fit(h.numpy())
    objective = model.build_objective(model.build_network(encoder)).eval()
    labels = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1])
    objective.initialize(Corpus(h.numpy(), h, torch.ones(8), labels=labels), seed=0)
    objective.sure[-2:] = False
    return objective, h


@pytest.mark.parametrize("negatives", ["other_clusters", "all"])
def test_both_terms_are_those_of_the_equation(objective, negatives):
    objective, h = objective
    rows = torch.tensor([0, 4, 5, 6])
    neighbors = torch.tensor([3, 1, 2, 7])
    objective.hp.negatives = negatives
    terms = objective.refine(Batch(rows, h[rows], (h[neighbors],), (neighbors,)))
    z = [F.normalize(v, dim=0) for v in (*h[rows], *h[neighbors])]
    labels = [0, 1, 2, 0, 0, 1, 2, 1]  # of the rows and of their neighbors
    instance = 0.0
    for i in range(8):
        other = (i + 4) % 8
        total = sum(
            math.exp(float(z[i] @ z[j]) / 0.2)
            for j in range(8)
            if j == other or (j != i and (negatives == "all" or labels[i] != labels[j]))
        )
        instance -= math.log(math.exp(float(z[i] @ z[other]) / 0.2) / total) / 8
    mu = [F.normalize(center, dim=0) for center in objective.mu.detach()]
    pseudo = 0.0
    for i, cluster in ((0, 0), (1, 1), (2, 2), (4, 0), (5, 1), (6, 2)):  # the fourth text is not sure
        logits = [math.exp(10 * float(z[i] @ center)) for center in mu]
        pseudo -= math.log(logits[cluster] / sum(logits)) / 6
    assert terms["instance"].item() == pytest.approx(0.5 * instance, rel=1e-4)
    assert terms["pseudo_label"].item() == pytest.approx(2 * pseudo, rel=1e-4)


def test_a_batch_without_a_sure_text_has_no_pseudo_label_term(objective):
    objective, h = objective
    rows = torch.tensor([6, 7])
    assert objective.refine(Batch(rows, h[rows], (h[rows],), (rows,))).keys() == {"instance"}


def test_pseudo_labels_are_those_of_a_mixture_that_starts_from_them(topics):
    texts = list(dict.fromkeys(topics[0]))
    untrained = coterie.Neighbors(n_clusters=3, encoder="tfidf").fit(texts)
    h = torch.from_numpy(untrained.transform(texts))
    model = Refine(n_clusters=3, encoder="tfidf")
    objective = model.build_objective(model.build_network(untrained.encoder_))
    labels = torch.from_numpy(untrained.labels_).clone()
    labels[:2] = (labels[:2] + 1) % 3
    corpus = Corpus(texts, h, torch.ones(len(texts)), labels=labels)
    objective.initialize(corpus, 0)
    objective.relabel(corpus, 0)
    np.testing.assert_array_equal(objective.pseudo_labels.numpy(), untrained.labels_)
    np.testing.assert_array_equal(objective.sure.numpy(), untrained.confidence_ > 0.9)


def test_an_encoder_without_layers_gets_a_small_network_at_the_rate_of_the_heads(topics):
    encoder = make_encoder("tfidf").fit(topics[0])
    model = Refine(n_clusters=3, encoder=encoder)
    network = model.build_network(encoder)
    assert isinstance(network, SmallNetwork)
    groups = Optimizer(
        model.build_objective(network), encoder_lr=1.0, head_lr=2.0, schedule="constant", max_grad_norm=None
    ).adam.param_groups
    assert model.build_objective(network).max_loss == 0.05
    rates = {id(weight): group["lr"] for group in groups for weight in group["params"]}
    assert {rates[id(weight)] for weight in network.parameters()} == {2.0}


def test_trained_layers_may_cost_more_of_the_score_of_the_guard(tiny_bert):
    encoder = make_encoder(f"transformer:{tiny_bert}")
    model = Refine(n_clusters=3, encoder=encoder, trainable_layers=1)
    assert model.build_objective(model.build_network(encoder)).max_loss == 0.1 > Objective.max_loss == 0


CLOSABLE = [name for name, cls in METHODS.items() if hasattr(cls, "guard") and name not in ("dec", "idec", "selftrain")]


@pytest.mark.parametrize("name", CLOSABLE)
def test_a_training_closed_by_the_mixture_predicts_its_labels_also_when_loaded(name, topics, tmp_path):
    texts, new = topics[0], ["the goalkeeper saved the penalty", "bank price stock"]
    model = METHODS[name](
        n_clusters=3, encoder="tfidf", assign_by="mixture", guard="off", epochs=2, epoch_steps=2, init="kmeans"
    ).fit(texts)
    assert model.objective_.final.assigned_by == "mixture"
    np.testing.assert_array_equal(model.predict(texts), model.labels_)
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(texts), model.labels_)
    np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))
