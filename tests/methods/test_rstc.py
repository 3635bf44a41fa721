import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from sklearn.metrics import adjusted_rand_score

import coterie
from coterie.benchmarks.jobs import PAPER_SETS
from coterie.benchmarks.recipes import published, read_recipe, recipe_for
from coterie.contracts import Batch, Corpus, Network
from coterie.data.datasets import SOURCES
from coterie.errors import InputError, TrainingStopped
from coterie.heads.centers import kmeans_centers
from coterie.losses.transport import adaptive_transport
from coterie.methods.neighbours import Neighbours
from coterie.methods.rstc import RSTC, RSTCObjective

# -- the equations, as slow loops


def directional_loss(z_1, z_2, tau):
    """The mean over texts of how hard their second view is to find from the first, as the release sums it up."""

    def cosine(x, y):
        return float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)))

    total = 0.0
    for i in range(len(z_1)):
        positive = math.exp(cosine(z_1[i], z_2[i]) / tau)
        others = [j for j in range(len(z_1)) if j != i]
        negative = sum(math.exp(cosine(z_1[i], z[j]) / tau) for z in (z_1, z_2) for j in others)
        total -= math.log(positive / (positive + negative))
    return total / len(z_1)


def instance_loss(z_1, z_2, tau):
    return directional_loss(z_1, z_2, tau) + directional_loss(z_2, z_1, tau)


def cross_entropy(logits, y):
    total = 0.0
    for row, label in zip(logits, y, strict=True):
        total -= math.log(math.exp(row[label]) / sum(math.exp(x) for x in row))
    return total / len(y)


def predicted_by(objective, h, scale):
    """What P says of h, without dropout: the layers by hand."""
    x = scale * h.double()
    for linear in (layer for layer in objective.classifier.layers if isinstance(layer, torch.nn.Linear)):
        x = x @ linear.weight.detach().double().T + linear.bias.detach().double()
        x = x.clamp_min(0) if linear.out_features != objective.hp.n_clusters else x
    return x.numpy()


SETTINGS = {"n_clusters": 3, "instance_weight": 7.0, "temperature": 0.4, "scale": 2.0, "balance_weight": 0.3}


def objective_of(**options):
    torch.manual_seed(0)
    return RSTCObjective(RSTC(**SETTINGS | options), Network(4))


def made_up_corpus(n=30):
    generator = torch.Generator().manual_seed(2)
    labels = torch.arange(n) % 3
    h = 0.5 * torch.randn(n, 4, generator=generator) + 2 * torch.eye(3, 4)[labels]
    return Corpus(h.numpy(), h, torch.ones(n, dtype=torch.long), labels)


def started(**options):
    objective, corpus = objective_of(**options), made_up_corpus()
    objective.start(corpus, 0)
    return objective, corpus


def made_up_batch():
    h, h_1, h_2 = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(1))
    return Batch(torch.tensor([4, 0, 2, 11, 7, 9]), h, (h_1, h_2))


def values(terms):
    return {name: term.detach().item() for name, term in terms.items()}


def test_the_loss_is_its_equation():
    objective, corpus = started()
    objective.eval()
    batch = made_up_batch()
    terms = values(objective.joint(batch))
    assert terms.keys() == {"instance", "pseudo_label"}
    with torch.no_grad():
        z_1, z_2 = (objective.g(h).double().numpy() for h in batch.augmented)
    assert terms["instance"] == pytest.approx(7.0 * instance_loss(z_1, z_2, 0.4), rel=1e-4)
    y = corpus.labels[batch.rows].tolist()
    logits_1, logits_2 = (predicted_by(objective, h, 2.0) for h in batch.augmented)
    assert terms["pseudo_label"] == pytest.approx(cross_entropy(logits_1, y) + cross_entropy(logits_2, y), rel=1e-4)


