import copy
import math
import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from sklearn.metrics import adjusted_rand_score

import coterie
from coterie.benchmarks.jobs import PAPER_SETS
from coterie.benchmarks.recipes import published, read_recipe, recipe_for, variants
from coterie.contracts import Batch, Corpus, Network
from coterie.errors import InputError, TrainingStopped
from coterie.heads.centers import kmeans_centers
from coterie.losses.balance import pull_to_even
from coterie.methods.aecl import AECL, AECLObjective
from coterie.methods.neighbours import Neighbours

# -- the equations, as slow loops; a view is (z, c, s, q), c is the paper's h and q its p


def e(x, y, tau):
    return math.exp(float(x @ y) / float(np.linalg.norm(x) * np.linalg.norm(y)) / tau)


def instance_loss(views, y, tau):
    """Eq. 6-9."""
    (z_0, *_), (z_1, *_) = views
    n, total = len(y), 0.0
    for i in range(n):
        others, alike = [k for k in range(n) if k != i], [j for j in range(n) if y[j] == y[i]]

        def share(a, b, top, i=i, others=others):
            return top / sum(e(a[i], a[k], tau) + e(a[i], b[k], tau) for k in others)

        l_1 = share(z_0, z_1, e(z_0[i], z_1[i], tau)) + share(z_1, z_0, e(z_1[i], z_0[i], tau))
        for z, c, s, _ in views:
            l_2 = share(z, c, sum(s[i][j] * e(z[i], c[j], tau) for j in alike))
            l_2 += share(c, z, sum(s[i][j] * e(c[i], z[j], tau) for j in alike))
            total -= math.log(l_1 + l_2)
    return total / (2 * n)


def released_instance_loss(views, y, tau):
    """The same as the release computes it: all four blocks, p_r beside every d_c."""
    n = len(y)

    def below(a, r):
        return sum(e(a[r], a[c], tau) for c in range(2 * n) if (c - r) % n)

    both, losses = [*views[0][0], *views[1][0]], []
    p = [e(both[r], both[r - n], tau) for r in range(2 * n)]
    d = [below(both, r) for r in range(2 * n)]
    for z, c, s, _ in views:
        a, logs = [*z, *c], []
        for k in range(2 * n):
            alike = [j for j in range(2 * n) if y[j % n] == y[k % n]]
            top = sum(e(a[k], a[j], tau) * ((j != k) * s[k % n][j % n] + 1e-5) for j in alike)
            logs += [math.log(top / below(a, k) + p[r] / d[k]) for r in range(2 * n)]
        losses.append(-sum(logs) / len(logs))
    return sum(losses) / 2


def cluster_loss(views, tau, *, positive_inside):
    """Eq. 10-11, or with the positive in the sum, as the release has it."""
    columns, total = [*views[0][3].T, *views[1][3].T], 0.0
    k = len(columns) // 2
    for i in range(2 * k):
        below = [j for j in range(2 * k) if j != i and (positive_inside or j != (i + k) % (2 * k))]
        total -= math.log(e(columns[i], columns[i - k], tau) / sum(e(columns[i], columns[j], tau) for j in below))
    return total / (2 * k)


def entropy(q):
    return -sum(q_j * math.log(q_j) for q_j in q)


def unevenness(q):
    """How far the entropy of the mean row (Eq. 13) is from its largest value."""
    return math.log(q.shape[1]) - entropy(q.mean(axis=0))


def likelihood(q, y, counted=None):
    """Eq. 12; texts that are not counted add nothing, but are among the N."""
    counted = [True] * len(y) if counted is None else counted
    return -sum(math.log(q[i][y[i]]) for i in range(len(y)) if counted[i]) / len(y)


SETTINGS = {
    "n_clusters": 3, "instance_weight": 7.0, "pseudo_weight": 3.0, "unsure_weight": 0.5, "balance_weight": 2.0,
    "temperature": 0.4, "cluster_temperature": 0.6,
}  # fmt: skip


def objective_of(**options):
    torch.manual_seed(3)  # by which the head puts the texts of the batch below in all three groups
    objective = AECLObjective(AECL(**SETTINGS | options), Network(8))
    with torch.no_grad():
        objective.g_h.into.weight *= 4  # attention that prefers somebody, and a head that says something
        for layer in (objective.classifier.layers[1], objective.classifier.layers[4], objective.classifier.layers[6]):
            layer.weight *= 4
            layer.bias.zero_()
    return objective.eval()


def made_up_corpus(n=30, n_clusters=3):
    generator = torch.Generator().manual_seed(2)
    labels = torch.arange(n) % n_clusters
    h = 0.5 * torch.randn(n, 8, generator=generator) + 2 * torch.eye(3, 8)[labels % 3]
    return Corpus(h.numpy(), h, torch.ones(n, dtype=torch.long), labels)


