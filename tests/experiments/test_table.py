import pytest

from coterie.errors import InputError
from coterie.experiments.jobs import expand
from coterie.experiments.table import make_table


def make_result(method, dataset, seed, acc, seconds=2.0, **options):
    job = expand([method], [dataset], seed + 1, "cpu", **options)[-1]
    scores = {"label_based": {"acc": acc, "nmi": 0.5}, "label_free": {"silhouette": 0.0521}}
    return job.to_dict() | scores | {"n": 10, "k": 3, "seconds": seconds, "versions": {"coterie": "0.1.0"}}


def cells(table):
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines() if row.startswith("|")]
    return [rows[0], *rows[2:]]


def test_a_column_for_each_method_with_k_means_first_and_published_scores():
    results = [
        make_result("sccl", "tweet", 0, 0.80, 100),
        make_result("sccl", "tweet", 1, 0.90, 140),
        make_result("kmeans", "tweet", 0, 0.60),
        make_result("kmeans", "agnews", 0, 0.70),
    ]
    assert cells(make_table(results)) == [
        ["set", "N", "K", "kmeans ACC / NMI", "time", "sccl ACC / NMI", "time", "published"],
        ["agnews", "10", "3", "70.0 / 50.0", "2.0 s", "–", "–", "88.2 / 68.2"],
        ["tweet", "10", "3", "60.0 / 50.0", "2.0 s", "85.0 ± 5.0 / 50.0 ± 0.0", "2 min", "78.2 / 89.2"],
    ]


def test_the_published_score_is_only_beside_the_first_column_of_a_method():
    results = [make_result("sccl", "tweet", 0, 0.8), make_result("sccl", "tweet", 0, 0.7, overrides={"head_lr": "0.5"})]
    header, row = cells(make_table(results, ["acc"]))
    assert header[3:] == ["sccl ACC", "time", "published", "sccl, head_lr=0.5 ACC", "time"]
    assert row[3::3] == ["80.0", "70.0"]


def test_a_variant_with_published_scores_of_its_own_has_them_beside_it():
    results = [make_result("kmeans", "tweet", 0, 0.5, variant=variant) for variant in ("bow", "tfidf")]
    header, row = cells(make_table(results, ["acc"]))
    assert header[3::3] == ["kmeans, bow, bow ACC", "kmeans, tfidf, tfidf ACC"]
    assert row[5::3] == ["49.7", "57.0"]


def test_the_notes_have_settings_seeds_sources_and_versions():
    notes = make_table([make_result("sccl", "tweet", seed, 0.8, overrides={"head_lr": "0.5"}) for seed in (0, 1)])
    assert "- sccl, head_lr=0.5: preset cpu, bundled(max_length=32, precision=float32); head_lr=0.5" in notes
    assert "2 seeds. Published: SCCL, Table 1. No baseline: run kmeans with this encoder as well." in notes
    assert notes.endswith("Versions: coterie 0.1.0")


def test_other_settings_and_other_encoders_have_their_own_columns():
    results = [
        make_result("kmeans", "tweet", 0, 0.6),
        make_result("kmeans", "tweet", 0, 0.7, overrides={"n_init": "3"}),
        make_result("kmeans", "tweet", 0, 0.5, encoder="tfidf"),
    ]
    header, row = cells(make_table(results, ["acc"]))
    assert header[3::2] == [
        "kmeans, bundled(max_length=32, precision=float32) ACC",
        "kmeans, bundled(max_length=32, precision=float32), n_init=3 ACC",
        "kmeans, tfidf ACC",
    ]
    assert row[3::2] == ["60.0", "70.0", "50.0"]


def test_after_a_change_of_a_recipe_only_the_newest_settings_count():
    old = [make_result("sccl", "tweet", seed, 0.1) for seed in (0, 1)]
    old = [result | {"params": result["params"] | {"head_lr": 0.5}} for result in old]
    table = make_table([*old, make_result("sccl", "tweet", 0, 0.8)], ["acc"])
    assert cells(table)[1][3] == "80.0"
    assert "2 older results, replaced or with other settings, are left out." in table


def test_a_result_from_before_a_setting_was_added_has_its_default():
    old = make_result("sccl", "tweet", 0, 0.8)
    new = make_result("sccl", "tweet", 1, 0.9)
    old = old | {"params": {name: value for name, value in old["params"].items() if name != "max_grad_norm"}}
    assert cells(make_table([old, new], ["acc"]))[1][3] == "85.0 ± 5.0"


def test_other_metrics():
    assert cells(make_table([make_result("kmeans", "tweet", 0, 0.6)], ["silhouette", "acc"]))[1][3] == "0.052 / 60.0"
    with pytest.raises(InputError, match=r"no metric called 'f1'\. They have acc, nmi, silhouette"):
        make_table([make_result("kmeans", "tweet", 0, 0.6)], ["f1"])
