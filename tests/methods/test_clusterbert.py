import math

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

import coterie
from coterie.benchmarks.recipes import published, read_recipe, recipe_for
from coterie.clusterer import METHODS
from coterie.contracts import Batch, Corpus
from coterie.encoders.linear import LinearNetwork
from coterie.encoders.transformer import TransformerEncoder
from coterie.errors import InputError, TrainingStopped
from coterie.evaluation.metrics import accuracy
from coterie.methods.clusterbert import ClusterBERT, ClusterBERTObjective

SHORT = {"n_clusters": 3, "epoch_steps": 4, "batch_size": 30}


def encoder_in(folder, **options):
    return TransformerEncoder(model=str(folder), max_length=16, precision="float32", device="cpu", **options)


def objective_of(**options):
    torch.manual_seed(0)
    settings = ClusterBERT(**{"n_clusters": 3, "scale": 2.0} | options)
    return ClusterBERTObjective(settings, LinearNetwork(4, lambda items: items))


def made_up_corpus(n=24, counts=None):
    generator = torch.Generator().manual_seed(2)
    labels = torch.arange(n) % 3
    h = 0.3 * torch.randn(n, 4, generator=generator) + 2 * torch.eye(3, 4)[labels]
    return Corpus(h.numpy(), h, torch.ones(n, dtype=torch.long) if counts is None else counts, labels)


def begun(**options):
    corpus, objective = made_up_corpus(), objective_of(**options)
    objective.start(corpus, 0)
    return objective, corpus


# -- the equations, as slow loops --------------------------------------------------------------------------


def said(objective, h):
    """Eq. 2, word for word."""
    linear = objective.classifier.layers[-1]
    rows = []
    for z in (objective.hp.scale * h).tolist():
        logits = [sum(a * b for a, b in zip(z, w, strict=True)) + c for w, c in zip(*_plain(linear), strict=True)]
        rows.append([math.exp(x) / sum(math.exp(y) for y in logits) for x in logits])
    return np.array(rows)


def _plain(linear):
    return linear.weight.tolist(), linear.bias.tolist()


@pytest.mark.parametrize(("stage", "weight"), [("cluster", 0.8), ("harden", 0.75)])
def test_the_loss_is_equation_4_on_the_perturbed_texts(stage, weight):
    objective, corpus = begun()
    objective.eval()
    objective.targets.copy_(torch.rand(24, 3).softmax(dim=1))
    rows, noised = torch.tensor([5, 2, 11]), torch.randn(3, 4)
    terms = getattr(objective, stage)(Batch(rows, corpus.h[rows], (noised,)))
    p, q = said(objective, noised), objective.targets[rows].numpy()
    entropy = -sum(q[i, j] * math.log(p[i, j]) for i in range(3) for j in range(3)) / 3  # Eq. 3
    apart = sum(float(((noised[i] - corpus.h[r]) ** 2).sum()) for i, r in enumerate(rows.tolist())) / 3
    assert list(terms) == ["cluster", "reconstruction"]
    assert terms["cluster"].item() == pytest.approx(weight * entropy, rel=1e-5)
    assert terms["reconstruction"].item() == pytest.approx((1 - weight) * apart, rel=1e-5)


def test_hardening_aims_at_clean_predictions_over_the_whole_corpus():
    objective, corpus = begun()
    objective.sharpen(corpus)
    p = said(objective, corpus.h)
    f = p.sum(axis=0)
    wanted = [[p[i, j] ** 2 / f[j] / sum(p[i, k] ** 2 / f[k] for k in range(3)) for j in range(3)] for i in range(24)]
    np.testing.assert_allclose(objective.targets.numpy(), wanted, rtol=1e-5)


def test_targets_stay_as_they_are_during_an_epoch():
    objective, corpus = begun()
    objective.sharpen(corpus)
    before = objective.targets.clone()
    terms = objective.harden(Batch(torch.arange(24), corpus.h, (corpus.h,)))
    sum(terms.values()).backward()
    assert torch.equal(objective.targets, before)
    assert not objective.targets.requires_grad


def test_without_reconstruction_the_decoder_is_not_asked():
    objective, corpus = begun(cluster_weight=1.0)
    objective.decoder = None
    assert list(objective.cluster(Batch(torch.arange(24), corpus.h, (corpus.h,)))) == ["cluster"]


# -- the plan ----------------------------------------------------------------------------------------------


def plan(epochs, **options):
    objective, _ = begun(**options)
    return [(stage.name, stage.epochs) for stage in objective.stages(epochs)]


