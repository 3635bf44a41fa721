import pytest

from coterie.benchmarks.jobs import expand
from coterie.benchmarks.table import make_table
from coterie.errors import InputError


def line(method, dataset, seed, acc, seconds=2.0, **options):
    job = expand([method], [dataset], seed + 1, "cpu", **options)[-1]
    scores = {"label_based": {"acc": acc, "nmi": 0.5}, "label_free": {"silhouette": 0.0521}}
    return job.head() | scores | {"n": 10, "k": 3, "seconds": seconds, "versions": {"coterie": "0.1.0"}}


def cells(table):
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines() if row.startswith("|")]
    return [rows[0], *rows[2:]]


def test_ours_the_published_score_and_k_means_stand_side_by_side():
    results = [
        line("sccl", "tweet", 0, 0.80, 100), line("sccl", "tweet", 1, 0.90, 140), line("kmeans", "tweet", 0, 0.60),
        line("kmeans", "agnews", 0, 0.70),
    ]  # fmt: skip
    assert cells(make_table(results)) == [
        ["set", "N", "K", "kmeans ACC / NMI", "time", "sccl ACC / NMI", "time", "published"],
        ["agnews", "10", "3", "70.0 / 50.0", "2.0 s", "–", "–", "88.2 / 68.2"],
        ["tweet", "10", "3", "60.0 / 50.0", "2.0 s", "85.0 ± 5.0 / 50.0 ± 0.0", "2 min", "78.2 / 89.2"],
    ]


def test_the_published_score_stands_beside_the_first_column_of_a_method_only():
    results = [line("sccl", "tweet", 0, 0.8), line("sccl", "tweet", 0, 0.7, overrides={"head_lr": "0.5"})]
    header, row = cells(make_table(results, ["acc"]))
    assert header[3:] == ["sccl ACC", "time", "published", "sccl, head_lr=0.5 ACC", "time"]
    assert row[3::3] == ["80.0", "70.0"]


def test_settings_seeds_sources_and_versions_are_below():
    notes = make_table([line("sccl", "tweet", seed, 0.8, overrides={"head_lr": "0.5"}) for seed in (0, 1)])
    assert "- sccl, head_lr=0.5: preset cpu, bundled(max_length=32, precision=float32); head_lr=0.5" in notes
    assert "2 seeds. Published: SCCL, Table 1. Not compared: run kmeans with this encoder as well." in notes
    assert notes.endswith("Versions: coterie 0.1.0")


def test_other_settings_and_encoders_are_columns_of_their_own():
    results = [
        line("kmeans", "tweet", 0, 0.6), line("kmeans", "tweet", 0, 0.7, overrides={"n_init": "3"}),
        line("kmeans", "tweet", 0, 0.5, encoder="tfidf"),
    ]  # fmt: skip
    header, row = cells(make_table(results, ["acc"]))
    assert header[3::2] == [
        "kmeans, bundled(max_length=32, precision=float32) ACC",
        "kmeans, bundled(max_length=32, precision=float32), n_init=3 ACC",
        "kmeans, tfidf ACC",
    ]
    assert row[3::2] == ["60.0", "70.0", "50.0"]


def test_when_a_recipe_has_changed_only_the_newest_settings_count():
    old = [line("sccl", "tweet", seed, 0.1) for seed in (0, 1)]
    old = [result | {"params": result["params"] | {"head_lr": 0.5}} for result in old]
    table = make_table([*old, line("sccl", "tweet", 0, 0.8)], ["acc"])
    assert cells(table)[1][3] == "80.0"
    assert "2 older results, replaced or with other settings, are left out." in table


def test_a_result_from_before_there_was_a_setting_counts_with_those_that_have_it():
    old, new = line("sccl", "tweet", 0, 0.8), line("sccl", "tweet", 1, 0.9)
    old = old | {"params": {name: value for name, value in old["params"].items() if name != "clip_norm"}}
    assert cells(make_table([old, new], ["acc"]))[1][3] == "85.0 ± 5.0"


def test_other_metrics_can_be_asked_for():
    assert cells(make_table([line("kmeans", "tweet", 0, 0.6)], ["silhouette", "acc"]))[1][3] == "0.052 / 60.0"
    with pytest.raises(InputError, match=r"no metric called 'f1'\. They have acc, nmi, silhouette"):
        make_table([line("kmeans", "tweet", 0, 0.6)], ["f1"])