def started(**options):
    objective, corpus = objective_of(**options), made_up_corpus(n_clusters=options.get("n_clusters", 3))
    objective.start(corpus, 0)
    return objective, corpus


def made_up_batch():
    h, h_1 = torch.randn(2, 6, 8, generator=torch.Generator().manual_seed(1))
    return Batch(torch.tensor([4, 0, 2, 11, 7, 9]), h, (h_1,))


def seen_by(objective, batch):
    """Return z, c, s and q of both views, as the heads give them."""
    views = []
    with torch.no_grad():
        for h in (batch.original, *batch.augmented):
            z = objective.g_z(h)
            c, s = objective.g_h(z)
            views.append([part.double().numpy() for part in (z, c, s, objective.classifier(c).softmax(dim=1))])
    return views


def values(terms):
    return {name: term.detach().item() for name, term in terms.items()}


# -- the network


@pytest.mark.parametrize(
    ("n_clusters", "total"), [(4, 67_910_020), (8, 67_913_096), (20, 67_922_324), (89, 67_975_385), (152, 68_023_832)]
)
def test_it_has_as_many_weights_as_the_release(n_clusters, total):
    objective = AECLObjective(AECL(n_clusters=n_clusters), Network(768))
    encoder, unused = 66_362_880, 32_896
    assert sum(weight.numel() for weight in objective.parameters()) == total - encoder - unused


# -- the terms of each stage


@pytest.mark.parametrize(("variant", "loss"), [("paper", instance_loss), ("code", released_instance_loss)])
def test_stage_1_is_the_instance_loss_alone(variant, loss):
    (objective, corpus), batch = started(variant=variant), made_up_batch()
    expected = 7.0 * loss(seen_by(objective, batch), corpus.labels[batch.rows].tolist(), 0.4)
    assert values(objective.contrast(batch)) == pytest.approx({"instance": expected}, rel=1e-4)


@pytest.mark.parametrize("variant", ["paper", "code"])
def test_stage_2_adds_the_first_labels_of_the_second_view_all_of_them(variant):
    (objective, corpus), batch = started(variant=variant, threshold=1.0), made_up_batch()
    _, (*_, q_1) = seen_by(objective, batch)
    terms = values(objective.teach(batch))
    assert terms.keys() == {"instance", "pseudo"}
    assert terms["instance"] == values(objective.contrast(batch))["instance"]
    assert terms["pseudo"] == pytest.approx(3.0 * likelihood(q_1, corpus.labels[batch.rows].tolist()), rel=1e-4)


def test_stage_3_is_equation_15_with_the_signs_of_the_release():
    (objective, _), batch = started(threshold=0.6), made_up_batch()
    views = seen_by(objective, batch)
    q_0, q_1 = views[0][3], views[1][3]
    y, sure = q_0.argmax(axis=1), q_0.max(axis=1) > 0.6
    assert sorted(np.bincount(y)) == [1, 2, 3]
    assert 0 < sure.sum() < 6
    expected = {
        "instance": 7.0 * instance_loss(views, y, 0.4),
        "cluster": cluster_loss(views, 0.6, positive_inside=False),
        "pseudo": 3.0 * likelihood(q_1, y, sure),
        "unsure": -0.5 * sum(entropy(row) for row in q_0) / 6,
        "balance": 2.0 * (unevenness(q_0) + unevenness(q_1)) / 2,
    }
    assert values(objective.refine(batch)) == pytest.approx(expected, rel=1e-4)


def test_as_in_the_release_stage_3_has_its_instance_loss_its_cluster_loss_and_the_sum_of_both_imbalances():
    (objective, _), batch = started(threshold=0.6, variant="code"), made_up_batch()
    views = seen_by(objective, batch)
    terms, printed = values(objective.refine(batch)), values(started(threshold=0.6)[0].refine(batch))
    assert terms["instance"] == pytest.approx(
        7.0 * released_instance_loss(views, views[0][3].argmax(axis=1), 0.4), rel=1e-4
    )
    assert terms["cluster"] == pytest.approx(cluster_loss(views, 0.6, positive_inside=True), rel=1e-4)
    assert terms["balance"] == pytest.approx(2 * printed["balance"])
    assert all(terms[name] == printed[name] for name in ("pseudo", "unsure"))


def test_print_and_release_have_exchanged_the_temperatures_and_a_setting_wins():
    def temperatures(**options):
        objective = AECLObjective(AECL(**options), Network(8))
        return objective.tau_i, objective.tau_c

    assert temperatures() == temperatures(variant="paper") == (1.0, 0.5)
    assert temperatures(variant="code") == (0.5, 1.0)
    assert temperatures(temperature=0.2, variant="code") == (0.2, 1.0)
    assert temperatures(cluster_temperature=0.3) == (1.0, 0.3)