def test_the_instance_loss_alone_is_its_part_of_the_loss():
    objective, _ = started()
    batch = made_up_batch()
    assert values(objective.contrast(batch)) == pytest.approx({"instance": values(objective.joint(batch))["instance"]})


def test_the_instance_loss_of_views_that_are_all_alike_is_known():
    objective, _ = started(instance_weight=1.0)
    alike = torch.ones(6, 4)
    loss = values(objective.contrast(Batch(torch.arange(6), alike, (alike, alike))))["instance"]
    assert loss == pytest.approx(2 * math.log(11), rel=1e-5)


def test_dropout_is_on_where_labels_are_learnt():
    objective, _ = started()
    batch = made_up_batch()
    torch.manual_seed(5)
    one = values(objective.joint(batch))
    two = values(objective.joint(batch))
    assert one["instance"] == two["instance"]
    assert one["pseudo_label"] != two["pseudo_label"]


def test_gradients_reach_both_heads_and_each_loss_its_own():
    objective, _ = started()
    sum(objective.joint(made_up_batch()).values()).backward()
    learnt = [*objective.g.parameters(), *objective.classifier.parameters()]
    assert len(learnt) == 4 + 6
    assert all(weight.grad is not None and weight.grad.abs().sum() > 0 for weight in learnt)
    objective, _ = started()
    objective.contrast(made_up_batch())["instance"].backward()
    assert all(weight.grad is None for weight in objective.classifier.parameters())
    objective.joint(made_up_batch())["pseudo_label"].backward()
    assert all(weight.grad.abs().sum() > 0 for weight in objective.classifier.parameters())


def test_both_views_are_taught():
    objective, _ = started()
    objective.eval()
    batch = made_up_batch()
    views = [h.clone().requires_grad_() for h in batch.augmented]
    objective.joint(Batch(batch.rows, batch.original, tuple(views)))["pseudo_label"].backward()
    assert all(h.grad.abs().sum() > 1e-4 for h in views)


# -- stages


@pytest.mark.parametrize(
    ("contrast", "warm_up", "epochs", "lengths"),
    [(0, 3, 8, (0, 3, 5)), (2, 3, 8, (2, 3, 3)), (0, 0, 4, (0, 0, 4)), (0, 3, 2, (0, 2, 0)), (5, 3, 4, (4, 0, 0))],
)
def test_the_plan_is_contrast_then_the_first_groups_then_transport(contrast, warm_up, epochs, lengths):
    stages = objective_of(contrast_epochs=contrast, warm_up=warm_up).stages(epochs)
    assert [stage.name for stage in stages] == ["contrast", "warm-up", "transport"]
    assert tuple(stage.epochs for stage in stages) == lengths
    assert (stages[1].before is not None) == (contrast > 0)


def small(**options):
    defaults = {"n_clusters": 3, "encoder": "tfidf", "epoch_steps": 4, "encoder_lr": 1e-3, "tolerance": 0.0}
    return RSTC(**defaults | options)


def watched(model, texts):
    """Fit, and return what was seen before training and after every epoch."""
    seen = []

    def watch(evaluation):
        objective = evaluation.objective
        names = ("y", "groups", "predicted", "changed", "b", "by_classifier")
        kept = {name: getattr(objective, name).clone() for name in names}
        seen.append(kept | {"stage": evaluation.record["stage"], "h": torch.tensor(evaluation.h)})

    model.fit(texts, watch=watch)
    return seen


@pytest.fixture(scope="module")
def course(topics):
    """Two epochs of warm-up and three of transport, with groups that are not the obvious ones."""
    texts = list(dict.fromkeys(topics[0]))
    return texts, watched(small(n_clusters=5, warm_up=2, epochs=5, guard="off"), texts)


