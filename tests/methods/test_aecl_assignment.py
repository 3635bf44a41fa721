import copy

import numpy as np
import pytest
import torch
from aecl_reference import distinct, initialized, small
from safetensors.numpy import load_file
from sklearn.metrics import adjusted_rand_score

import coterie
from coterie.clustering.kmeans import kmeans_centers
from coterie.contracts import Corpus


@pytest.fixture(scope="module")
def against_reference(topics):
    model = small().fit(topics[0])
    assert model.objective_.assign_by_head
    return model


@pytest.fixture(scope="module")
def within_batch(topics):
    model = small(attend_to="batch", reference_size=20).fit(topics[0])
    assert model.objective_.assign_by_head
    return model


def sample_order(n, seed=0):
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed))


def q_against(objective, h, reference):
    """Return q (B, K) where each text attends to itself and to ``reference`` (R, d), one text at a time."""
    objective = copy.deepcopy(objective).double().eval()
    with torch.no_grad():
        rows = []
        for z in objective.g_z(torch.as_tensor(h).double()):
            c, _ = objective.g_h(torch.cat([z[None], reference.double()]))
            rows.append(c[0])
        return objective.classifier(torch.stack(rows)).softmax(dim=1).numpy()


# -- attention to stored training texts


def test_departure_a_text_attends_to_stored_training_texts(against_reference, topics):
    texts = distinct(topics)
    objective, h = against_reference.objective_, against_reference.transform(texts)
    assert objective.g_h.reference.shape == (len(texts), 128)  # there are fewer than 400
    with torch.no_grad():
        z = objective.g_z(torch.from_numpy(h))[sample_order(len(texts))]
    torch.testing.assert_close(objective.g_h.reference, z, atol=1e-5, rtol=1e-4)
    np.testing.assert_allclose(against_reference.predict_proba(texts[:10]), q_against(objective, h[:10], z), atol=1e-4)
    assert not objective.classifier.offset.any()
    assert adjusted_rand_score(topics[1], against_reference.labels_) > 0.9


def test_departure_a_prediction_does_not_depend_on_the_other_texts(against_reference, topics):
    texts = topics[0]
    together = against_reference.predict_proba(texts)
    one_by_one = np.concatenate([against_reference.predict_proba([text]) for text in texts[:15]])
    np.testing.assert_allclose(one_by_one, together[:15], atol=1e-12)
    np.testing.assert_allclose(against_reference.predict_proba(texts[::-1])[::-1], together, atol=1e-12)
    many = [f"{word} {number} {word}" for word in ("goal", "bank", "cell", "team") for number in range(300)]
    np.testing.assert_allclose(against_reference.predict_proba([*many, *texts])[len(many) :], together, atol=1e-12)


def test_reference_size_limits_the_stored_texts(topics):
    model = small(reference_size=7).fit(topics[0])
    assert model.objective_.assign_by_head
    h = torch.from_numpy(model.transform(distinct(topics)))
    with torch.no_grad():
        z = model.objective_.g_z(h[sample_order(len(h))[:7]])
    torch.testing.assert_close(model.objective_.g_h.reference, z, atol=1e-5, rtol=1e-4)
    np.testing.assert_array_equal(model.predict(topics[0]), model.labels_)


def test_another_seed_stores_another_sample():
    references = []
    for seed in (0, 1):
        objective, corpus = initialized(reference_size=7)
        objective.fit_assigner(corpus, seed)
        with torch.no_grad():
            z = objective.g_z(corpus.h[sample_order(len(corpus.h), seed)[:7]])
        torch.testing.assert_close(objective.g_h.reference, z)
        references.append(objective.g_h.reference)
    assert not torch.allclose(*references, atol=1e-3)


# -- attention within a batch, as in the paper


def test_within_batches_texts_are_assigned_in_a_fixed_random_order(within_batch, topics):
    texts = distinct(topics)
    h = torch.from_numpy(within_batch.transform(texts))
    order = sample_order(len(texts))
    objective = copy.deepcopy(within_batch.objective_).double().eval()
    with torch.no_grad():
        parts = [objective.classifier(objective.g_h(objective.g_z(h[part].double()))[0]) for part in order.split(20)]
    q = (torch.cat(parts) + objective.classifier.offset).softmax(dim=1)
    np.testing.assert_allclose(within_batch.predict_proba(texts)[order], q, atol=1e-9)