def gradient_of(name, logits):
    """Return what a term of stage 3 wants of the head's logits, which are put in its place."""
    objective, _ = started(threshold=0.0)
    logits = logits.clone().requires_grad_()
    objective.look = lambda batch: (views, [logits.log_softmax(dim=1), logits.log_softmax(dim=1)])
    views, _ = AECLObjective.look(objective, made_up_batch())
    objective.refine(made_up_batch())[name].backward()
    return logits.grad


def test_departure_the_row_entropy_keeps_rows_from_becoming_sure():
    grad = gradient_of("unsure", torch.tensor([[2.0, 0.0, 0.0]] * 6))
    assert (grad[:, 0] > 0).all()  # a step against it makes the likeliest cluster less likely
    assert (grad[:, 1:] < 0).all()


def test_departure_the_balance_fills_small_clusters():
    grad = gradient_of("balance", torch.tensor([[2.0, 0.0, 0.0]] * 5 + [[0.0, 2.0, 0.0]]))
    assert (grad[:, 0] > 0).all()  # a step against it takes from the large cluster
    assert (grad[:, 2] < 0).all()


@pytest.mark.parametrize(
    ("setting", "term"),
    [("pseudo_weight", "pseudo"), ("unsure_weight", "unsure"), ("balance_weight", "balance")],
)
def test_a_weight_of_zero_takes_its_term_away_and_no_other(setting, term):
    batch = made_up_batch()
    whole = values(started(threshold=0.6)[0].refine(batch))
    without = values(started(threshold=0.6, **{setting: 0.0})[0].refine(batch))
    assert without == whole | {term: 0.0}
    assert whole[term] != 0


def test_without_eq_7_the_only_positive_is_the_other_view():
    (objective, _), batch = started(positives="none"), made_up_batch()
    z_0, z_1 = (z for z, *_ in seen_by(objective, batch))
    nothing = np.zeros((6, 6))
    expected = 7.0 * instance_loss([(z_0, z_0, nothing, None), (z_1, z_1, nothing, None)], range(6), 0.4)
    for stage in (objective.contrast, objective.teach, objective.refine):
        assert values(stage(batch))["instance"] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("variant", "loss"), [("paper", instance_loss), ("code", released_instance_loss)])
def test_by_confidence_texts_count_alike_where_both_are_sure(variant, loss):
    (objective, _), batch = started(positives="confidence", threshold=0.45, variant=variant), made_up_batch()
    views = seen_by(objective, batch)
    q_0 = views[0][3]
    y, sure = q_0.argmax(axis=1), q_0.max(axis=1) > 0.45
    weight = np.array([[float(y[i] == y[j] and sure[i] and sure[j]) for j in range(6)] for i in range(6)])
    assert weight.sum() > sure.sum()  # somebody has a companion, ...
    assert not sure.all()  # ... and somebody is not sure
    weight /= np.maximum(weight.sum(axis=1, keepdims=True), 1)
    expected = 7.0 * loss([(z, c, weight, q) for z, c, _, q in views], y, 0.4)
    assert values(objective.refine(batch))["instance"] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("stage", ["contrast", "teach"])
def test_before_stage_3_the_groups_of_the_instance_loss_are_the_pseudo_labels_or_what_an_untaught_head_says(stage):
    batch = made_up_batch()
    (by_labels, corpus), (by_head, _) = started(first_groups="pseudo"), started(first_groups="head")
    views = seen_by(by_labels, batch)
    pseudo, said = corpus.labels[batch.rows].tolist(), views[0][3].argmax(axis=1).tolist()
    right = {y: 7.0 * instance_loss(views, groups, 0.4) for y, groups in (("pseudo", pseudo), ("head", said))}
    assert abs(right["pseudo"] - right["head"]) > 0.01
    assert values(getattr(by_labels, stage)(batch))["instance"] == pytest.approx(right["pseudo"], rel=1e-4)
    assert values(getattr(by_head, stage)(batch))["instance"] == pytest.approx(right["head"], rel=1e-4)


def test_in_stage_3_the_groups_are_what_the_head_says_and_not_the_first_ones():
    batch = made_up_batch()
    terms = [values(started(first_groups=groups)[0].refine(batch)) for groups in ("pseudo", "head")]
    assert terms[0] == terms[1]


# -- gradients


def learnt(objective, *names):
    """Return whether all weights of these parts have a gradient that is not zero, or none of them has one."""
    grads = [weight.grad for name in names for weight in getattr(objective, name).parameters()]
    found = {grad is not None and bool(grad.abs().sum() > 0) for grad in grads}
    assert len(found) == 1
    return found.pop()


