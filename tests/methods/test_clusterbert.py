import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

import coterie
from coterie.clustering.kmeans import kmeans_centers
from coterie.contracts import Batch, Corpus
from coterie.encoders.networks.linear import LinearNetwork
from coterie.encoders.transformer import TransformerEncoder
from coterie.errors import InputError, TrainingStopped
from coterie.evaluation.metrics import accuracy
from coterie.methods.clusterbert import ClusterBERT, ClusterBERTObjective
from coterie.methods.tsdae import TSDAE, TSDAEObjective
from coterie.objectives import pseudo_label

SHORT = {"n_clusters": 3, "epoch_steps": 4, "batch_size": 30}


def float32_encoder(folder, **options):
    return TransformerEncoder(model=str(folder), max_length=16, precision="float32", device="cpu", **options)


def make_objective(**options):
    torch.manual_seed(0)
    settings = ClusterBERT(**{"n_clusters": 3, "scale": 2.0} | options)
    return ClusterBERTObjective(settings, LinearNetwork(4, lambda items: items))


def make_corpus(n=24):
    generator = torch.Generator().manual_seed(2)
    labels = torch.arange(n) % 3
    h = 0.3 * torch.randn(n, 4, generator=generator) + 2 * torch.eye(3, 4)[labels]
    return Corpus(h.numpy(), h, torch.ones(n, dtype=torch.long), labels)


def initialized(**options):
    corpus, objective = make_corpus(), make_objective(**options)
    objective.initialize(corpus, 0)
    return objective, corpus


# -- the equations as slow loops


def predicted(objective, h):
    """Return the predictions of the head (B, K), Eq. 2, for scaled h."""
    linear = objective.classifier.layers[-1]
    weights, biases = linear.weight.tolist(), linear.bias.tolist()
    rows = []
    for z in (objective.hp.scale * h).tolist():
        logits = [sum(a * b for a, b in zip(z, w, strict=True)) + c for w, c in zip(weights, biases, strict=True)]
        rows.append([math.exp(x) / sum(math.exp(y) for y in logits) for x in logits])
    return np.array(rows)


@pytest.mark.parametrize(("stage", "weight"), [("cluster", 0.8), ("harden", 0.75)])
def test_the_loss_is_equation_4_on_the_texts_with_noise(stage, weight):
    objective, corpus = initialized()
    objective.eval()
    objective.targets.copy_(torch.rand(24, 3).softmax(dim=1))
    rows, noisy = torch.tensor([5, 2, 11]), torch.randn(3, 4)
    terms = getattr(objective, stage)(Batch(rows, corpus.h[rows], (noisy,)))
    p, q = predicted(objective, noisy), objective.targets[rows].numpy()
    cross_entropy = -sum(q[i, j] * math.log(p[i, j]) for i in range(3) for j in range(3)) / 3  # Eq. 3
    squared_error = sum(float(((noisy[i] - corpus.h[r]) ** 2).sum()) for i, r in enumerate(rows.tolist())) / 3
    assert list(terms) == ["cluster", "reconstruction"]
    assert terms["cluster"].item() == pytest.approx(weight * cross_entropy, rel=1e-5)
    assert terms["reconstruction"].item() == pytest.approx((1 - weight) * squared_error, rel=1e-5)


def test_hardened_targets_are_equation_5_of_predictions_without_noise():
    objective, corpus = initialized()
    objective.sharpen_targets(corpus, 0)
    p = predicted(objective, corpus.h)
    f = p.sum(axis=0)
    expected = [[p[i, j] ** 2 / f[j] / sum(p[i, k] ** 2 / f[k] for k in range(3)) for j in range(3)] for i in range(24)]
    np.testing.assert_allclose(objective.targets.numpy(), expected, rtol=1e-5)


def test_targets_do_not_change_during_an_epoch():
    objective, corpus = initialized()
    objective.sharpen_targets(corpus, 0)
    before = objective.targets.clone()
    terms = objective.harden(Batch(torch.arange(24), corpus.h, (corpus.h,)))
    sum(terms.values()).backward()
    assert torch.equal(objective.targets, before)
    assert not objective.targets.requires_grad


def test_without_reconstruction_the_decoder_is_not_used():
    objective, corpus = initialized(cluster_weight=1.0)
    objective.decoder = None
    assert list(objective.cluster(Batch(torch.arange(24), corpus.h, (corpus.h,)))) == ["cluster"]


# -- stages


def planned(epochs, **options):
    objective, _ = initialized(**options)
    return [(stage.name, stage.epochs) for stage in objective.stages(epochs)]


