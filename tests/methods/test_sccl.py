import math
import pickle

import numpy as np
import pandas as pd
import pytest
import torch

import coterie
from coterie.augmenters.augmenter import make_augmenter
from coterie.contracts import Batch, Corpus, Network
from coterie.errors import InputError
from coterie.heads.centers import kmeans_centers
from coterie.methods.neighbours import Neighbours
from coterie.methods.sccl import SCCL, SCCLObjective

# -- the equations, as slow loops


def instance_loss(z_1, z_2, tau):
    """Eq. 1-2."""
    views, n = [*z_1, *z_2], len(z_1)

    def s(i, j):
        return float(views[i] @ views[j] / (np.linalg.norm(views[i]) * np.linalg.norm(views[j])))

    total = 0.0
    for i in range(2 * n):
        partner = (i + n) % (2 * n)
        total -= math.log(math.exp(s(i, partner) / tau) / sum(math.exp(s(i, j) / tau) for j in range(2 * n) if j != i))
    return total / (2 * n)


def soft(h, mu, alpha):
    """Eq. 3."""
    kernel = [[(1 + ((h_j - mu_k) ** 2).sum() / alpha) ** (-(alpha + 1) / 2) for mu_k in mu] for h_j in h]
    return np.array([[k / sum(row) for k in row] for row in kernel])


def target(q):
    """Eq. 4."""
    f = [sum(q[j][k] for j in range(len(q))) for k in range(len(q[0]))]
    share = [[q_jk**2 / f_k for q_jk, f_k in zip(row, f, strict=True)] for row in q]
    return np.array([[s / sum(row) for s in row] for row in share])


def divergence(p, q):
    """Eq. 5-6."""
    return sum(p[j][k] * math.log(p[j][k] / q[j][k]) for j in range(len(p)) for k in range(len(p[0]))) / len(p)


class Views(Network):
    """Passes vectors through, each view moved a little farther: what dropout does, but known."""

    def forward(self, *views):
        return tuple(view + 0.1 * number for number, view in enumerate(views, start=1))


SETTINGS = {"n_clusters": 3, "instance_weight": 7.0, "temperature": 0.4, "degrees_of_freedom": 2.0, "scale": 1.5}


def objective_of(encoder=None, **options):
    torch.manual_seed(0)
    objective = SCCLObjective(SCCL(**SETTINGS | options), encoder or Network(4))
    objective.mu.data.copy_(torch.randn(3, 4))
    return objective


def explicit_batch():
    h, h_1, h_2 = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(1))
    return Batch(torch.arange(6), h, (h_1, h_2))


def dropout_batch():
    h = explicit_batch().original
    return Batch(torch.arange(6), h, (h, h))


def values(terms):
    return {name: term.detach().item() for name, term in terms.items()}


def expected_instance(objective, h_1, h_2):
    with torch.no_grad():
        z_1, z_2 = (objective.g(h).double().numpy() for h in (h_1, h_2))
    return 7.0 * instance_loss(z_1, z_2, 0.4)


def soft_by(objective, h):
    return soft(1.5 * h.double().numpy(), 1.5 * objective.mu.detach().double().numpy(), 2.0)


def test_the_joint_loss_is_its_equation():
    objective, batch = objective_of(), explicit_batch()
    q = soft_by(objective, batch.original)
    terms = values(objective.joint(batch))
    assert terms.keys() == {"instance", "cluster"}
    assert terms["instance"] == pytest.approx(expected_instance(objective, *batch.augmented), rel=1e-4)
    assert terms["cluster"] == pytest.approx(divergence(target(q), q), rel=1e-4)


def test_either_loss_alone_is_its_part_of_the_joint_loss():
    objective, batch = objective_of(), explicit_batch()
    joint = values(objective.joint(batch))
    assert values(objective.instance(batch)) == pytest.approx({"instance": joint["instance"]})
    assert values(objective.cluster(batch)) == pytest.approx({"cluster": joint["cluster"]})


def test_crossed_and_shared_targets_are_equations_8_and_9():
    batch = explicit_batch()
    q, q_1, q_2 = (soft_by(objective_of(), h) for h in (batch.original, *batch.augmented))
    crossed = divergence(target(q_1), q_2) + divergence(target(q_2), q_1)
    shared = divergence(target(q), q_1) + divergence(target(q), q_2)
    for stage in ("joint", "cluster"):
        for kind, expected in (("crossed", crossed), ("shared", shared)):
            terms = getattr(objective_of(cluster_loss=kind), stage)(batch)
            assert values(terms)["cluster"] == pytest.approx(expected, rel=1e-4)