@pytest.mark.parametrize("variant", ["paper", "code"])
@pytest.mark.parametrize("first_groups", ["pseudo", "head"])
def test_stage_1_teaches_projection_and_attention_and_leaves_the_classifier_alone(variant, first_groups):
    objective, _ = started(variant=variant, first_groups=first_groups)
    objective.contrast(made_up_batch())["instance"].backward()
    assert learnt(objective, "g_z", "g_h")
    assert not learnt(objective, "classifier")


@pytest.mark.parametrize("stage", ["teach", "refine"])
def test_later_stages_teach_all_three(stage):
    objective, _ = started(threshold=0.6)
    sum(getattr(objective, stage)(made_up_batch()).values()).backward()
    assert learnt(objective, "g_z", "g_h", "classifier")


def test_pseudo_labels_teach_through_the_second_view_only():
    for stage in ("teach", "refine"):
        (objective, _), batch = started(threshold=0.0), made_up_batch()
        h, h_1 = batch.original.clone().requires_grad_(), batch.augmented[0].clone().requires_grad_()
        getattr(objective, stage)(Batch(batch.rows, h, (h_1,)))["pseudo"].backward()
        assert h.grad is None or not h.grad.any()
        assert h_1.grad.abs().sum() > 0


def test_dropout_is_on_while_it_learns():
    (objective, _), batch = started(), made_up_batch()
    objective.train()
    one, two = values(objective.teach(batch)), values(objective.teach(batch))
    assert one["instance"] != two["instance"]  # a tenth of the attention
    assert one["pseudo"] != two["pseudo"]


# -- the plan


def plan(epochs, corpus=None, **options):
    """Return how many epochs each stage has, and the weight of the balance."""
    corpus = corpus or made_up_corpus(n_clusters=options.get("n_clusters", 3))
    objective = AECLObjective(AECL(**{"n_clusters": 3} | options), Network(8))
    objective.start(corpus, 0)
    stages = objective.stages(epochs)
    assert [stage.name for stage in stages] == ["contrast", "teach", "refine"]
    return tuple(stage.epochs for stage in stages), objective.lambda_4


def test_by_rule_stage_1_has_25_steps_and_stage_2_has_50_or_for_many_clusters_125():
    assert plan(8)[0] == (1, 2, 5)
    assert plan(8, made_up_corpus(200, 49), n_clusters=49)[0] == (1, 2, 5)
    assert plan(8, made_up_corpus(200, 50), n_clusters=50)[0] == (1, 5, 2)
    assert plan(70, epoch_steps=10)[0] == (3, 5, 62)
    assert plan(70, epoch_steps=100)[0] == (1, 1, 68)


def test_by_rule_the_fewer_texts_the_more_passes():
    small, large = made_up_corpus(60), made_up_corpus(600)
    assert plan(70, small, epoch_steps=None, batch_size=20)[0] == (9, 17, 44)
    assert plan(70, large, epoch_steps=None, batch_size=20)[0] == (1, 2, 67)


@pytest.mark.parametrize(
    ("e_1", "e_2", "epochs", "lengths"),
    [(2, 3, 8, (2, 3, 3)), (0, 3, 8, (0, 3, 5)), (2, 0, 8, (2, 0, 6)), (0, 0, 4, (0, 0, 4)),
     (2, 3, 4, (2, 2, 0)), (1000, 3, 4, (4, 0, 0)), (2, 3, 0, (0, 0, 0))],
)  # fmt: skip
def test_what_is_set_wins_and_stages_never_take_more_epochs_than_there_are(e_1, e_2, epochs, lengths):
    assert plan(epochs, contrast_epochs=e_1, teach_epochs=e_2)[0] == lengths


def test_by_rule_the_balance_has_the_weight_that_fits_the_first_groups():
    even, uneven = made_up_corpus(), replace(made_up_corpus(), labels=torch.tensor([0] * 20 + [1] * 6 + [2] * 4))
    assert plan(8, even)[1] == 10
    assert plan(8, uneven)[1] == pull_to_even(torch.tensor([20, 6, 4])) < 0.2
    often = replace(uneven, counts=torch.tensor([1] * 20 + [4] * 5 + [0] + [5] * 4))
    assert plan(8, often)[1] == 10  # texts count as often as they occur
    assert plan(8, uneven, balance_weight=0.0)[1] == 0
    assert plan(8, uneven, balance_weight=3.0)[1] == 3


def small(**options):
    defaults = {
        "n_clusters": 3, "encoder": "tfidf", "epoch_steps": 10, "epochs": 5, "contrast_epochs": 1, "teach_epochs": 2,
        "batch_size": 30, "encoder_lr": 1e-3, "guard": "off",
    }  # fmt: skip
    return AECL(**defaults | options)