def test_three_stages_the_second_once_for_every_clustering():
    assert plan(8) == [("adapt", 1), ("cluster", 5), ("harden", 2)]
    assert plan(8, adapt_epochs=2, reclusterings=2) == [("adapt", 2), ("cluster", 2), ("cluster", 2), ("harden", 2)]
    assert plan(4, adapt_epochs=2) == [("adapt", 2), ("cluster", 1), ("harden", 1)]
    assert plan(3) == [("adapt", 1), ("cluster", 1), ("harden", 1)]
    assert plan(2) == [("adapt", 1), ("cluster", 1), ("harden", 0)]
    assert plan(1) == [("adapt", 1), ("cluster", 0), ("harden", 0)]
    assert plan(5, adapt_epochs=0, harden_epochs=0) == [("adapt", 0), ("cluster", 5), ("harden", 0)]


def test_groups_are_those_of_the_start_or_of_k_means():
    corpus = made_up_corpus()
    wrong = torch.arange(24) // 8
    for first, changed in (("start", False), ("kmeans", True)):
        objective = objective_of(first_labels=first)
        objective.start(Corpus(corpus.items, corpus.h, corpus.counts, wrong), 0)
        objective.stages(8)[1].before(corpus)
        assert torch.equal(objective.groups, wrong) != changed
        assert torch.equal(objective.targets.argmax(dim=1), objective.groups)
        assert objective.targets.sum(dim=1).eq(1).all()
    assert accuracy(corpus.labels.numpy(), objective.groups.numpy()) == 1


@pytest.mark.parametrize("head_start", ["means", "random"])
def test_the_head_starts_at_the_means_of_the_groups_or_anywhere(head_start):
    objective, corpus = begun(head_start=head_start)
    objective.group(corpus)
    weight = objective.classifier.layers[-1].weight.detach()
    wanted = [corpus.h[corpus.labels == k].mean(dim=0) for k in range(3)]
    found = torch.stack([w / w.norm() for w in wanted])
    assert torch.allclose(weight, found, atol=1e-5) == (head_start == "means")
    right = (said(objective, corpus.h).argmax(axis=1) == corpus.labels.numpy()).mean()
    assert right == 1 or head_start == "random"


def test_new_groups_get_the_numbers_that_the_head_has_learnt():
    objective, corpus = begun(reclusterings=2)
    turned = (corpus.labels + 1) % 3  # what the head has learnt to say
    head = objective.classifier.layers[-1]
    head.weight.data.copy_(10 * torch.eye(3, 4)[[2, 0, 1]])
    head.bias.data.zero_()
    objective.stages(8)[2].before(corpus)
    assert torch.equal(objective.groups, turned)


# -- whole trainings ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted(topics, tiny_bert):
    return ClusterBERT(encoder=encoder_in(tiny_bert), trainable_layers=1, **SHORT).fit(topics[0])


def test_a_bert_is_trained_through_all_stages(fitted):
    assert [r["stage"] for r in fitted.history_] == ["adapt"] + ["cluster"] * 5 + ["harden"] * 2
    assert all("reconstruction" in r for r in fitted.history_)
    assert all(("cluster" in r) == (r["stage"] != "adapt") for r in fitted.history_)
    costs = [r["reconstruction"] / {"adapt": 1, "cluster": 0.2, "harden": 0.25}[r["stage"]] for r in fitted.history_]
    assert costs[-1] < costs[0]


def test_training_texts_keep_their_labels_and_the_decoder_is_not_saved(fitted, topics, tmp_path):
    np.testing.assert_array_equal(fitted.predict(topics[0]), fitted.labels_)
    fitted.save(tmp_path / "model")
    kept = set(load_file(tmp_path / "model" / "weights.safetensors"))
    assert not [name for name in kept if name.split(".")[0] in ("decoder", "targets", "groups")]
    assert "classifier.layers.0.weight" in kept
    np.testing.assert_array_equal(coterie.load(tmp_path / "model").predict(topics[0]), fitted.labels_)


def test_the_head_may_file_texts(topics, tmp_path):
    model = ClusterBERT(encoder="tfidf", assign_by="head", guard="off", head_lr=1e-2, **SHORT).fit(topics[0])
    objective = model.objective_
    assert bool(objective.by_classifier)
    h = torch.from_numpy(model.transform(topics[0]))
    wanted = (objective.logits(h) + objective.classifier.offset).argmax(dim=1)
    np.testing.assert_array_equal(model.labels_, wanted.numpy())
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(coterie.load(tmp_path / "model").predict(topics[0]), model.labels_)