def test_as_in_the_paper_the_cluster_loss_is_on_the_text_and_the_instance_loss_on_its_views():
    objective, batch = objective_of(Views(4)), dropout_batch()
    q = soft_by(objective, batch.original + 0.1)
    terms = values(objective.joint(batch))
    expected = expected_instance(objective, batch.original + 0.2, batch.original + 0.3)
    assert terms["instance"] == pytest.approx(expected, rel=1e-4)
    assert terms["cluster"] == pytest.approx(divergence(target(q), q), rel=1e-4)


def test_as_in_the_release_dropout_views_halve_the_cluster_loss_and_it_is_on_the_first():
    objective, batch = objective_of(Views(4), variant="code"), dropout_batch()
    h_1, h_2 = batch.original + 0.1, batch.original + 0.2  # two passes, not three
    q = soft_by(objective, h_1)
    terms = values(objective.joint(batch))
    assert terms["instance"] == pytest.approx(expected_instance(objective, h_1, h_2), rel=1e-4)
    assert terms["cluster"] == pytest.approx(0.5 * divergence(target(q), q), rel=1e-4)


def test_with_explicit_views_release_and_paper_agree():
    batch = explicit_batch()
    assert values(objective_of(variant="code").joint(batch)) == values(objective_of(variant="paper").joint(batch))


@pytest.mark.parametrize("cluster_loss", ["original", "crossed", "shared"])
def test_gradients_of_the_joint_loss_reach_the_centers_and_the_head(cluster_loss):
    objective = objective_of(cluster_loss=cluster_loss)
    sum(objective.joint(explicit_batch()).values()).backward()
    assert all(weight.grad is not None and weight.grad.abs().sum() > 0 for weight in objective.parameters())


def test_the_instance_loss_leaves_the_centers_alone_and_the_cluster_loss_the_head():
    objective = objective_of()
    objective.instance(explicit_batch())["instance"].backward()
    assert objective.mu.grad is None
    objective = objective_of()
    objective.cluster(explicit_batch())["cluster"].backward()
    assert all(weight.grad is None for weight in objective.g.parameters())


def test_a_scale_of_one_is_the_kernel_of_the_paper():
    objective, h = objective_of(scale=1.0), explicit_batch().original
    expected = soft(h.double().numpy(), objective.mu.detach().double().numpy(), 2.0)
    np.testing.assert_allclose(objective.log_q(h).exp().detach(), expected, rtol=1e-4)
    assert not np.allclose(objective_of(scale=6.0).log_q(h).exp().detach(), expected, rtol=0.01)


# -- plans


@pytest.mark.parametrize(
    ("plan", "epochs", "stages"),
    [
        ("joint", 3, [("joint", 3)]),
        ("instance", 3, [("instance", 3)]),
        ("cluster", 3, [("cluster", 3)]),
        ("sequential", 5, [("instance", 3), ("cluster", 2)]),
        ("sequential", 4, [("instance", 2), ("cluster", 2)]),
    ],
)
def test_a_plan_has_its_stages(plan, epochs, stages):
    assert [(stage.name, stage.epochs) for stage in objective_of(plan=plan).stages(epochs)] == stages


def small(**options):
    defaults = {"n_clusters": 3, "encoder": "tfidf", "epochs": 4, "encoder_lr": 1e-3, "guard": "off"}
    return SCCL(**defaults | options)


@pytest.mark.parametrize(
    ("plan", "terms"),
    [
        ("joint", [{"instance", "cluster"}] * 4),
        ("instance", [{"instance"}] * 4),
        ("cluster", [{"cluster"}] * 4),
        ("sequential", [{"instance"}] * 2 + [{"cluster"}] * 2),
    ],
)
def test_a_plan_minimises_its_terms(topics, plan, terms):
    model = small(plan=plan).fit(topics[0])
    usual = {"stage", "epoch", "step", "seconds", "loss", "guard"}
    assert [set(record) - usual for record in model.history_] == terms
    start = small(epochs=0).fit(topics[0]).objective_
    assert torch.equal(model.objective_.mu, start.mu) == (plan == "instance")
    assert torch.equal(model.objective_.g[0].weight, start.g[0].weight) == (plan == "cluster")


@pytest.mark.parametrize("plan", ["joint", "instance"])
def test_the_loss_goes_down(topics, plan):
    history = small(plan=plan, epochs=12, head_lr=3e-3).fit(topics[0]).history_
    assert history[-1]["loss"] < history[0]["loss"]