def test_within_batches_a_prediction_depends_on_the_other_texts_but_is_repeatable(within_batch, topics):
    texts = distinct(topics)
    np.testing.assert_array_equal(within_batch.predict_proba(texts), within_batch.predict_proba(texts))
    np.testing.assert_array_equal(within_batch.predict(topics[0]), within_batch.labels_)
    objective, h = within_batch.objective_, torch.from_numpy(within_batch.transform(texts))
    with torch.no_grad():
        assert (objective.logits(h[:1]) - objective.logits(h[:20])[:1]).abs().max() > 1e-3


# -- head or nearest center


def test_centers_are_the_means_of_the_clusters_of_the_head(against_reference, within_batch, topics):
    texts = distinct(topics)
    counts = np.array([topics[0].count(text) for text in texts])
    for model in (against_reference, within_batch):
        h, labels = model.transform(texts), model.predict(texts)
        for k in range(3):
            mean = np.average(h[labels == k], axis=0, weights=counts[labels == k])
            np.testing.assert_allclose(model.cluster_centers_[k], mean, atol=1e-5)


def test_departure_before_stage_2_the_nearest_center_assigns(topics):
    texts = distinct(topics)
    model = small(n_clusters=5, epochs=2, contrast_epochs=2, epoch_steps=2).fit(texts)
    assert not model.objective_.assign_by_head
    h = torch.from_numpy(model.transform(texts))
    corpus = Corpus(texts, h, torch.ones(len(h), dtype=torch.long), model.objective_.pseudo_labels)
    mu = kmeans_centers(h, corpus.counts, 5, seed=0, init=corpus.means(5))
    torch.testing.assert_close(torch.from_numpy(model.cluster_centers_), mu)
    np.testing.assert_array_equal(model.labels_, torch.cdist(h, mu).argmin(dim=1))


def test_departure_the_nearest_center_assigns_while_the_head_misses_clusters():
    objective, corpus = initialized()
    objective.start_pseudo_labeling(corpus, 0)
    with torch.no_grad():
        objective.classifier.layers[-1].bias += torch.tensor([500.0, 0.0, 0.0])  # always predicts the first cluster
    objective.fit_assigner(corpus, 0)
    assert not objective.assign_by_head
    q = objective.assign(corpus.h)
    torch.testing.assert_close(q, objective.nearest(corpus.h))
    assert len(q.argmax(dim=1).unique()) == 3


def test_without_epochs_labels_are_the_initial_ones_after_kmeans(topics):
    model = small(epochs=0).fit(topics[0])
    assert not model.objective_.assign_by_head
    assert adjusted_rand_score(topics[1], model.labels_) > 0.9


def test_diagnostics_are_z_and_attention_without_dropout():
    objective, corpus = initialized()
    objective.train()
    found = objective.diagnostics(corpus.h)
    objective.eval()
    z = objective.g_z(corpus.h)
    torch.testing.assert_close(found["z"].float(), z)
    torch.testing.assert_close(found["s"].float(), objective.g_h(z)[1])


# -- saved models


def test_a_saved_model_has_the_reference_texts_but_no_training_state(against_reference, topics, tmp_path):
    against_reference.save(tmp_path / "model")
    saved = load_file(tmp_path / "model" / "weights.safetensors")
    objective = against_reference.objective_
    assert set(objective.state_dict()) - set(saved) == {"pseudo_labels", "head_trained"}
    np.testing.assert_array_equal(saved["g_h.reference"], objective.g_h.reference)
    loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(topics[0]), against_reference.predict_proba(topics[0]))


def test_a_model_that_attends_within_batches_predicts_the_same_after_load(within_batch, topics, tmp_path):
    within_batch.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(topics[0]), within_batch.predict_proba(topics[0]))


def test_assign_by_head_is_the_head_even_where_it_misses_clusters(topics):
    untrained = {"n_clusters": 12, "epochs": 0}
    model = small(assign_by="head", **untrained).fit(topics[0])
    assert model.objective_.assigned_by == "head"
    assert len(np.unique(model.labels_)) < 12  # an untrained head does not know twelve clusters
    logits = model.objective_.logits(torch.from_numpy(model.transform(topics[0])))
    np.testing.assert_array_equal(model.labels_, logits.argmax(dim=1))
    assert np.isfinite(model.cluster_centers_).all()
    assert small(**untrained).fit(topics[0]).objective_.assigned_by == "kmeans"