def watched(model, texts):
    """Fit, and return what was seen before training and after every epoch."""
    seen = []

    def watch(evaluation):
        kept = {name: getattr(evaluation.objective, name).clone() for name in ("groups", "taught", "by_classifier")}
        seen.append(kept | {"stage": evaluation.record["stage"], "h": torch.tensor(evaluation.h)})

    model.fit(texts, watch=watch)
    return seen


@pytest.mark.parametrize(
    ("options", "stages"),
    [
        ({}, ["contrast", "teach", "teach", "refine", "refine"]),
        ({"contrast_epochs": 0}, ["teach", "teach", "refine", "refine", "refine"]),
        ({"teach_epochs": 0}, ["contrast", "refine", "refine", "refine", "refine"]),
        ({"contrast_epochs": 1000}, ["contrast"] * 5),
    ],
)
def test_a_stage_minimises_its_terms_and_the_head_is_taught_from_the_second_on(topics, options, stages):
    model = small(**options, epoch_steps=2)
    seen = watched(model, topics[0])
    terms = {"contrast": {"instance"}, "teach": {"instance", "pseudo"}}
    terms["refine"] = terms["teach"] | {"cluster", "unsure", "balance"}
    usual = {"stage", "epoch", "step", "seconds", "loss"}
    assert [record["stage"] for record in model.history_] == stages
    assert [set(record) - usual for record in model.history_] == [terms[stage] for stage in stages]
    assert [bool(epoch["taught"]) for epoch in seen] == [False, *(stage != "contrast" for stage in stages)]
    start = small(epochs=0).fit(topics[0]).objective_.classifier.layers[-1].weight
    same = torch.equal(model.objective_.classifier.layers[-1].weight, start)
    assert same == (set(stages) == {"contrast"})  # stage 1 does not move the head


def test_the_loss_goes_down(topics):
    history = small(contrast_epochs=2, teach_epochs=4, epochs=6, head_lr=3e-3).fit(topics[0]).history_
    assert history[1]["instance"] < history[0]["instance"]
    assert history[-1]["pseudo"] < 0.5 * history[2]["pseudo"]


# -- pseudo-labels


def distinct(topics):
    return list(dict.fromkeys(topics[0]))


def test_pseudo_labels_are_the_first_grouping_to_the_end(topics):
    texts = distinct(topics)
    first = Neighbours(n_clusters=5, encoder="tfidf").fit(texts).labels_
    for epoch in watched(small(n_clusters=5, encoder_lr=0.02), texts):
        np.testing.assert_array_equal(epoch["groups"], first)


def by_kmeans(h):
    mu = kmeans_centers(h, torch.ones(len(h), dtype=torch.long), 5, n_init=10, seed=0)
    return torch.cdist(h.double(), mu.double()).argmin(dim=1)


def test_or_kmeans_makes_them_anew_before_training_and_after_every_epoch_of_stage_1_and_they_stay(topics):
    options = {"n_clusters": 5, "first_labels": "kmeans", "init": "neighbours", "encoder_lr": 0.02}
    seen = watched(small(**options, contrast_epochs=2, teach_epochs=2), distinct(topics))
    assert [epoch["stage"] for epoch in seen] == ["start", "contrast", "contrast", "teach", "teach", "refine"]
    for before, after in pairwise(seen[:4]):  # an epoch sees what the one before it left
        assert torch.equal(after["groups"], by_kmeans(before["h"]))
    assert not torch.equal(seen[3]["groups"], seen[0]["groups"])
    assert all(torch.equal(epoch["groups"], seen[3]["groups"]) for epoch in seen[4:])


def test_without_stage_1_kmeans_makes_them_once(topics):
    options = {"n_clusters": 5, "first_labels": "kmeans", "contrast_epochs": 0}
    seen = watched(small(**options, encoder_lr=0.02, epoch_steps=2), distinct(topics))
    assert all(torch.equal(epoch["groups"], by_kmeans(seen[0]["h"])) for epoch in seen[1:])


# -- who files texts


@pytest.fixture(scope="module")
def taught(topics):
    model = small().fit(topics[0])
    assert model.objective_.by_classifier
    return model


@pytest.fixture(scope="module")
def beside_batch(topics):
    model = small(filed_beside="batch", reference_size=20).fit(topics[0])
    assert model.objective_.by_classifier
    return model


def beside(objective, h, others):
    """Return q (B, K): each text attends to itself and to others (R, d), by the layers themselves."""
    objective = copy.deepcopy(objective).double().eval()
    attention = objective.g_h
    with torch.no_grad():
        rows = []
        for z in objective.g_z(torch.as_tensor(h).double()):
            c, _ = attention(torch.cat([z[None], others.double()]))  # its own row of a batch with them
            rows.append(c[0])
        return objective.classifier(torch.stack(rows)).softmax(dim=1).numpy()