def test_the_cluster_loss_makes_q_surer(topics):
    before, after = (small(plan="cluster", assign_by="q", epochs=n, head_lr=0.01).fit(topics[0]) for n in (0, 12))
    assert after.confidence_.mean() > before.confidence_.mean() + 0.01


def test_between_the_stages_of_the_sequential_plan_centers_are_placed_anew():
    objective = objective_of(plan="sequential", n_clusters=3)
    h = torch.cat([torch.randn(10, 4) * 0.1 + center for center in (0, 3, 6)])
    corpus = Corpus(h.numpy(), h, torch.ones(30, dtype=torch.long))
    before = objective.mu.detach().clone()
    _, second = objective.stages(2)
    second.before(corpus)
    expected = kmeans_centers(h, corpus.counts, 3, seed=0, start=before)
    torch.testing.assert_close(objective.mu.detach(), expected)
    assert not torch.equal(objective.mu, before)


# -- where it starts


@pytest.mark.parametrize("init", ["kmeans", "neighbours"])
def test_centers_start_as_the_means_of_the_groups_of_another_method(topics, init):
    texts = list(dict.fromkeys(topics[0]))
    model = small(init=init, epochs=0, assign_by="q", n_clusters=7).fit(texts)
    first = {"kmeans": coterie.KMeans, "neighbours": Neighbours}[init](n_clusters=7, encoder="tfidf").fit(texts)
    h = first.transform(texts)
    means = np.stack([h[first.labels_ == k].mean(axis=0) for k in range(7)])
    np.testing.assert_allclose(model.cluster_centers_, means, atol=1e-6)


def test_means_weigh_each_text_by_its_count():
    texts = ["red"] * 8 + ["red blue"] + ["green"] * 9
    model = small(init="kmeans", n_clusters=2, encoder="bow", epochs=0, assign_by="q").fit(texts)
    blue = model.cluster_centers_[model.labels_[0]][0]  # words in order: blue, green, red
    assert blue == pytest.approx(1 / 9)


def test_a_method_that_trains_itself_is_no_start(topics):
    with pytest.raises(InputError, match=r"`init` is 'sccl', which trains an encoder itself\. Start from kmeans"):
        small(init="sccl").fit(topics[0])


def test_an_unknown_start_is_refused(topics):
    with pytest.raises(InputError, match="no-such-method"):
        small(init="no-such-method").fit(topics[0])


# -- labels


@pytest.mark.parametrize("assign_by", ["kmeans", "q"])
@pytest.mark.parametrize("guard", ["on", "off"])
def test_training_texts_keep_their_labels_before_and_after_save_and_load(topics, tmp_path, assign_by, guard):
    texts = topics[0]
    model = small(assign_by=assign_by, guard=guard, encoder_lr=0.01, n_clusters=5).fit(texts)
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    for one in (model, loaded):
        np.testing.assert_array_equal(one.predict(texts), model.labels_)
        np.testing.assert_array_equal(one.predict(texts[::-1])[::-1], model.labels_)
        np.testing.assert_array_equal(one.predict_proba(texts), model.predict_proba(texts))
        np.testing.assert_array_equal(one.cluster_centers_, model.cluster_centers_)
    np.testing.assert_array_equal(model.predict_proba(texts).max(axis=1), model.confidence_)


@pytest.mark.parametrize("assign_by", ["kmeans", "q"])
def test_an_answer_does_not_depend_on_the_other_texts(topics, assign_by):
    model = small(assign_by=assign_by).fit(topics[0])
    together = model.predict_proba(topics[0])
    alone = np.concatenate([model.predict_proba([text]) for text in topics[0][:20]])
    np.testing.assert_allclose(alone, together[:20], atol=1e-12)


def test_labels_by_q_are_the_largest_q_of_equation_3(topics):
    model = small(assign_by="q", scale=2.0, degrees_of_freedom=3.0).fit(topics[0])
    texts = topics[0][:15]
    q = soft(2.0 * model.transform(texts).astype(float), 2.0 * model.cluster_centers_.astype(float), 3.0)
    np.testing.assert_allclose(model.predict_proba(texts), q, atol=1e-6)
    np.testing.assert_array_equal(model.cluster_centers_, model.objective_.mu.detach())