def test_the_warm_up_teaches_the_first_grouping_and_nothing_else(course):
    texts, seen = course
    first = Neighbours(n_clusters=5, encoder="tfidf").fit(texts).labels_
    assert [epoch["stage"] for epoch in seen] == ["start", "warm-up", "warm-up", *["transport"] * 3]
    for epoch in seen[:3]:
        np.testing.assert_array_equal(epoch["y"], first)
        assert (epoch["predicted"] == -1).all()
        assert float(epoch["changed"]) == 1
        assert not epoch["by_classifier"]


def test_after_it_labels_are_those_of_transport_over_all_texts(topics):
    objective, corpus = started(n_clusters=3, balance_weight=0.6, epsilon=0.2)
    objective.train()
    objective.relabel(corpus)
    logits = torch.from_numpy(predicted_by(objective, corpus.h, 2.0))  # without dropout, whatever mode it is in
    plan = adaptive_transport(logits.log_softmax(dim=1), epsilon=0.2, weight=0.6 / 3)
    assert objective.training
    assert torch.equal(objective.y, plan.labels)
    torch.testing.assert_close(objective.b, plan.b, atol=1e-4, rtol=0)
    assert torch.equal(objective.predicted, logits.argmax(dim=1))
    assert not torch.equal(plan.labels, corpus.labels)
    assert torch.equal(objective.groups, corpus.labels)


def test_labels_of_transport_are_what_is_learnt_then():
    objective, corpus = started()
    objective.eval()
    batch = made_up_batch()
    objective.relabel(corpus)
    y = objective.y[batch.rows].tolist()
    assert y != corpus.labels[batch.rows].tolist()
    logits = [predicted_by(objective, h, 2.0) for h in batch.augmented]
    expected = sum(cross_entropy(rows, y) for rows in logits)
    assert values(objective.joint(batch))["pseudo_label"] == pytest.approx(expected, rel=1e-4)


def test_every_epoch_of_transport_makes_its_labels_anew(course):
    _, seen = course
    for before, after in pairwise(seen[2:]):
        changed = (after["predicted"] != before["predicted"]).double().mean()
        assert float(after["changed"]) == float(changed)
        assert float(after["b"].sum()) == pytest.approx(1)
        assert not torch.equal(after["b"], before["b"])


@pytest.mark.parametrize("marginal", ["average", "multiplicative", "fixed"])
def test_other_ways_to_size_the_clusters_reach_the_transport(marginal):
    objective, corpus = started(marginal=marginal)
    objective.b.copy_(torch.tensor([0.2, 0.3, 0.5]))
    objective.relabel(corpus)
    log_p = torch.from_numpy(predicted_by(objective, corpus.h, 2.0)).log_softmax(dim=1)
    start = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    plan = adaptive_transport(log_p, epsilon=0.1, weight=0.1, b=start, marginal=marginal)
    torch.testing.assert_close(objective.b, plan.b, atol=1e-4, rtol=0)
    assert torch.equal(objective.y, plan.labels)


def test_after_contrast_alone_kmeans_groups_anew_from_the_first_groups():
    objective, corpus = started(contrast_epochs=1)
    objective.groups[:6] = objective.y[:6] = 0
    moved = Corpus(corpus.items, 2 * corpus.h + 0.1, corpus.counts, objective.groups.clone())
    _, warm_up, _ = objective.stages(3)
    warm_up.before(moved)
    mu = kmeans_centers(moved.h, moved.counts, 3, seed=0, start=moved.means(3))
    expected = torch.cdist(moved.h, mu).argmin(dim=1)
    assert torch.equal(objective.groups, expected)
    assert torch.equal(objective.y, expected)
    assert not torch.equal(expected, moved.labels)


@pytest.mark.parametrize("contrast_epochs", [0, 2])
def test_a_stage_minimises_its_terms(topics, contrast_epochs):
    history = small(contrast_epochs=contrast_epochs, warm_up=1, epochs=4, guard="off").fit(topics[0]).history_
    usual = {"stage", "epoch", "step", "seconds", "loss"}
    terms = [set(record) - usual for record in history]
    assert terms == [{"instance"}] * contrast_epochs + [{"instance", "pseudo_label"}] * (4 - contrast_epochs)