def test_the_second_stage_is_repeated_for_every_clustering():
    assert planned(8) == [("adapt", 1), ("cluster", 5), ("harden", 2)]
    assert planned(8, adapt_epochs=2, reclusterings=2) == [("adapt", 2), ("cluster", 2), ("cluster", 2), ("harden", 2)]
    assert planned(4, adapt_epochs=2) == [("adapt", 2), ("cluster", 1), ("harden", 1)]
    assert planned(3) == [("adapt", 1), ("cluster", 1), ("harden", 1)]
    assert planned(2) == [("adapt", 1), ("cluster", 1), ("harden", 0)]
    assert planned(1) == [("adapt", 1), ("cluster", 0), ("harden", 0)]
    assert planned(5, adapt_epochs=0, harden_epochs=0) == [("adapt", 0), ("cluster", 5), ("harden", 0)]


@pytest.mark.parametrize("pseudo_labels", ["init", "kmeans"])
def test_stage_2_uses_the_initial_labels_or_kmeans(pseudo_labels):
    corpus = make_corpus()
    wrong = torch.arange(24) // 8
    objective = make_objective(pseudo_labels=pseudo_labels)
    objective.initialize(Corpus(corpus.items, corpus.h, corpus.counts, wrong), 0)
    objective.stages(8)[1].before(corpus, 0)
    assert torch.equal(objective.targets.argmax(dim=1), objective.pseudo_labels)
    assert objective.targets.sum(dim=1).eq(1).all()
    if pseudo_labels == "init":
        assert torch.equal(objective.pseudo_labels, wrong)
    else:
        assert accuracy(corpus.labels.numpy(), objective.pseudo_labels.numpy()) == 1


@pytest.mark.parametrize("head_init", ["centers", "random"])
def test_the_head_starts_at_the_unit_means_of_the_clusters_or_at_random(head_init):
    objective, corpus = initialized(head_init=head_init)
    objective.stages(8)[1].before(corpus, 0)
    weight = objective.classifier.layers[-1].weight.detach()
    means = torch.stack([corpus.h[corpus.labels == k].mean(dim=0) for k in range(3)])
    expected = torch.nn.functional.normalize(means, dim=1)
    assert torch.allclose(weight, expected, atol=1e-5) == (head_init == "centers")
    if head_init == "centers":
        np.testing.assert_array_equal(predicted(objective, corpus.h).argmax(axis=1), corpus.labels)


def test_departure_new_labels_of_kmeans_get_the_numbers_that_the_head_predicts():
    objective, corpus = initialized(reclusterings=2)
    head = objective.classifier.layers[-1]
    head.weight.data.copy_(10 * torch.eye(3, 4)[[2, 0, 1]])  # predicts label + 1
    head.bias.data.zero_()
    objective.stages(8)[2].before(corpus, 0)
    assert torch.equal(objective.pseudo_labels, (corpus.labels + 1) % 3)
    assert torch.equal(objective.targets.argmax(dim=1), objective.pseudo_labels)


@pytest.mark.parametrize("seed", [0, 7])
def test_every_kmeans_gets_the_seed(monkeypatch, seed):
    objective, corpus = initialized(pseudo_labels="kmeans", reclusterings=2)
    seeds = []
    monkeypatch.setattr(
        pseudo_label, "kmeans_centers", lambda *_, seed, **options: seeds.append(seed) or corpus.means(3)
    )
    _, first, second, _ = objective.stages(8)
    first.before(corpus, seed)
    second.before(corpus, seed)
    assert seeds == [seed, seed]


def test_departure_the_head_sees_scaled_vectors():
    objective, corpus = initialized(scale=5.0)
    linear = objective.classifier.layers[-1].double()
    torch.testing.assert_close(objective.logits(corpus.h), linear(5.0 * corpus.h.double()))


def test_departure_the_decoder_is_that_of_tsdae():
    def decoder(cls, objective):
        return objective(cls(n_clusters=3), LinearNetwork(4, lambda items: items)).decoder

    assert type(decoder(ClusterBERT, ClusterBERTObjective)) is type(decoder(TSDAE, TSDAEObjective))
    assert TSDAE in ClusterBERT.mro()


# -- whole trainings


@pytest.fixture(scope="module")
def fitted(topics, tiny_bert):
    return ClusterBERT(encoder=float32_encoder(tiny_bert), trainable_layers=1, **SHORT).fit(topics[0])


def test_every_stage_has_its_terms_and_the_reconstruction_improves(fitted):
    assert [r["stage"] for r in fitted.history_] == ["adapt"] + ["cluster"] * 5 + ["harden"] * 2
    assert all("reconstruction" in r for r in fitted.history_)
    assert all(("cluster" in r) == (r["stage"] != "adapt") for r in fitted.history_)
    losses = [r["reconstruction"] / {"adapt": 1, "cluster": 0.2, "harden": 0.25}[r["stage"]] for r in fitted.history_]
    assert losses[-1] < losses[0]


