import numpy as np
import pytest
import torch
from sccl_reference import soft_assignment

import coterie
from coterie.augmenters.augmenter import make_augmenter
from coterie.clustering.kmeans import kmeans_centers
from coterie.contracts import Batch, Corpus, Network
from coterie.encoders.encoder import make_encoder
from coterie.errors import InputError
from coterie.methods.neighbors import Neighbors
from coterie.methods.sccl import SCCL, SCCLObjective


def small(**options):
    defaults = {"n_clusters": 3, "encoder": "tfidf", "epochs": 4, "encoder_lr": 1e-3, "guard": "off"}
    return SCCL(**defaults | options)


# -- plans


@pytest.mark.parametrize(
    ("plan", "epochs", "stages"),
    [
        ("joint", 3, [("joint", 3)]),
        ("instance", 3, [("instance", 3)]),
        ("cluster", 3, [("cluster", 3)]),
        ("sequential", 5, [("instance", 2), ("cluster", 3)]),
        ("sequential", 4, [("instance", 2), ("cluster", 2)]),
    ],
)
def test_a_plan_has_its_stages(plan, epochs, stages):
    objective = SCCLObjective(SCCL(plan=plan), Network(4))
    assert [(stage.name, stage.epochs) for stage in objective.stages(epochs)] == stages


@pytest.mark.parametrize(
    ("plan", "terms"),
    [
        ("joint", [{"instance", "cluster"}] * 4),
        ("instance", [{"instance"}] * 4),
        ("cluster", [{"cluster"}] * 4),
        ("sequential", [{"instance"}] * 2 + [{"cluster"}] * 2),
    ],
)
def test_a_plan_minimizes_its_terms(topics, plan, terms):
    model = small(plan=plan).fit(topics[0])
    usual = {"stage", "epoch", "step", "seconds", "loss", "guard"}
    assert [set(record) - usual for record in model.history_] == terms
    untrained = small(epochs=0).fit(topics[0]).objective_
    assert torch.equal(model.objective_.mu, untrained.mu) == (plan == "instance")
    assert torch.equal(model.objective_.g[0].weight, untrained.g[0].weight) == (plan == "cluster")


def test_the_sequential_plan_clusters_also_when_max_steps_ends_the_training_early(topics):
    history = small(plan="sequential", epochs=1000, epoch_steps=3, max_steps=10).fit(topics[0]).history_
    steps = {record["stage"]: record["step"] for record in history}
    assert list(steps) == ["instance", "cluster"]
    assert steps["cluster"] == 10
    assert steps["instance"] < 10


def test_the_sequential_plan_refuses_a_single_epoch(topics):
    with pytest.raises(InputError, match="needs two epochs"):
        small(plan="sequential", epochs=1).fit(topics[0])


@pytest.mark.parametrize(("cluster_loss", "n_encoded"), [("original", 1), ("crossed", 3), ("shared", 3)])
def test_the_cluster_plan_encodes_what_its_loss_needs(cluster_loss, n_encoded):
    class Counting(Network):
        def forward(self, *views):
            self.n_encoded = len(views)
            return super().forward(*views)

    objective = SCCLObjective(SCCL(plan="cluster", cluster_loss=cluster_loss, n_clusters=3), Counting(4))
    h, h_1, h_2 = torch.randn(3, 6, 4)
    objective.cluster(Batch(torch.arange(6), h, (h_1, h_2)))
    assert objective.network.n_encoded == n_encoded
    assert objective.n_augmented == (0 if n_encoded == 1 else 2)  # views that nobody uses are not made either


@pytest.mark.parametrize("plan", ["joint", "instance"])
def test_the_loss_decreases(topics, plan):
    history = small(plan=plan, epochs=12, head_lr=3e-3).fit(topics[0]).history_
    assert history[-1]["loss"] < history[0]["loss"]


def test_the_cluster_loss_increases_the_confidence(topics):
    before, after = (small(plan="cluster", assign_by="q", epochs=n, head_lr=0.01).fit(topics[0]) for n in (0, 12))
    assert after.confidence_.mean() > before.confidence_.mean() + 0.01


def test_between_the_stages_of_the_sequential_plan_kmeans_moves_the_centers():
    torch.manual_seed(0)
    objective = SCCLObjective(SCCL(plan="sequential", n_clusters=3), Network(4))
    objective.mu.data.copy_(torch.randn(3, 4))
    h = torch.cat([torch.randn(10, 4) * 0.1 + center for center in (0, 3, 6)])
    corpus = Corpus(h.numpy(), h, torch.ones(30, dtype=torch.long))
    before = objective.mu.detach().clone()
    _, second = objective.stages(2)
    second.before(corpus, 0)
    expected = kmeans_centers(h, corpus.counts, 3, seed=0, init=before)
    torch.testing.assert_close(objective.mu.detach(), expected)
    assert not torch.equal(objective.mu, before)