def test_labels_by_kmeans_are_those_of_the_nearest_mean_of_what_was_learnt(topics):
    model = small(assign_by="kmeans", encoder_lr=0.01, n_clusters=4).fit(topics[0])
    texts = list(dict.fromkeys(topics[0]))
    h, labels = model.transform(texts), model.predict(texts)
    counts = np.array([topics[0].count(text) for text in texts])
    for k in range(4):
        mean = np.average(h[labels == k], axis=0, weights=counts[labels == k])
        np.testing.assert_allclose(model.cluster_centers_[k], mean, atol=1e-4)
    assert not np.allclose(h, coterie.KMeans(n_clusters=4, encoder="tfidf").fit(topics[0]).transform(texts), atol=1e-3)


def test_true_labels_cannot_leak(topics):
    texts, topic = topics
    model = small().fit(texts)
    for y in (topic, np.random.default_rng(0).permutation(topic), list("ab" * 45)):
        other = small().fit(texts, y)
        np.testing.assert_array_equal(other.labels_, model.labels_)
        np.testing.assert_array_equal(other.cluster_centers_, model.cluster_centers_)


def test_the_caller_keeps_his_random_numbers(topics, tmp_path):
    torch.manual_seed(4)
    np.random.seed(4)  # noqa: NPY002
    before, before_numpy = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    model = small().fit(topics[0])
    model.save(tmp_path / "model")
    coterie.load(tmp_path / "model").predict(topics[0])
    assert torch.equal(torch.get_rng_state(), before)
    np.testing.assert_array_equal(np.random.get_state()[1], before_numpy)  # noqa: NPY002


def test_survives_pickle(topics):
    model = small().fit(topics[0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(topics[0]), model.labels_)


def test_vectors_are_trained_on_too():
    rng = np.random.default_rng(0)
    h = rng.normal(size=(60, 5)) + 3 * np.eye(5)[np.arange(60) % 3]
    model = small(encoder="precomputed").fit(h)
    np.testing.assert_array_equal(model.predict(h), model.labels_)
    assert not np.allclose(model.transform(h), h, atol=1e-4)


# -- views that the user brings


@pytest.fixture
def with_views(topics):
    texts = topics[0][:60]
    return texts, [text.split(" ", 1)[1] for text in texts], [text.rsplit(" ", 1)[0] for text in texts]


def exact(**options):
    return small(n_neighbours=0, **options)


def test_views_may_be_lists_or_columns(with_views):
    texts, first, second = with_views
    frame = pd.DataFrame({"title": texts, "text1": first, "text2": second, "one": first, "two": second})
    model = exact().fit(texts, views=[first, second])
    for other in (
        exact().fit(tuple(texts), views=(pd.Series(first), np.array(second))),
        exact().fit(frame, column="title", views=[frame["one"], frame["two"]]),
        exact(augmenter="given").fit(frame, column="title"),
        exact(augmenter="given:one, two").fit(frame, column="title"),
    ):
        np.testing.assert_array_equal(other.cluster_centers_, model.cluster_centers_)
        np.testing.assert_array_equal(other.labels_, model.labels_)


def test_views_are_learnt_from(with_views):
    texts, first, second = with_views
    model = exact().fit(texts, views=[first, second])
    for views in ([second, second], [second, first[::-1]], None):
        assert not np.array_equal(exact().fit(texts, views=views).cluster_centers_, model.cluster_centers_)


def test_a_blank_view_is_the_text_itself(with_views):
    texts, first, second = with_views
    blank = ["", " \u200b", *first[2:]]
    filled = [*texts[:2], *first[2:]]
    one, other = (exact().fit(texts, views=[views, second]) for views in (blank, filled))
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)


def test_views_stand_beside_blank_and_repeated_texts(with_views):
    texts, first, second = with_views
    plain = exact().fit(texts, views=[first, second])
    with pytest.warns(UserWarning, match="1 of 61 texts are blank"):
        shifted = exact().fit(["", *texts], views=[["x", *first], ["y", *second]])
    np.testing.assert_array_equal(shifted.labels_, [-1, *plain.labels_])


@pytest.mark.parametrize(
    ("views", "sentence"),
    [
        (lambda first, _: [first], "needs 2 views of each text, but 1 are given"),
        (lambda first, second: [first, second, first], "needs 2 views of each text, but 3 are given"),
        (lambda first, second: [first, second[:-1]], "View 2 has 59 rows, but there are 60 texts"),
        (lambda first, second: [[*first[:-1], None], second], "Row 60 is missing"),
    ],
)
def test_views_that_do_not_fit_are_refused(with_views, views, sentence):
    texts, first, second = with_views
    with pytest.raises(InputError, match=sentence):
        exact().fit(texts, views=views(first, second))