def test_a_saved_model_has_no_decoder_and_predicts_the_same(fitted, topics, tmp_path):
    np.testing.assert_array_equal(fitted.predict(topics[0]), fitted.labels_)
    fitted.save(tmp_path / "model")
    saved = set(load_file(tmp_path / "model" / "weights.safetensors"))
    assert not [name for name in saved if name.split(".")[0] in ClusterBERTObjective.transient]
    assert "classifier.layers.0.weight" in saved
    np.testing.assert_array_equal(coterie.load(tmp_path / "model", allow=True).predict(topics[0]), fitted.labels_)


def test_the_head_may_assign(topics, tmp_path):
    model = ClusterBERT(encoder="tfidf", assign_by="head", guard="off", head_lr=1e-2, **SHORT).fit(topics[0])
    objective = model.objective_
    assert bool(objective.assign_by_head)
    h = torch.from_numpy(model.transform(topics[0]))
    expected = (objective.logits(h) + objective.classifier.offset).argmax(dim=1)
    np.testing.assert_array_equal(model.labels_, expected.numpy())
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(coterie.load(tmp_path / "model").predict(topics[0]), model.labels_)


def test_by_default_kmeans_assigns_also_at_the_end(topics):
    model = ClusterBERT(encoder="tfidf", guard="off", **SHORT).fit(topics[0])
    assert not bool(model.objective_.assign_by_head)


def test_a_resumed_training_ends_with_the_same_model(topics, tiny_bert, tmp_path, monkeypatch):
    def model(**options):
        return ClusterBERT(encoder=float32_encoder(tiny_bert), reclusterings=2, **SHORT | options)

    whole = model().fit(topics[0])
    calls, harden = [], ClusterBERTObjective.harden

    def stop_once(self, batch):
        calls.append(batch)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return harden(self, batch)

    monkeypatch.setattr(ClusterBERTObjective, "harden", stop_once)
    options = {"checkpoint": tmp_path / "run", "checkpoint_every": 1}
    with pytest.raises(TrainingStopped):
        model(**options).fit(topics[0])
    resumed = model(**options).fit(topics[0])
    np.testing.assert_array_equal(resumed.labels_, whole.labels_)
    np.testing.assert_array_equal(resumed.transform(topics[0]), whole.transform(topics[0]))


def test_noise_deletes_words_and_differs_in_every_epoch(topics, tiny_bert, monkeypatch):
    batches, adapt = [], ClusterBERTObjective.adapt
    monkeypatch.setattr(ClusterBERTObjective, "adapt", lambda self, batch: batches.append(batch) or adapt(self, batch))
    ClusterBERT(encoder=float32_encoder(tiny_bert), adapt_epochs=2, **SHORT | {"epochs": 2}).fit(topics[0])
    first = tokens_by_row(batches[:3])
    second = tokens_by_row(batches[4:7])
    n_original = {
        int(row): int(n) for batch in batches for row, n in zip(batch.rows, batch.original.lengths, strict=True)
    }
    n_words = [len(first[row]) - 2 for row in first]  # without [CLS] and [SEP]
    assert np.mean(n_words) == pytest.approx(0.4 * 5, abs=0.35)
    assert all(len(first[row]) <= n_original[row] for row in first)
    assert sum(first[row] != second.get(row) for row in first) > len(first) / 2


def tokens_by_row(batches):
    """Return the token ids of the noisy text of each row."""
    found = {}
    for batch in batches:
        view = batch.augmented[0]
        for row, ids in zip(batch.rows, torch.split(view.ids, view.lengths.tolist()), strict=True):
            found[int(row)] = tuple(ids.tolist())
    return found


def test_vectors_are_reconstructed_as_vectors():
    rng = np.random.default_rng(0)
    h = (rng.normal(size=(60, 6)) + 5 * np.eye(6)[np.arange(60) % 3]).astype(np.float32)
    model = ClusterBERT(encoder="precomputed", **SHORT).fit(h)
    assert accuracy(np.arange(60) % 3, model.labels_) == 1
    assert all("reconstruction" in record for record in model.history_)


def test_a_decoder_needs_a_layer(topics):
    with pytest.raises(InputError, match=r"`decoder_layers` must be .*>= 1"):
        ClusterBERT(n_clusters=3, decoder_layers=0).fit(topics[0])


@pytest.mark.parametrize("method", [TSDAEObjective, ClusterBERTObjective])
def test_the_final_kmeans_starts_from_the_labels_or_at_random(method):
    corpus = make_corpus()
    poor = replace(corpus, labels=torch.arange(24) // 8)

    def centers(restarts):
        objective = method(ClusterBERT(n_clusters=3, kmeans_restarts=restarts), LinearNetwork(4, lambda items: items))
        objective.initialize(poor, 0)
        objective.fit_assigner(replace(corpus, labels=None), 0)
        return objective.centers

    expected = kmeans_centers(corpus.h, corpus.counts, 3, seed=0, init=poor.means(3))
    torch.testing.assert_close(centers(0), expected)
    torch.testing.assert_close(centers(10), kmeans_centers(corpus.h, corpus.counts, 3, n_init=10, seed=0))