# -- initial centers


@pytest.mark.parametrize("init", ["kmeans", "neighbors"])
def test_centers_start_as_the_means_of_the_initial_clusters(topics, init):
    texts = list(dict.fromkeys(topics[0]))
    model = small(init=init, epochs=0, assign_by="q", n_clusters=7).fit(texts)
    initial = {"kmeans": coterie.KMeans, "neighbors": Neighbors}[init](n_clusters=7, encoder="tfidf").fit(texts)
    h = initial.transform(texts)
    means = np.stack([h[initial.labels_ == k].mean(axis=0) for k in range(7)])
    np.testing.assert_allclose(model.cluster_centers_, means, atol=1e-6)


def test_means_weight_each_text_by_its_count():
    texts = ["red"] * 8 + ["red blue"] + ["green"] * 9
    model = small(init="kmeans", n_clusters=2, encoder="bow", epochs=0, assign_by="q").fit(texts)
    blue = model.cluster_centers_[model.labels_[0]][0]  # vocabulary: blue, green, red
    assert blue == pytest.approx(1 / 9)


def test_a_method_that_trains_an_encoder_is_refused_as_init(topics):
    with pytest.raises(InputError, match="`init` is 'sccl'"):
        small(init="sccl").fit(topics[0])


def test_an_unknown_init_is_refused(topics):
    with pytest.raises(InputError, match="no-such-method"):
        small(init="no-such-method").fit(topics[0])


# -- labels


@pytest.mark.parametrize("guard", ["on", "off"])
@pytest.mark.parametrize("assign_by", ["kmeans", "q"])
def test_training_texts_keep_their_labels_after_load(topics, tmp_path, assign_by, guard):
    texts = topics[0]
    model = small(assign_by=assign_by, guard=guard, encoder_lr=0.01, n_clusters=5).fit(texts)
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    for one in (model, loaded):
        np.testing.assert_array_equal(one.predict(texts), model.labels_)
        np.testing.assert_array_equal(one.predict_proba(texts), model.predict_proba(texts))
        np.testing.assert_array_equal(one.cluster_centers_, model.cluster_centers_)
    np.testing.assert_array_equal(model.predict_proba(texts).max(axis=1), model.confidence_)


def test_labels_by_q_are_the_largest_q_of_equation_3(topics):
    model = small(assign_by="q", scale=2.0, degrees_of_freedom=3.0).fit(topics[0])
    texts = topics[0][:15]
    h, mu = model.transform(texts).astype(float), model.cluster_centers_.astype(float)
    np.testing.assert_allclose(model.predict_proba(texts), soft_assignment(2.0 * h, 2.0 * mu, 3.0), atol=1e-6)
    one_by_one = np.concatenate([model.predict_proba([text]) for text in texts])
    np.testing.assert_allclose(one_by_one, model.predict_proba(texts), atol=1e-12)


def test_labels_by_kmeans_are_those_of_the_nearest_mean_of_the_trained_vectors(topics):
    model = small(assign_by="kmeans", encoder_lr=0.01, n_clusters=4).fit(topics[0])
    texts = list(dict.fromkeys(topics[0]))
    h, labels = model.transform(texts), model.predict(texts)
    counts = np.array([topics[0].count(text) for text in texts])
    for k in range(4):
        mean = np.average(h[labels == k], axis=0, weights=counts[labels == k])
        np.testing.assert_allclose(model.cluster_centers_[k], mean, atol=1e-4)
    untrained = coterie.KMeans(n_clusters=4, encoder="tfidf").fit(topics[0]).transform(texts)
    assert not np.allclose(h, untrained, atol=1e-3)


def test_departure_the_final_kmeans_starts_from_the_trained_centers(topics):
    model = small(assign_by="kmeans", encoder_lr=0.01, n_clusters=7).fit(topics[0])
    texts = list(dict.fromkeys(topics[0]))
    h = torch.from_numpy(model.transform(texts))
    counts = torch.tensor([topics[0].count(text) for text in texts])
    expected = kmeans_centers(h, counts, 7, seed=0, init=model.objective_.mu.detach())
    np.testing.assert_allclose(model.cluster_centers_, expected, atol=1e-5)


def test_vectors_are_trained_too():
    rng = np.random.default_rng(0)
    h = rng.normal(size=(60, 5)) + 3 * np.eye(5)[np.arange(60) % 3]
    model = small(encoder="precomputed").fit(h)
    np.testing.assert_array_equal(model.predict(h), model.labels_)
    assert not np.allclose(model.transform(h), h, atol=1e-4)


# -- settings of the training