def test_the_loss_goes_down(topics):
    history = small(epochs=4, warm_up=4, epoch_steps=10, guard="off").fit(topics[0]).history_
    assert history[-1]["pseudo_label"] < 0.5 * history[0]["pseudo_label"]
    assert history[-1]["loss"] < history[0]["loss"]


# -- the end


def test_it_ends_when_few_texts_change_their_group():
    objective, corpus = started(tolerance=0.11)
    assert not objective.settled
    objective.relabel(corpus)
    assert not objective.settled  # there was nothing to compare with
    objective.predicted[:4] = (objective.predicted[:4] + 1) % 3
    objective.relabel(corpus)
    assert float(objective.changed) == pytest.approx(4 / 30)
    assert not objective.settled
    objective.predicted[:3] = (objective.predicted[:3] + 1) % 3
    objective.relabel(corpus)
    assert float(objective.changed) == pytest.approx(3 / 30)
    assert objective.settled


def test_the_release_s_one_percent_is_the_default():
    assert RSTC().tolerance == 0.01


def test_without_a_tolerance_it_goes_on():
    objective, corpus = started(tolerance=0.0)
    for _ in range(3):
        objective.relabel(corpus)
    assert float(objective.changed) == 0
    assert not objective.settled


def test_training_ends_with_the_epoch_that_found_its_labels_settled(topics):
    options = {"epochs": 9, "warm_up": 2, "head_lr": 0.0, "encoder_lr": 0.0, "guard": "off"}  # nothing can change
    assert len(small(**options, tolerance=0.01).fit(topics[0]).history_) == 4
    assert len(small(**options, tolerance=0.0).fit(topics[0]).history_) == 9


def stopping_at(epoch):
    def watch(evaluation):
        if evaluation.record["step"] == 4 * epoch and evaluation.record["stage"] != "start":
            raise KeyboardInterrupt

    return watch


SETTLING = {"epochs": 9, "warm_up": 2, "tolerance": 0.2, "n_clusters": 5}


@pytest.fixture(scope="module")
def undisturbed(topics):
    model = small(**SETTLING).fit(topics[0])
    assert len(model.history_) == 4
    return model


@pytest.mark.parametrize("epoch", [1, 2, 3, 4])
def test_resumed_it_ends_with_the_same_model_at_the_same_point(topics, undisturbed, tmp_path, epoch):
    options = {"checkpoint": tmp_path / "run.checkpoint", "checkpoint_every": 3}
    with pytest.raises(TrainingStopped):
        small(**SETTLING, **options).fit(topics[0], watch=stopping_at(epoch))
    stages = []
    again = small(**SETTLING, **options).fit(topics[0], watch=lambda e: stages.append(e.record["stage"]))
    assert "start" not in stages  # it went on
    for name, value in undisturbed.objective_.state_dict().items():
        assert torch.equal(value, again.objective_.state_dict()[name]), name
    assert [record["loss"] for record in again.history_] == [record["loss"] for record in undisturbed.history_]
    assert again.guard_ == undisturbed.guard_
    np.testing.assert_array_equal(again.labels_, undisturbed.labels_)


# -- who files texts


def test_before_transport_texts_are_filed_by_the_nearest_mean_of_kmeans_from_the_groups(topics):
    texts = list(dict.fromkeys(topics[0]))
    model = small(n_clusters=5, epochs=2, warm_up=2, guard="off").fit(texts)
    assert not model.objective_.by_classifier
    h = torch.from_numpy(model.transform(texts))
    corpus = Corpus(texts, h, torch.ones(len(h), dtype=torch.long), model.objective_.groups)
    mu = kmeans_centers(h, corpus.counts, 5, seed=0, start=corpus.means(5))
    torch.testing.assert_close(torch.from_numpy(model.cluster_centers_), mu)
    np.testing.assert_array_equal(model.labels_, torch.cdist(h, mu).argmin(dim=1))


