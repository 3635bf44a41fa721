import numpy as np
import pytest

import coterie
from coterie.encoders.bundled import BundledEncoder
from coterie.evaluation.metrics import accuracy, agreement


def test_centers_are_the_weighted_means_of_their_texts():
    h = np.array([[0.0, 0], [0, 2], [10, 0], [10, 1]], dtype=np.float32)
    model = coterie.KMeans(n_clusters=2, encoder="precomputed").fit(h)
    np.testing.assert_allclose(sorted(model.cluster_centers_.tolist()), [[0, 1], [10, 0.5]])


def test_a_text_that_occurs_often_pulls_its_center():
    texts = ["red"] * 8 + ["red blue"] + ["green"] * 9
    model = coterie.KMeans(n_clusters=2, encoder="bow").fit(texts)
    blue = model.cluster_centers_[model.labels_[0]][0]  # words in order: blue, green, red
    assert blue == pytest.approx(1 / 9)


def test_the_largest_cluster_is_number_zero(helpdesk):
    labels = coterie.KMeans(n_clusters=5, encoder="tfidf").fit_predict(helpdesk.texts)
    sizes = np.bincount(labels)
    assert (np.diff(sizes) <= 0).all()


def test_confidence_follows_its_equation():
    h = np.array([[0.0], [1], [4], [6]], dtype=np.float32)
    model = coterie.KMeans(n_clusters=2, encoder="precomputed").fit(h)
    np.testing.assert_allclose(sorted(model.cluster_centers_[:, 0]), [0.5, 5])
    # squared distances to (0.5, 5): 0.25/25, 0.25/16, 12.25/1, 30.25/1; gaps 24.75, 15.75, 11.25, 29.25
    s = 15.75 / 2  # torch's median of an even number is the lower of the two in the middle
    expected = 1 / (1 + np.exp(-np.array([24.75, 15.75, 11.25, 29.25]) / s))
    np.testing.assert_allclose(model.predict_proba(h).max(axis=1), expected, rtol=1e-6)


def test_one_cluster_is_sure():
    model = coterie.KMeans(n_clusters=1, encoder="bow").fit(["red", "blue"])
    np.testing.assert_array_equal(model.predict_proba(["red"]), [[1.0]])


@pytest.fixture(scope="module")
def demo(helpdesk):
    return coterie.KMeans(n_clusters=16).fit(helpdesk.texts)


def test_the_demo_set_is_neither_trivial_nor_hopeless(demo, helpdesk):
    assert 0.6 < accuracy(helpdesk.true_labels, demo.labels_) < 0.9


def test_every_training_text_keeps_its_label_alone_and_in_any_company(demo, helpdesk):
    texts = helpdesk.texts
    np.testing.assert_array_equal(demo.predict(texts), demo.labels_)
    np.testing.assert_array_equal(demo.predict(texts[::-1])[::-1], demo.labels_)
    alone = np.concatenate([demo.predict([text]) for text in texts[:100]])
    np.testing.assert_array_equal(alone, demo.labels_[:100])


def test_confidence_is_about_the_share_of_right_answers(demo, helpdesk):
    from coterie.evaluation.matching import match_clusters

    match = match_clusters(helpdesk.true_labels, demo.labels_)
    right = np.array([match[k] for k in demo.labels_]) == helpdesk.true_labels
    sure = demo.confidence_ > 0.8
    assert abs(demo.confidence_.mean() - right.mean()) < 0.1
    assert right[sure].mean() > right[~sure].mean() + 0.15


# ACC and NMI (geometric) of k-means, n_init=1, mean of 5 seeds, as measured independently with
# sentence-transformers on the same files, 32 tokens.
PUBLISHED = {"agnews": (82.6, 59.2), "stackoverflow": (69.1, 69.6), "tweet": (63.2, 86.9)}


@pytest.mark.data
@pytest.mark.parametrize("name", PUBLISHED)
def test_within_two_points_of_the_reference(benchmark_data, name):
    data = benchmark_data(name)
    h = BundledEncoder(max_length=32, precision="float32").embed(data.texts)
    k = int(data.true_labels.max()) + 1
    scores = []
    for seed in range(5):
        model = coterie.KMeans(n_clusters=k, encoder="precomputed", n_init=1, random_state=seed).fit(h)
        score = agreement(data.true_labels, model.labels_)
        scores.append((100 * score["acc"], 100 * score["nmi_geometric"]))
    np.testing.assert_allclose(np.mean(scores, axis=0), PUBLISHED[name], atol=2.0)