def test_settings_changed_after_fit_change_nothing(topics):
    model = small(assign_by="q").fit(topics[0])
    before = model.predict_proba(topics[0])
    model.set_params(assign_by="kmeans", degrees_of_freedom=9.0)
    np.testing.assert_array_equal(model.predict_proba(topics[0]), before)


def test_a_wrong_type_of_augmenter_is_refused(topics):
    with pytest.raises(InputError, match="SCCL: `augmenter` must be"):
        small(augmenter=3).fit(topics[0])


def test_a_checkpoint_in_a_missing_folder_is_refused_before_training(topics, tmp_path):
    evaluations = []
    with pytest.raises(InputError, match="folder does not exist"):
        small(checkpoint=tmp_path / "missing" / "run").fit(topics[0], callback=evaluations.append)
    assert not evaluations


def test_views_of_neighbors_are_other_texts(topics):
    """The views of a text differ, so the instance loss is larger than for two copies of the text."""
    of_neighbors = small(n_neighbors=5).fit(topics[0]).history_[0]["instance"]
    of_itself = small(n_neighbors=0).fit(topics[0]).history_[0]["instance"]
    assert of_neighbors > of_itself


def test_the_settings_of_an_augmenter_are_saved(topics, tmp_path):
    model = small(augmenter=make_augmenter("chars:0.3"), epochs=1).fit(topics[0])
    model.save(tmp_path / "model")
    assert make_augmenter(coterie.load(tmp_path / "model").augmenter).params()["strength"] == 0.3


# -- with the bundled encoder


def bundled():
    return make_encoder("bundled(precision=float32)")


@pytest.fixture(scope="module")
def on_helpdesk(helpdesk):
    texts = helpdesk.texts[:48]
    options = {"epochs": 2, "batch_size": 24, "n_neighbors": 0, "guard": "off"}
    return texts, SCCL(n_clusters=4, encoder=bundled(), **options).fit(texts)


def test_the_loss_decreases_on_the_helpdesk_texts(on_helpdesk):
    _, model = on_helpdesk
    first, last = model.history_
    assert last["loss"] < first["loss"]
    assert last["instance"] < first["instance"]
    assert (first["step"], last["step"]) == (2, 4)
    assert len(set(model.labels_)) == 4


def test_a_saved_model_has_only_the_trained_layers(on_helpdesk, tmp_path):
    texts, model = on_helpdesk
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(texts), model.labels_)
    np.testing.assert_array_equal(loaded.predict_proba(texts[:9]), model.predict_proba(texts[:9]))
    size = (tmp_path / "model" / "weights.safetensors").stat().st_size
    trained = sum(weight.numel() * 4 for weight in model.objective_.parameters() if weight.requires_grad)
    whole = sum(weight.numel() * 4 for weight in model.objective_.parameters())
    assert trained < size < trained + 100_000
    assert size < 0.2 * whole


@pytest.mark.parametrize("trainable_layers", [0, None])
def test_no_layer_or_all_layers_of_the_encoder_may_be_trained(helpdesk, trainable_layers):
    texts = helpdesk.texts[:24]
    options = {"trainable_layers": trainable_layers, "max_steps": 1, "encoder_lr": 1e-3, "guard": "off"}
    model = SCCL(n_clusters=3, encoder=bundled(), **options).fit(texts)
    np.testing.assert_array_equal(model.predict(texts), model.labels_)
    untrained = model.encoder_.embed(texts)
    assert np.allclose(model.transform(texts), untrained, atol=1e-6) == (trainable_layers == 0)


def test_more_layers_than_the_encoder_has_are_refused(helpdesk):
    with pytest.raises(InputError, match="`trainable_layers` is 7"):
        SCCL(n_clusters=3, encoder=bundled(), trainable_layers=7).fit(helpdesk.texts[:24])


def test_the_final_kmeans_starts_from_the_centers_or_at_random():
    torch.manual_seed(0)
    h = torch.cat([torch.randn(20, 4) * 0.1 + 4 * center for center in torch.eye(3, 4)])
    corpus = Corpus(h.numpy(), h, torch.ones(60, dtype=torch.long))
    poor = torch.stack([h[0], h[1], h[20:].mean(dim=0)])  # k-means cannot leave this start: two in one group

    def centers(restarts):
        objective = SCCLObjective(SCCL(n_clusters=3, kmeans_restarts=restarts), Network(4))
        objective.mu.data.copy_(poor)
        objective.fit_assigner(corpus, 0)
        return objective.centers

    torch.testing.assert_close(centers(0), kmeans_centers(h, corpus.counts, 3, seed=0, init=poor))
    torch.testing.assert_close(centers(10), kmeans_centers(h, corpus.counts, 3, n_init=10, seed=0))
    assert not torch.allclose(centers(0), centers(10), atol=0.1)