def test_without_epochs_it_is_the_first_grouping_closed_by_kmeans(topics):
    model = small(epochs=0).fit(topics[0])
    assert adjusted_rand_score(topics[1], model.labels_) > 0.9
    assert not model.objective_.by_classifier


@pytest.fixture(scope="module")
def taught(topics):
    model = small(epoch_steps=20, epochs=5, warm_up=3, guard="off").fit(topics[0])
    assert model.objective_.by_classifier
    return model


def test_after_transport_texts_are_filed_by_the_classifier(taught, topics):
    texts = topics[0][:20]
    logits = predicted_by(taught.objective_, torch.from_numpy(taught.transform(texts)), 20.0)
    q = torch.from_numpy(logits).softmax(dim=1).numpy()
    np.testing.assert_allclose(taught.predict_proba(texts), q, atol=1e-9)
    assert adjusted_rand_score(topics[1], taught.labels_) > 0.9


def test_centers_are_the_means_of_what_was_filed(taught, topics):
    texts = list(dict.fromkeys(topics[0]))
    h, labels = taught.transform(texts), taught.predict(texts)
    counts = np.array([topics[0].count(text) for text in texts])
    for k in range(3):
        mean = np.average(h[labels == k], axis=0, weights=counts[labels == k])
        np.testing.assert_allclose(taught.cluster_centers_[k], mean, atol=1e-5)


def test_a_classifier_that_misses_groups_does_not_file_texts():
    objective, corpus = started()
    objective.relabel(corpus)
    objective.y.zero_()  # transport may leave a group without a text; the first groups all have some
    with torch.no_grad():
        objective.classifier.layers[-1].bias += torch.tensor([50.0, 0.0, 0.0])  # everything is in the first
    objective.finish(corpus, 0)
    assert not objective.by_classifier
    q = objective.assign(corpus.h)
    torch.testing.assert_close(q, objective.nearest(corpus.h))
    assert len(q.argmax(dim=1).unique()) == 3
    assert torch.isfinite(objective.centers).all()


def test_the_classifier_files_texts_only_after_transport_even_if_it_reaches_all_groups():
    objective, corpus = started()
    objective.classifier.reach_all = lambda logits: True
    objective.finish(corpus, 0)
    assert not objective.by_classifier
    objective.relabel(corpus)
    objective.classifier.layers[-1].weight.data.zero_()
    objective.classifier.reach_all = lambda logits: False
    objective.finish(corpus, 0)
    assert not objective.by_classifier


def test_one_group_that_the_classifier_misses_is_raised(topics):
    corpus = made_up_corpus(60)
    corpus = Corpus(corpus.items, corpus.h, corpus.counts, torch.arange(60) % 12)
    torch.manual_seed(0)
    objective = RSTCObjective(RSTC(n_clusters=12), Network(4))
    objective.start(corpus, 0)
    objective.begin_to_teach(corpus)
    logits = torch.rand(60, 12, dtype=torch.float64) + 4 * torch.eye(12)[corpus.labels]
    logits[:, 7] -= 6
    objective.logits = lambda h: logits
    objective.finish(corpus, 0)
    assert objective.by_classifier
    labels = objective.assign(corpus.h).argmax(dim=1)
    assert len(labels.unique()) == 12
    means = torch.stack([corpus.h[labels == k].mean(dim=0) for k in range(12)])
    torch.testing.assert_close(objective.centers, means, atol=1e-5, rtol=0)


def test_an_answer_does_not_depend_on_the_other_texts(taught, topics):
    together = taught.predict_proba(topics[0])
    alone = np.concatenate([taught.predict_proba([text]) for text in topics[0][:20]])
    np.testing.assert_allclose(alone, together[:20], atol=1e-12)