def test_departure_a_text_is_filed_beside_stored_texts_of_the_training(taught, topics):
    texts = distinct(topics)
    objective, h = taught.objective_, taught.transform(texts)
    assert objective.g_h.reference.shape == (len(texts), 128)  # there are fewer than 400
    with torch.no_grad():
        z = objective.g_z(torch.from_numpy(h))
    order = torch.randperm(len(texts), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(objective.g_h.reference, z[order], atol=1e-5, rtol=1e-4)
    np.testing.assert_allclose(taught.predict_proba(texts[:10]), beside(objective, h[:10], z[order]), atol=1e-4)
    assert not objective.classifier.offset.any()
    assert adjusted_rand_score(topics[1], taught.labels_) > 0.9


def test_departure_an_answer_does_not_depend_on_the_other_texts(taught, topics):
    texts = topics[0]
    together = taught.predict_proba(texts)
    alone = np.concatenate([taught.predict_proba([text]) for text in texts[:15]])
    np.testing.assert_allclose(alone, together[:15], atol=1e-12)
    np.testing.assert_allclose(taught.predict_proba(texts[::-1])[::-1], together, atol=1e-12)
    many = [f"{a} {b} {a}" for a in "goal bank cell team".split() for b in map(str, range(300))]
    np.testing.assert_allclose(taught.predict_proba([*many, *texts])[len(many) :], together, atol=1e-12)


def test_only_so_many_texts_are_stored_as_the_reference_has(topics):
    model = small(reference_size=7).fit(topics[0])
    assert model.objective_.by_classifier
    h = torch.from_numpy(model.transform(distinct(topics)))
    order = torch.randperm(len(h), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        z = model.objective_.g_z(h[order[:7]])
    torch.testing.assert_close(model.objective_.g_h.reference, z, atol=1e-5, rtol=1e-4)
    np.testing.assert_array_equal(model.predict(topics[0]), model.labels_)


def test_as_printed_a_text_is_filed_beside_the_texts_of_a_fixed_shuffle(beside_batch, topics):
    texts = distinct(topics)
    h = torch.from_numpy(beside_batch.transform(texts))
    order = torch.randperm(len(texts), generator=torch.Generator().manual_seed(0))
    objective = copy.deepcopy(beside_batch.objective_).double().eval()
    with torch.no_grad():
        parts = [objective.classifier(objective.g_h(objective.g_z(h[part].double()))[0]) for part in order.split(20)]
    q = (torch.cat(parts) + objective.classifier.offset).softmax(dim=1)
    np.testing.assert_allclose(beside_batch.predict_proba(texts)[order], q, atol=1e-9)


def test_as_printed_an_answer_depends_on_the_other_texts_but_not_on_the_day(beside_batch, topics):
    texts = distinct(topics)
    together = beside_batch.predict_proba(texts)
    np.testing.assert_array_equal(beside_batch.predict_proba(texts), together)
    np.testing.assert_array_equal(beside_batch.predict(topics[0]), beside_batch.labels_)
    objective, h = beside_batch.objective_, torch.from_numpy(beside_batch.transform(texts))
    with torch.no_grad():
        assert (objective.logits(h[:1]) - objective.logits(h[:20])[:1]).abs().max() > 1e-3
        stored = copy.deepcopy(objective)
        stored.together = None
        assert (stored.logits(h[:20]) - objective.logits(h[:20])).abs().max() > 1e-3


def test_a_temperature_that_float32_cannot_hold_is_refused(topics):
    with pytest.raises(InputError, match=r"`temperature` must be .*>= 0.05, got 0.02"):
        small(temperature=0.02).fit(topics[0])


def test_centers_are_the_means_of_what_is_filed(taught, beside_batch, topics):
    texts = distinct(topics)
    counts = np.array([topics[0].count(text) for text in texts])
    for model in (taught, beside_batch):
        h, labels = model.transform(texts), model.predict(texts)
        for k in range(3):
            mean = np.average(h[labels == k], axis=0, weights=counts[labels == k])
            np.testing.assert_allclose(model.cluster_centers_[k], mean, atol=1e-5)


def test_departure_until_the_head_is_taught_the_nearest_center_files_texts(topics):
    texts = distinct(topics)
    model = small(n_clusters=5, epochs=2, contrast_epochs=2).fit(texts)
    assert not model.objective_.by_classifier
    h = torch.from_numpy(model.transform(texts))
    corpus = Corpus(texts, h, torch.ones(len(h), dtype=torch.long), model.objective_.groups)
    mu = kmeans_centers(h, corpus.counts, 5, seed=0, start=corpus.means(5))
    torch.testing.assert_close(torch.from_numpy(model.cluster_centers_), mu)
    np.testing.assert_array_equal(model.labels_, torch.cdist(h, mu).argmin(dim=1))


def test_departure_and_so_it_does_while_the_head_misses_groups():
    objective, corpus = started()
    objective.begin_to_teach(corpus)
    objective.finish(corpus, 0)
    with torch.no_grad():
        objective.classifier.layers[-1].bias += torch.tensor([500.0, 0.0, 0.0])  # everything is in the first
    objective.finish(corpus, 0)
    assert not objective.by_classifier
    q = objective.assign(corpus.h)
    torch.testing.assert_close(q, objective.nearest(corpus.h))
    assert len(q.argmax(dim=1).unique()) == 3


def test_without_epochs_it_is_the_first_grouping_closed_by_kmeans(topics):
    model = small(epochs=0).fit(topics[0])
    assert not model.objective_.by_classifier
    assert adjusted_rand_score(topics[1], model.labels_) > 0.9


def test_what_there_is_to_look_at_is_z_and_attention_without_dropout():
    objective, corpus = started()
    objective.train()
    seen = objective.inside(corpus.h)
    objective.eval()
    z = objective.g_z(corpus.h)
    torch.testing.assert_close(seen["z"].float(), z)
    torch.testing.assert_close(seen["s"].float(), objective.g_h(z)[1])


# -- kept and resumed


def test_a_saved_model_has_the_stored_texts_and_not_what_only_training_needs(taught, topics, tmp_path):
    taught.save(tmp_path / "model")
    kept = load_file(tmp_path / "model" / "weights.safetensors")
    assert set(taught.objective_.state_dict()) - set(kept) == {"groups", "taught"}
    np.testing.assert_array_equal(kept["g_h.reference"], taught.objective_.g_h.reference)
    loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(topics[0]), taught.predict_proba(topics[0]))
    np.testing.assert_array_equal(loaded.predict(topics[0]), taught.labels_)
    np.testing.assert_array_equal(loaded.cluster_centers_, taught.cluster_centers_)


def test_a_model_that_files_beside_the_batch_answers_equally_after_save_and_load(beside_batch, topics, tmp_path):
    beside_batch.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(topics[0]), beside_batch.predict_proba(topics[0]))


