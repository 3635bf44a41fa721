from itertools import combinations, permutations
from math import dist, log, sqrt

import numpy as np
import pytest

from coterie.errors import InputError
from coterie.evaluation import metrics

# -- the definitions as slow loops


def slow_accuracy(y, k):
    clusters = sorted(set(k))
    classes = sorted(set(y)) + [None] * len(clusters)  # None: a cluster without a class
    matchings = (dict(zip(clusters, chosen, strict=True)) for chosen in permutations(classes, len(clusters)))
    return max(sum(m[b] == a for a, b in zip(y, k, strict=True)) for m in matchings) / len(y)


def slow_purity(y, k):
    classes_by_cluster = [[a for a, b in zip(y, k, strict=True) if b == cluster] for cluster in set(k)]
    return sum(max(members.count(c) for c in members) for members in classes_by_cluster) / len(y)


def slow_entropy(labels):
    shares = [labels.count(c) / len(labels) for c in set(labels)]
    return -sum(p * log(p) for p in shares)


def slow_mutual_information(y, k):
    return slow_entropy(y) + slow_entropy(k) - slow_entropy(list(zip(y, k, strict=True)))


def slow_ari(y, k):
    pairs = list(combinations(range(len(y)), 2))
    in_both = sum(y[i] == y[j] and k[i] == k[j] for i, j in pairs)
    in_y = sum(y[i] == y[j] for i, j in pairs)
    in_k = sum(k[i] == k[j] for i, j in pairs)
    chance = in_y * in_k / len(pairs)
    return (in_both - chance) / ((in_y + in_k) / 2 - chance)


def slow_ami(y, k):
    shuffled = [slow_mutual_information(y, list(p)) for p in permutations(k)]
    chance = sum(shuffled) / len(shuffled)
    return (slow_mutual_information(y, k) - chance) / ((slow_entropy(y) + slow_entropy(k)) / 2 - chance)


def slow_silhouette(h, k):
    scores = []
    for i, x in enumerate(h):
        distances = {c: [dist(x, h[j]) for j in range(len(h)) if k[j] == c and j != i] for c in set(k)}
        own = distances.pop(k[i])
        a = sum(own) / max(len(own), 1)
        b = min(sum(d) / len(d) for d in distances.values())
        scores.append((b - a) / max(a, b) if own else 0)  # 0 for the only row of a cluster
    return sum(scores) / len(scores)


def slow_dunn(h, k):
    pairs = list(combinations(range(len(h)), 2))
    between = min(dist(h[i], h[j]) for i, j in pairs if k[i] != k[j])
    return between / max(dist(h[i], h[j]) for i, j in pairs if k[i] == k[j])


# -- external metrics

EXTERNAL_METRICS = ["acc", "nmi", "nmi_geometric", "ari", "ami", "purity"]
CASES = {
    "as many clusters as classes": ([0, 0, 0, 1, 1, 2], [1, 1, 0, 0, 2, 2]),
    "more clusters than classes": ([0, 0, 0, 1, 1, 1], [0, 1, 2, 2, 3, 3]),
    "fewer clusters than classes": ([0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1]),
    "worse than chance": ([0, 0, 1, 1, 2, 2], [0, 1, 0, 2, 1, 2]),
}
cases = pytest.mark.parametrize(("y", "k"), CASES.values(), ids=CASES.keys())


@cases
def test_agreement_equals_the_slow_definitions(y, k):
    mutual_information = slow_mutual_information(y, k)
    assert metrics.agreement(y, k) == pytest.approx(
        {
            "acc": slow_accuracy(y, k),
            "nmi": mutual_information / ((slow_entropy(y) + slow_entropy(k)) / 2),
            "nmi_geometric": mutual_information / sqrt(slow_entropy(y) * slow_entropy(k)),
            "ari": slow_ari(y, k),
            "ami": slow_ami(y, k),
            "purity": slow_purity(y, k),
        },
        abs=1e-12,
    )


@pytest.mark.parametrize(
    ("case", "acc", "purity"),
    [
        ("as many clusters as classes", (2 + 1 + 1) / 6, (2 + 1 + 1) / 6),
        ("more clusters than classes", (1 + 0 + 0 + 2) / 6, (1 + 1 + 1 + 2) / 6),
        ("fewer clusters than classes", (2 + 2) / 6, (2 + 2) / 6),
    ],
)
def test_accuracy_and_purity_counted_by_hand(case, acc, purity):
    assert metrics.accuracy(*CASES[case]) == pytest.approx(acc)
    assert metrics.purity(*CASES[case]) == pytest.approx(purity)


@cases
def test_agreement_does_not_depend_on_cluster_numbers_or_the_order_of_texts(y, k):
    order = np.random.default_rng(0).permutation(len(y))
    renumbered = np.array([7, 3, 11, 5])[k]
    assert metrics.agreement(np.array(y)[order], renumbered[order]) == pytest.approx(metrics.agreement(y, k))


@pytest.mark.parametrize("names", [["b", "a", "d", "c"], [100, -1, 7, 3], [0.5, 2.5, 1.5, -3.0]])
@cases
def test_labels_may_be_strings_or_numbers(y, k, names):
    def named(labels):
        return [names[i] for i in labels]

    assert metrics.agreement(named(y), k) == pytest.approx(metrics.agreement(y, k))
    assert metrics.agreement(y, named(k)) == pytest.approx(metrics.agreement(y, k))


