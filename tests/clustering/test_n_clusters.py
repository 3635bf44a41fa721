import numpy as np
import pytest
from scipy.stats import multivariate_normal

import coterie
from coterie.clustering.n_clusters import (
    Candidate,
    NClustersCurve,
    choose_n_clusters,
    held_out_likelihood,
    n_clusters_range,
    sample_rows,
)
from coterie.errors import InputError


def blobs(n_clusters, size=40, dim=16, spread=0.3, seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(n_clusters, dim))
    noise = rng.normal(size=(n_clusters, size, dim))
    return (centers[:, None] + spread * noise).reshape(-1, dim).astype(np.float32)


@pytest.mark.parametrize("n_clusters", [3, 6, 11])
def test_separate_blobs_are_counted(n_clusters):
    curve = choose_n_clusters(blobs(n_clusters), seed=0)
    assert n_clusters / 1.2 <= curve.n_clusters <= n_clusters * 1.2


def test_the_likelihood_of_the_other_half_is_highest_at_the_true_number():
    curve = choose_n_clusters(blobs(6), seed=0)
    assert max(curve.candidates, key=lambda c: c.likelihood).n_clusters == 6


def test_candidates_end_at_twice_the_number_that_the_likelihood_supports():
    numbers = [c.n_clusters for c in choose_n_clusters(blobs(6), seed=0).candidates]
    assert numbers[-2] < 12 <= numbers[-1] < 16
    assert choose_n_clusters(blobs(6), lower=2, upper=30, seed=0).candidates[-1].n_clusters == 30


def test_the_likelihood_is_that_of_a_mixture_of_gaussians():
    rng = np.random.default_rng(0)
    fitted, others, labels = rng.normal(size=(30, 3)), rng.normal(size=(7, 3)), np.repeat([0, 1, 4], [5, 10, 15])
    centers = [fitted[labels == k].mean(axis=0) for k in (0, 1, 4)]
    total = sum(((fitted[labels == k] - center) ** 2).sum() for k, center in zip((0, 1, 4), centers, strict=True))
    cov = np.eye(3) * total / 90
    density = sum(
        weight * multivariate_normal(center, cov).pdf(others)
        for weight, center in zip((1 / 6, 1 / 3, 1 / 2), centers, strict=True)
    )
    assert held_out_likelihood(fitted, labels, others) == pytest.approx(np.log(density).mean())


def test_the_number_stays_in_the_range():
    curve = choose_n_clusters(blobs(6), lower=8, upper=12, seed=0)
    assert [c.n_clusters for c in curve.candidates] == [8, 9, 10, 12]
    assert curve.n_clusters == 8


def test_the_same_seed_gives_the_same_curve_and_another_seed_another():
    h = blobs(4, spread=1.0)
    assert choose_n_clusters(h, seed=3) == choose_n_clusters(h, seed=3)
    assert choose_n_clusters(h, seed=3) != choose_n_clusters(h, seed=4)


def test_among_stable_candidates_the_best_separated_one_is_used():
    curve = NClustersCurve.of([Candidate(2, 0.50, 0.9, 3), Candidate(4, 0.85, 0.2, 2), Candidate(8, 0.80, 0.4, 1)])
    assert curve.n_clusters == 8


def test_the_shortlist_has_a_coarser_and_a_finer_number():
    numbers = [(2, 0.9), (3, 0.8), (5, 0.7), (10, 1.0), (12, 0.93), (20, 0.3), (40, 0.6)]
    curve = NClustersCurve.of([Candidate(k, stability, k == 10, 0.0) for k, stability in numbers])
    assert [c.n_clusters for c in curve.shortlist] == [2, 10, 40]
    assert curve.sentences[0] == (
        "10 clusters (middle; used), the best separated of the stable numbers: stability 1.00, separation 1.00."
    )
    assert curve.sentences[1].startswith("2 clusters (coarse), broad topics: stability 0.90")
    assert curve.sentences[2].startswith("40 clusters (fine), narrow topics: stability 0.60")
    assert NClustersCurve.from_dict(curve.as_dict()) == curve
    without = [{"n_clusters": 3, "stability": 1.0, "separation": 0.5}]  # as models were saved before
    assert NClustersCurve.from_dict({"candidates": without, "best": 0}).n_clusters == 3


@pytest.mark.parametrize(
    ("setting", "expected"), [(16, (16, 16)), ("16", (16, 16)), ("5-60", (5, 60)), ("auto", (2, None))]
)
def test_a_setting_is_a_number_a_range_or_auto(setting, expected):
    assert n_clusters_range(setting) == expected


@pytest.mark.parametrize("setting", ["0", "many", "60-5", "0-5", "5-", "-5", "5-6-7", "9999999999"])
def test_another_setting_is_refused_in_a_sentence(setting):
    with pytest.raises(InputError, match=r"must be a number \(16\), a range \(5-60\), or auto"):
        n_clusters_range(setting)


def test_many_items_are_sampled():
    rows = sample_rows(10_000, seed=0)
    assert len(np.unique(rows)) == 3000
    np.testing.assert_array_equal(rows, np.sort(rows))
    np.testing.assert_array_equal(sample_rows(50, seed=0), np.arange(50))


def test_few_items_still_get_clusters():
    assert choose_n_clusters(blobs(2, size=2), seed=0).n_clusters == 1
    assert 1 <= choose_n_clusters(blobs(2, size=5), seed=0).n_clusters <= 4


def test_auto_equals_the_same_number_said_and_is_saved(tmp_path, topics):
    texts = topics[0]
    model = coterie.KMeans(n_clusters="auto", encoder="tfidf").fit(texts)
    assert model.n_clusters == "auto"
    assert model.n_clusters_ == model.n_clusters_curve_.n_clusters == len(np.unique(model.labels_))
    exact = coterie.KMeans(n_clusters=model.n_clusters_, encoder="tfidf").fit(texts)
    assert exact.n_clusters_curve_ is None
    np.testing.assert_array_equal(model.labels_, exact.labels_)
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    assert loaded.n_clusters_ == model.n_clusters_
    assert loaded.n_clusters_curve_ == model.n_clusters_curve_
    np.testing.assert_array_equal(loaded.predict(texts), model.labels_)


def test_a_method_that_trains_chooses_too(topics):
    model = coterie.SCCL(n_clusters="2-5", encoder="tfidf", epochs=1, max_steps=2).fit(topics[0])
    assert 2 <= model.n_clusters_ <= 5
    assert model.predict_proba(topics[0]).shape == (90, model.n_clusters_)


def test_a_range_above_the_number_of_texts_is_refused():
    with pytest.raises(InputError, match="5 clusters need at least 5 distinct texts"):
        coterie.KMeans(n_clusters="5-9", encoder="tfidf").fit(["a b", "b c", "c d"])


def test_a_range_above_what_halves_of_the_items_can_show_is_refused():
    with pytest.raises(InputError, match=r"Among 5 to 60 clusters none can be chosen: .* there are 10"):
        choose_n_clusters(np.eye(10, dtype=np.float32), lower=5, upper=60, seed=0)


def test_repeated_vectors_give_no_warning_of_scikit_learn(recwarn):
    choose_n_clusters(np.repeat(np.eye(6, dtype=np.float32), 25, axis=0), lower=2, upper=None, seed=0)
    assert [str(warning.message) for warning in recwarn] == []