def test_a_model_can_be_copied_and_pickled(taught, topics):
    for again in (copy.deepcopy(taught), pickle.loads(pickle.dumps(taught))):
        np.testing.assert_array_equal(again.predict_proba(topics[0]), taught.predict_proba(topics[0]))


def stopping_at(epoch):
    def watch(evaluation):
        if evaluation.record["step"] == 10 * epoch and evaluation.record["stage"] != "start":
            raise KeyboardInterrupt

    return watch


@pytest.fixture(scope="module", params=["on", "off"])
def undisturbed(topics, request):
    options = {"guard": request.param, "n_clusters": 5, "first_labels": "kmeans"}
    return options, small(**options).fit(topics[0])


@pytest.mark.parametrize("epoch", [1, 2, 3, 5])
def test_resumed_in_the_middle_of_any_stage_it_ends_with_the_same_model(topics, undisturbed, tmp_path, epoch):
    options, whole = undisturbed
    options = options | {"checkpoint": tmp_path / "run.checkpoint", "checkpoint_every": 4}
    with pytest.raises(TrainingStopped):
        small(**options).fit(topics[0], watch=stopping_at(epoch))
    stages = []
    again = small(**options).fit(topics[0], watch=lambda evaluation: stages.append(evaluation.record["stage"]))
    assert len(stages) == 6 - epoch  # it went on
    for name, value in whole.objective_.state_dict().items():
        assert torch.equal(value, again.objective_.state_dict()[name]), name
    assert [record["loss"] for record in again.history_] == [record["loss"] for record in whole.history_]
    assert again.guard_ == whole.guard_
    np.testing.assert_array_equal(again.labels_, whole.labels_)


def test_watching_changes_nothing(topics, taught):
    other = small().fit(topics[0], watch=lambda _: None)
    for name, value in taught.objective_.state_dict().items():
        assert torch.equal(value, other.objective_.state_dict()[name]), name


# -- small and strange


def test_the_guard_keeps_a_state_at_least_as_good_as_the_start(topics):
    options = {"head_lr": 1e-3, "epochs": 4}
    start = small(epochs=0, guard="on").fit(topics[0])
    guarded = small(**options, guard="on").fit(topics[0])
    scores = [record["guard"] for record in guarded.history_]
    assert guarded.guard_.score >= start.guard_.score
    assert guarded.guard_.score == max([start.guard_.score, *scores])
    assert min(scores) < start.guard_.score  # there was something to keep it from
    if guarded.guard_.kept == 0:
        np.testing.assert_array_equal(guarded.labels_, start.labels_)


