import numpy as np
import pytest
import torch
from rstc_reference import classifier_logits, initialized, make_corpus, small
from safetensors.numpy import load_file
from sklearn.metrics import adjusted_rand_score

import coterie
from coterie.clustering.kmeans import kmeans_centers
from coterie.contracts import Corpus, Network
from coterie.methods.rstc import RSTC, RSTCObjective


@pytest.fixture(scope="module")
def trained(topics):
    model = small(epoch_steps=20, epochs=5, warmup_epochs=3, guard="off").fit(topics[0])
    assert model.objective_.assign_by_head
    return model


def test_before_transport_the_nearest_center_of_kmeans_from_the_labels_assigns(topics):
    texts = sorted(set(topics[0]))  # the order of the corpus
    model = small(n_clusters=5, epochs=2, warmup_epochs=2, guard="off").fit(texts)
    assert not model.objective_.assign_by_head
    h = torch.from_numpy(model.transform(texts))
    corpus = Corpus(texts, h, torch.ones(len(h), dtype=torch.long), model.objective_.pseudo_labels)
    mu = kmeans_centers(h, corpus.counts, 5, seed=0, init=corpus.means(5))
    torch.testing.assert_close(torch.from_numpy(model.cluster_centers_), mu)
    np.testing.assert_array_equal(model.labels_, torch.cdist(h, mu).argmin(dim=1))


def test_without_epochs_labels_are_the_initial_ones_after_kmeans(topics):
    model = small(epochs=0).fit(topics[0])
    assert adjusted_rand_score(topics[1], model.labels_) > 0.9
    assert not model.objective_.assign_by_head


def test_after_transport_the_classifier_assigns(trained, topics):
    texts = topics[0][:20]
    logits = classifier_logits(trained.objective_, torch.from_numpy(trained.transform(texts)), 20.0)
    q = torch.from_numpy(logits).softmax(dim=1).numpy()
    at_once = trained.predict_proba(texts)
    np.testing.assert_allclose(at_once, q, rtol=1e-5, atol=1e-9)  # the embeddings are float32
    one_by_one = np.concatenate([trained.predict_proba([text]) for text in texts])
    np.testing.assert_array_equal(one_by_one, at_once)
    assert adjusted_rand_score(topics[1], trained.labels_) > 0.9


def test_centers_are_the_means_of_the_clusters_of_the_classifier(trained, topics):
    texts = sorted(set(topics[0]))  # the order of the corpus
    h, labels = trained.transform(texts), trained.predict(texts)
    counts = np.array([topics[0].count(text) for text in texts])
    for k in range(3):
        mean = np.average(h[labels == k], axis=0, weights=counts[labels == k])
        np.testing.assert_allclose(trained.cluster_centers_[k], mean, atol=1e-5)


def test_departure_a_classifier_that_misses_clusters_does_not_assign():
    objective, corpus = initialized()
    objective.relabel(corpus, 0)
    objective.y.zero_()  # transport may leave a cluster empty; the initial labels never do
    with torch.no_grad():
        objective.classifier.layers[-1].bias += torch.tensor([50.0, 0.0, 0.0])  # always predicts the first cluster
    objective.fit_assigner(corpus, 0)
    assert not objective.assign_by_head
    q = objective.assign(corpus.h)
    torch.testing.assert_close(q, objective.nearest(corpus.h))
    assert len(q.argmax(dim=1).unique()) == 3
    assert torch.isfinite(objective.centers).all()


def test_the_classifier_assigns_only_after_the_first_transport():
    objective, corpus = initialized()
    objective.classifier.cover_all_clusters = lambda logits: True
    objective.fit_assigner(corpus, 0)
    assert not objective.assign_by_head
    objective.relabel(corpus, 0)
    objective.classifier.layers[-1].weight.data.zero_()
    objective.classifier.cover_all_clusters = lambda logits: False
    objective.fit_assigner(corpus, 0)
    assert not objective.assign_by_head


def test_departure_one_cluster_that_the_classifier_misses_gets_a_text():
    corpus = make_corpus(60)
    corpus = Corpus(corpus.items, corpus.h, corpus.counts, torch.arange(60) % 12)
    torch.manual_seed(0)
    objective = RSTCObjective(RSTC(n_clusters=12), Network(4))
    objective.initialize(corpus, 0)
    objective.start_pseudo_labeling(corpus, 0)
    logits = torch.rand(60, 12, dtype=torch.float64) + 4 * torch.eye(12)[corpus.labels]
    logits[:, 7] -= 6
    objective.logits = lambda h: logits
    objective.fit_assigner(corpus, 0)
    assert objective.assign_by_head
    assert len(objective.assign(corpus.h).argmax(dim=1).unique()) == 12


# -- saved models


def test_a_saved_model_leaves_out_the_training_state(trained, topics, tmp_path):
    trained.save(tmp_path / "model")
    saved = load_file(tmp_path / "model" / "weights.safetensors")
    left_out = set(trained.objective_.state_dict()) - set(saved)
    head = {f"g.{layer}.{part}" for layer in (0, 2) for part in ("weight", "bias")}
    assert left_out == {"pseudo_labels", "head_trained", "y", "predictions", "change_rate", "b"} | head
    assert {"assign_by_head", "classifier.offset", "nearest.mu", "nearest.scale"} <= set(saved)
    loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(topics[0]), trained.predict_proba(topics[0]))
    np.testing.assert_array_equal(loaded.cluster_centers_, trained.cluster_centers_)


def test_a_model_that_assigns_by_the_nearest_center_predicts_the_same_after_load(topics, tmp_path):
    model = small(epochs=1, warmup_epochs=1).fit(topics[0])
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    assert not loaded.objective_.assign_by_head
    np.testing.assert_array_equal(loaded.predict_proba(topics[0]), model.predict_proba(topics[0]))