@pytest.mark.parametrize("metric", EXTERNAL_METRICS)
@pytest.mark.parametrize("k", [[2, 2, 0, 0, 1], ["x", "x", "z", "z", "y"]])
def test_perfect_clusters_score_one(metric, k):
    assert metrics.agreement([0, 0, 1, 1, 2], k)[metric] == pytest.approx(1)


@pytest.mark.parametrize("metric", ["nmi", "nmi_geometric", "ari", "ami"])
def test_a_single_cluster_scores_zero(metric):
    assert metrics.agreement([0, 0, 1, 1], [0, 0, 0, 0])[metric] == pytest.approx(0)


@pytest.mark.parametrize("metric", [metrics.accuracy, metrics.purity, metrics.agreement])
@pytest.mark.parametrize(
    ("y", "k", "message"),
    [
        ([], [], "no labels"),
        ([0, 1, 1], [0, 1], r"\(3,\) and \(2,\)"),
        ([[0, 1]], [[0, 1]], "one-dimensional and of equal length"),
        (0, 0, "one-dimensional and of equal length"),
    ],
)
def test_labels_that_cannot_be_compared_raise(metric, y, k, message):
    with pytest.raises(InputError, match=message):
        metric(y, k)


# -- internal metrics

INTERNAL_METRICS = [
    metrics.silhouette,
    metrics.dunn,
    metrics.intra_distance,
    metrics.inter_distance,
    metrics.internal_metrics,
]
POINTS = np.array([[0.0, 0.0], [0.0, 2.0], [6.0, 0.0], [6.0, 4.0], [0.0, 9.0]])
CLUSTERS = np.array([0, 0, 1, 1, 2])


def random_clusters(n=60, n_clusters=4):
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, 3)), rng.permutation(np.arange(n) % n_clusters)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_internal_metrics_computed_by_hand(dtype):
    means = [(0, 1), (6, 2), (0, 9)]  # the rows are 1, 2 and 0 away from them
    nearest = [dist(means[0], means[1]), dist(means[0], means[1]), dist(means[0], means[2])]
    assert metrics.internal_metrics(POINTS.astype(dtype), CLUSTERS) == pytest.approx(
        {
            "silhouette": slow_silhouette(POINTS, CLUSTERS.tolist()),
            "dunn": 6 / 4,  # (0, 0) to (6, 0), over (6, 0) to (6, 4)
            "intra_distance": (1 + 2 + 0) / 3,
            "inter_distance": sum(nearest) / 3,
        }
    )


@pytest.mark.parametrize("metric", INTERNAL_METRICS)
@pytest.mark.parametrize("names", [[3, 10, -5], ["b", "a", "c"]])
def test_internal_metrics_do_not_depend_on_cluster_names(metric, names):
    assert metric(POINTS, np.array(names)[CLUSTERS]) == pytest.approx(metric(POINTS, CLUSTERS))


@pytest.mark.parametrize("block", [1, 7, 59, 60, 64])
def test_dunn_in_blocks_equals_slow_loop(monkeypatch, block):
    monkeypatch.setattr(metrics, "_BLOCK", block)
    h, k = random_clusters()
    assert metrics.dunn(h, k) == pytest.approx(slow_dunn(h, k))
    assert metrics.dunn(h, np.sort(k)) == pytest.approx(slow_dunn(h, np.sort(k)))  # the last rows are in one cluster


def test_dunn_is_invariant_to_a_shift_of_all_vectors():
    h, k = random_clusters()
    assert metrics.dunn(h + 1e6, k) == pytest.approx(slow_dunn(h, k), rel=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_dunn_of_clusters_of_identical_rows_is_infinite(seed):
    h = np.random.default_rng(seed).normal(size=(3, 384))
    assert metrics.dunn(np.repeat(h, 3, axis=0), np.repeat([0, 1, 2], 3)) == np.inf


def test_silhouette_uses_a_sample_that_depends_on_the_seed():
    h, k = random_clusters(400)
    full = metrics.silhouette(h, k)
    assert full == pytest.approx(slow_silhouette(h.tolist(), k.tolist()))
    assert metrics.silhouette(h, k, sample=400) == full
    sampled = [metrics.silhouette(h, k, sample=200, seed=seed) for seed in (0, 0, 1)]
    assert sampled[0] == sampled[1] != sampled[2]
    assert sampled == pytest.approx([full] * 3, abs=0.05)


@pytest.mark.parametrize(
    "k", [np.repeat([0, 1], [1, 199]), np.arange(200) // 2], ids=["one cluster", "one row per cluster"]
)
def test_silhouette_that_is_undefined_for_the_sample_raises(k):
    h = np.random.default_rng(0).normal(size=(200, 2))
    with pytest.raises(InputError, match="sample of 5 rows has fewer than 2 clusters, or one cluster per row"):
        metrics.silhouette(h, k, sample=5)


@pytest.mark.parametrize("metric", INTERNAL_METRICS)
@pytest.mark.parametrize(
    ("h", "k"),
    [
        (np.zeros((0, 2)), np.array([], dtype=int)),
        (POINTS, CLUSTERS[:4]),
        (POINTS, np.zeros(5, dtype=int)),
        (POINTS, np.arange(5)),
        (POINTS[:, 0], CLUSTERS),
        (POINTS, CLUSTERS[:, None]),
        (np.where(POINTS == 9, np.nan, POINTS), CLUSTERS),
    ],
    ids=["empty", "lengths differ", "one cluster", "one row per cluster", "1-d vectors", "2-d labels", "nan"],
)
def test_internal_metrics_of_invalid_input_raise(metric, h, k):
    with pytest.raises(InputError):
        metric(h, k)