def test_by_default_k_means_files_texts_to_the_end(topics):
    model = ClusterBERT(encoder="tfidf", guard="off", **SHORT).fit(topics[0])
    assert not bool(model.objective_.by_classifier)


def test_a_stopped_training_goes_on_to_the_same_result(topics, tiny_bert, tmp_path, monkeypatch):
    def model(**options):
        return ClusterBERT(encoder=encoder_in(tiny_bert), reclusterings=2, **SHORT | options)

    whole = model().fit(topics[0])
    asked, real = [], ClusterBERTObjective.harden

    def stop_once(self, batch):
        asked.append(1)
        if len(asked) == 6:
            raise KeyboardInterrupt
        return real(self, batch)

    monkeypatch.setattr(ClusterBERTObjective, "harden", stop_once)
    place = {"checkpoint": tmp_path / "run", "checkpoint_every": 1}
    with pytest.raises(TrainingStopped):
        model(**place).fit(topics[0])
    again = model(**place).fit(topics[0])
    np.testing.assert_array_equal(again.labels_, whole.labels_)
    np.testing.assert_array_equal(again.transform(topics[0]), whole.transform(topics[0]))


def test_noise_deletes_words_and_is_other_in_every_epoch(topics, tiny_bert):
    model = ClusterBERT(encoder=encoder_in(tiny_bert), adapt_epochs=2, **SHORT)
    seen = []
    real = ClusterBERTObjective.adapt
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClusterBERTObjective, "adapt", lambda self, batch: seen.append(batch) or real(self, batch))
        model.set_params(epochs=2).fit(topics[0])
    first, second = (
        {int(row): tuple(part.tolist()) for batch in half for row, part in zip(batch.rows, _texts(batch), strict=True)}
        for half in (seen[:3], seen[4:7])
    )
    original = {int(row): int(n) for batch in seen for row, n in zip(batch.rows, batch.original.lengths, strict=True)}
    assert np.mean([len(first[row]) - 2 for row in first]) == pytest.approx(0.4 * 5, abs=0.35)
    assert all(len(first[row]) <= original[row] for row in first)
    assert sum(first[row] != second.get(row) for row in first) > len(first) / 2


def _texts(batch):
    return torch.split(batch.augmented[0].ids, batch.augmented[0].lengths.tolist())


def test_vectors_are_trained_too_and_reconstructed_as_vectors():
    rng = np.random.default_rng(0)
    h = (rng.normal(size=(60, 6)) + 5 * np.eye(6)[np.arange(60) % 3]).astype(np.float32)
    model = ClusterBERT(encoder="precomputed", **SHORT).fit(h)
    assert accuracy(np.arange(60) % 3, model.labels_) == 1
    assert all("reconstruction" in record for record in model.history_)


def test_a_decoder_has_a_layer_at_least(topics):
    with pytest.raises(InputError, match="`decoder_layers` must be a whole number or none and >= 1"):
        ClusterBERT(n_clusters=3, decoder_layers=0).fit(topics[0])


# -- recipes -----------------------------------------------------------------------------------------------


def test_recipes_follow_the_paper():
    settings = recipe_for("clusterbert", "agnews", "paper").settings
    model = METHODS["clusterbert"](**settings)
    assert (model.batch_size, model.encoder_lr, model.head_lr, model.schedule) == (8, 2e-5, 2e-5, "constant")
    assert (model.adapt_epochs, model.harden_epochs, model.cluster_weight, model.harden_weight) == (2, 2, 0.8, 0.75)
    assert (model.trainable_layers, model.guard, model.init, model.first_labels) == (None, "off", "kmeans", "kmeans")
    assert model.augmenter == "delete"
    assert not read_recipe("clusterbert", "cpu").settings  # ours are the defaults of the class
    assert not read_recipe("tsdae", "cpu").settings
    ablated = recipe_for("clusterbert", "agnews", "cpu", "no-reconstruction").settings
    assert ablated == {"cluster_weight": 1, "harden_weight": 1}


@pytest.mark.parametrize(
    ("method", "dataset", "acc", "nmi"),
    [("clusterbert", "stackoverflow", 79.9, 75.6), ("clusterbert", "bbc", 87.8, 67.9), ("tsdae", "agnews", 86.2, 62.9)],
)
def test_published_scores_are_those_of_table_2(method, dataset, acc, nmi):
    score = published(method, dataset)
    assert (score.acc, score.nmi) == (acc, nmi)
    assert score.source.startswith("ClusterBERT, Table 2")