@pytest.mark.parametrize("variant", ["paper", "code"])
def test_one_cluster_is_possible(topics, variant):
    model = small(n_clusters=1, variant=variant, epoch_steps=2).fit(topics[0])
    assert set(model.labels_) == {0}
    assert all(math.isfinite(record["loss"]) for record in model.history_)
    last = model.history_[-1]
    assert [last[name] for name in ("cluster", "pseudo", "unsure", "balance")] == [0, 0, 0, 0]
    assert np.isfinite(model.cluster_centers_).all()


@pytest.mark.parametrize("texts", [["one text"], ["one text", "other words", "third line"]])
def test_a_step_may_have_one_text(texts):
    model = small(n_clusters=1, batch_size=2, epoch_steps=2).fit(texts)
    assert len(model.history_) == 5
    assert set(model.labels_) == {0}


@pytest.mark.parametrize("options", [{"variant": "code"}, {"positives": "confidence"}, {"positives": "none"},
                                     {"first_groups": "head"}, {"n_neighbours": 0, "augmenter": "eda"}])  # fmt: skip
def test_every_variant_finds_the_obvious_topics(topics, options):
    model = small(**options, guard="on").fit(topics[0])
    assert adjusted_rand_score(topics[1], model.labels_) > 0.9
    np.testing.assert_array_equal(model.predict(topics[0]), model.labels_)


def test_it_is_no_start_itself(topics):
    with pytest.raises(InputError, match="`init` is 'aecl', which trains an encoder itself"):
        small(init="aecl").fit(topics[0])


# -- recipes


def test_the_recipes_follow_the_paper_and_its_table():
    for name, balance, e_1, e_2 in [
        ("agnews", 10, 10, 1), ("searchsnippets", 0.18, 10, 1), ("stackoverflow", 10, 2, 1), ("biomedical", 10, 2, 1),
        ("googlenews-ts", 0.09, 10, 6), ("googlenews-t", 0.09, 10, 6), ("googlenews-s", 0.09, 10, 6),
        ("tweet", 0.09, 20, 10),
    ]:  # fmt: skip
        model = AECL(**recipe_for("aecl", name, "paper").settings)
        assert (model.balance_weight, model.contrast_epochs, model.teach_epochs) == (balance, e_1, e_2), name
        assert (model.instance_weight, model.pseudo_weight, model.unsure_weight) == (10, 5, 0.01)
        assert (model.encoder_lr, model.head_lr, model.schedule) == (5e-6, 5e-4, "constant")
        assert (model.epochs, model.batch_size, model.epoch_steps, model.max_steps) == (70, 400, None, None)
        assert (model.threshold, model.variant, model.positives, model.augmenter) == (0.95, "paper", "attention", "eda")
        assert (model.init, model.first_labels, model.first_groups) == ("kmeans", "kmeans", "head")
        code = AECL(**recipe_for("aecl", name, "paper", "official-code").settings)
        assert (code.variant, code.filed_beside, code.reference_size) == ("code", "batch", 400)
        assert code.contrast_epochs == e_1 + 1  # from epoch 0 to epoch E1
        assert published("aecl", name).source == "AECL, Table 2"
    table = {name: (published("aecl", name).acc, published("aecl", name).nmi) for name in PAPER_SETS}
    assert table == {
        "agnews": (86.21, 64.91), "searchsnippets": (80.58, 69.27), "stackoverflow": (83.22, 73.12),
        "biomedical": (45.25, 38.87), "googlenews-ts": (85.45, 93.71), "googlenews-t": (74.25, 86.16),
        "googlenews-s": (80.41, 89.44), "tweet": (80.46, 87.60),
    }  # fmt: skip


ABLATIONS = {
    "ccssl": {"positives": "confidence"}, "no-ic": {"positives": "none"}, "no-stage-1": {"contrast_epochs": 0},
    "no-stage-2": {"teach_epochs": 0}, "no-pg": {"pseudo_weight": 0}, "no-rc": {"unsure_weight": 0},
    "no-entropy": {"unsure_weight": 0, "balance_weight": 0}, "instance-only": {"contrast_epochs": 1000},
}  # fmt: skip


@pytest.mark.parametrize("preset", ["paper", "cpu"])
@pytest.mark.parametrize("name", ABLATIONS)
def test_an_ablation_changes_what_it_leaves_out_and_nothing_else(name, preset):
    for dataset in PAPER_SETS:
        whole = AECL(**recipe_for("aecl", dataset, preset).settings).get_params()
        without = AECL(**recipe_for("aecl", dataset, preset, name).settings).get_params()
        assert {key: without[key] for key in whole if without[key] != whole[key]} == ABLATIONS[name]
        assert len(ABLATIONS[name]) == 1 or name == "no-entropy"


def test_there_are_no_other_variants_and_both_presets_say_where_they_depart():
    assert set(variants("aecl")) == {*ABLATIONS, "official-code"}
    assert all(read_recipe("aecl", name).departures for name in ("default", "cpu"))