def test_views_that_are_asked_for_but_not_there_are_named(with_views):
    texts, first, _ = with_views
    with pytest.raises(InputError, match=r"wants the columns text1, text2, but there is no 'text1'"):
        exact(augmenter="given").fit(texts)
    with pytest.raises(InputError, match=r"wants the columns one, other, but there is no 'other'"):
        exact(augmenter="given:one,other").fit(pd.DataFrame({"title": texts, "one": first}), column="title")


def test_vectors_have_no_views(with_views):
    with pytest.raises(InputError, match="Views are texts"):
        exact(encoder="precomputed").fit(np.eye(6), views=[["a"] * 6, ["b"] * 6])


# -- with the bundled encoder


@pytest.fixture(scope="module")
def real(helpdesk):
    texts = helpdesk.texts[:100]
    return texts, SCCL(n_clusters=6, epochs=2, batch_size=50, encoder_lr=1e-4, n_neighbours=0).fit(texts)


def test_it_learns_on_the_demo_set(real):
    _, model = real
    first, last = model.history_
    assert last["loss"] < first["loss"]
    assert last["instance"] < first["instance"]
    assert (first["step"], last["step"]) == (2, 4)
    assert model.guard_.epochs == 2
    assert len(set(model.labels_)) == 6


def test_the_demo_model_answers_equally_after_save_and_load(real, tmp_path):
    texts, model = real
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(model.predict(texts), model.labels_)
    np.testing.assert_array_equal(loaded.predict(texts), model.labels_)
    np.testing.assert_array_equal(loaded.predict_proba(texts[:9]), model.predict_proba(texts[:9]))
    np.testing.assert_array_equal(loaded.predict(texts[:3]), model.labels_[:3])
    size = (tmp_path / "model" / "weights.safetensors").stat().st_size
    learnt = sum(weight.numel() * 4 for weight in model.objective_.parameters() if weight.requires_grad)
    whole = sum(weight.numel() * 4 for weight in model.objective_.parameters())
    assert learnt < size < learnt + 100_000
    assert size < 0.2 * whole


@pytest.mark.parametrize("trainable_layers", [0, None])
def test_none_or_all_of_the_encoder_may_learn(helpdesk, trainable_layers):
    texts = helpdesk.texts[:24]
    model = SCCL(n_clusters=3, trainable_layers=trainable_layers, max_steps=1, encoder_lr=1e-3, guard="off").fit(texts)
    np.testing.assert_array_equal(model.predict(texts), model.labels_)
    untouched = model.encoder_.embed(texts)
    assert np.allclose(model.transform(texts), untouched, atol=1e-6) == (trainable_layers == 0)


def test_more_layers_than_the_encoder_has_is_refused(helpdesk):
    with pytest.raises(InputError, match="`trainable_layers` is 7, but this encoder has 6 layers"):
        SCCL(n_clusters=3, trainable_layers=7).fit(helpdesk.texts[:24])


def test_settings_changed_after_fit_change_nothing(topics):
    model = small(assign_by="q").fit(topics[0])
    before = model.predict_proba(topics[0])
    model.set_params(assign_by="kmeans", degrees_of_freedom=9.0)
    np.testing.assert_array_equal(model.predict_proba(topics[0]), before)


def test_an_augmenter_that_is_none_is_refused(topics):
    with pytest.raises(InputError, match="SCCL: `augmenter` must be"):
        small(augmenter=3).fit(topics[0])


def test_a_checkpoint_without_a_folder_is_refused_before_training(topics, tmp_path):
    seen = []
    with pytest.raises(InputError, match="its folder does not exist"):
        small(checkpoint=tmp_path / "nowhere" / "run").fit(topics[0], watch=seen.append)
    assert not seen


def test_without_a_guard_the_verdict_says_so(topics):
    assert str(small(guard="off").fit(topics[0]).guard_) == "Guard: off; the last state is kept, whatever it is worth."


def test_views_of_neighbours_are_other_texts_of_the_corpus(topics):
    """With the neighbours of a text as its views, the instance loss cannot be zero even without dropout."""
    with_neighbours = small(n_neighbours=5).fit(topics[0]).history_[0]["instance"]
    alone = small(n_neighbours=0).fit(topics[0]).history_[0]["instance"]
    assert with_neighbours > alone


def test_the_settings_of_an_augmenter_are_saved(topics, tmp_path):
    model = small(augmenter=make_augmenter("chars:0.3")).fit(topics[0])
    model.save(tmp_path / "model")
    assert make_augmenter(coterie.load(tmp_path / "model").augmenter).params()["strength"] == 0.3