def test_a_saved_model_leaves_out_what_only_training_needs(taught, topics, tmp_path):
    taught.save(tmp_path / "model")
    kept = load_file(tmp_path / "model" / "weights.safetensors")
    left_out = set(taught.objective_.state_dict()) - set(kept)
    head = {f"g.{layer}.{part}" for layer in (0, 2) for part in ("weight", "bias")}
    assert left_out == {"groups", "taught", "y", "predicted", "changed", "b"} | head
    assert {"by_classifier", "classifier.offset", "nearest.mu", "nearest.scale"} <= set(kept)
    loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(topics[0]), taught.predict_proba(topics[0]))
    np.testing.assert_array_equal(loaded.predict(topics[0]), taught.labels_)
    np.testing.assert_array_equal(loaded.cluster_centers_, taught.cluster_centers_)


def test_a_model_that_the_nearest_mean_files_by_answers_equally_after_save_and_load(topics, tmp_path):
    model = small(epochs=1, warm_up=1).fit(topics[0])
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    assert not loaded.objective_.by_classifier
    np.testing.assert_array_equal(loaded.predict(topics[0]), model.labels_)
    np.testing.assert_array_equal(loaded.predict_proba(topics[0]), model.predict_proba(topics[0]))


@pytest.mark.parametrize("options", [{"n_clusters": 1}, {"n_clusters": 1, "marginal": "average"}, {"n_clusters": 2}])
def test_one_cluster_or_two_are_possible(topics, options):
    model = small(**options, epochs=3, warm_up=1, guard="off").fit(topics[0])
    assert set(model.labels_) == set(range(options["n_clusters"]))
    assert np.isfinite(model.cluster_centers_).all()


@pytest.mark.parametrize("init", ["kmeans", "neighbours"])
def test_it_starts_from_the_groups_of_another_method(topics, init):
    texts = list(dict.fromkeys(topics[0]))
    model = small(init=init, epochs=0, n_clusters=7).fit(texts)
    first = {"kmeans": coterie.KMeans, "neighbours": Neighbours}[init](n_clusters=7, encoder="tfidf").fit(texts)
    np.testing.assert_array_equal(model.objective_.y, first.labels_)


def test_it_is_no_start_itself(topics):
    with pytest.raises(InputError, match="`init` is 'rstc', which trains an encoder itself"):
        small(init="rstc").fit(topics[0])


def test_watching_changes_nothing(topics):
    one = small(epochs=4, warm_up=1, guard="off").fit(topics[0])
    other = small(epochs=4, warm_up=1, guard="off").fit(topics[0], watch=lambda _: None)
    for name, value in one.objective_.state_dict().items():
        assert torch.equal(value, other.objective_.state_dict()[name]), name


# -- recipes


def test_the_recipes_follow_the_release_and_the_table_of_scores():
    settings = {name: recipe_for("rstc", name, "paper").settings for name in PAPER_SETS}
    for name, e2, lam, before in [
        ("agnews", 1, 10, 12), ("searchsnippets", 0.1, 10, 12), ("stackoverflow", 1, 10, 0), ("biomedical", 1, 10, 0),
        ("googlenews-ts", 0.1, 100, 12), ("googlenews-t", 0.1, 100, 12), ("googlenews-s", 0.1, 100, 12),
        ("tweet", 0.1, 100, 0),
    ]:  # fmt: skip
        assert settings[name]["balance_weight"] == pytest.approx(SOURCES[name].n_clusters * e2 / lam), name
        assert settings[name]["contrast_epochs"] * settings[name]["epoch_steps"] == 50 * before, name
        assert settings[name]["epochs"] * settings[name]["epoch_steps"] == 3000, name
        assert published("rstc", name).source == "AECL, Table 2"
    assert (published("rstc", "tweet").acc, published("rstc", "googlenews-ts").nmi) == (77.75, 92.62)
    assert published("rstc", "helpdesk") is None
    assert all(read_recipe("rstc", name).departures for name in ("default", "cpu"))
