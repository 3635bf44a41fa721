import json
from dataclasses import replace

import numpy as np
import pytest

from coterie.benchmarks import run as runner
from coterie.benchmarks.cache import CachedEncoder
from coterie.benchmarks.jobs import expand
from coterie.benchmarks.measure import calibration_error
from coterie.benchmarks.results import append_result, read_results
from coterie.benchmarks.run import missing, run_job, run_jobs
from coterie.data.datasets import Dataset
from coterie.encoders.lexical import TfidfEncoder
from coterie.errors import InputError, TrainingError

DEEP = {"epochs": "2", "batch_size": "32", "guard": "on"}


@pytest.fixture(scope="module")
def small(topics):
    texts, true_labels = topics
    return Dataset("helpdesk", [*texts, texts[0]], np.append(true_labels, true_labels[0]), ["a", "b", "c"])


def job(method, **options):
    return expand([method], ["helpdesk"], 1, "cpu", encoder="tfidf", **options)[0]


@pytest.mark.parametrize(("method", "overrides"), [("kmeans", {}), ("neighbours", {}), ("sccl", DEEP)])
def test_true_labels_cannot_leak_into_what_is_learnt(method, overrides, small, tmp_path):
    asked = job(method, overrides=overrides)
    result, labels = run_job(asked, small, tmp_path)
    permuted = replace(small, true_labels=np.random.default_rng(1).permutation(small.true_labels))
    other, labels_of_permuted = run_job(asked, permuted, tmp_path)
    assert np.array_equal(labels, labels_of_permuted)
    assert result["labels_sha256"] == other["labels_sha256"]
    assert result["label_free"] == other["label_free"]
    assert result.get("guard") == other.get("guard")
    assert result["label_based"]["acc"] > other["label_based"]["acc"]  # the labels were different ones


def test_a_result_says_what_was_run_how_long_with_what_and_how_well(small, tmp_path):
    result, labels = run_job(job("sccl", overrides=DEEP), small, tmp_path)
    assert result == json.loads(json.dumps(result, allow_nan=False))
    assert (result["method"], result["set"], result["seed"], result["n"], result["k"]) == ("sccl", "helpdesk", 0, 91, 3)
    assert result["params"]["batch_size"] == 32
    assert result["seconds"] > 0
    assert result["peak_gb"] > 0
    assert set(result["label_based"]) == {"acc", "nmi", "nmi_geometric", "ari", "ami", "purity", "ece"}
    assert set(result["label_free"]) == {"silhouette", "intra_distance", "inter_distance", "confidence"}
    assert "torch" in result["versions"]
    assert len(labels) == 91


def test_the_curve_has_every_epoch_and_ends_where_an_unguarded_training_ends(small, tmp_path):
    result, _ = run_job(job("sccl", overrides=DEEP | {"guard": "off"}), small, tmp_path)
    assert [point["epoch"] for point in result["curve"]] == [0, 1, 2]
    assert {"loss", "acc", "nmi", "intra", "inter", "intra_true", "inter_true"} <= set(result["curve"][-1])
    assert result["curve"][-1]["acc"] == result["label_based"]["acc"]


def test_the_curve_has_the_dunn_index_where_a_stage_ends(small, tmp_path):
    settings = {"epochs": "4", "adapt_epochs": "1", "harden_epochs": "1", "epoch_steps": "2", "guard": "off"}
    curve = run_job(job("clusterbert", overrides=settings), small, tmp_path)[0]["curve"]
    assert [(point["stage"], "dunn" in point) for point in curve] == [
        ("start", True), ("adapt", True), ("cluster", False), ("cluster", True), ("harden", True),
    ]  # fmt: skip
    assert all("silhouette" in point for point in curve)


def test_vectors_from_the_cache_are_those_that_were_computed(small, tmp_path, monkeypatch):
    first = run_job(job("kmeans"), small, tmp_path)
    kept = list(tmp_path.glob("*.npy"))
    assert len(kept) == 1
    monkeypatch.setattr(TfidfEncoder, "embed", None)  # whoever computes now fails
    second = run_job(job("kmeans"), small, tmp_path)
    assert np.array_equal(first[1], second[1])
    assert first[0]["encode_seconds"] == second[0]["encode_seconds"]


def test_other_texts_another_vocabulary_and_other_settings_are_other_vectors(tmp_path):
    def embed(fitted, texts, **settings):
        return CachedEncoder(inner=TfidfEncoder(**settings), folder=tmp_path).fit(fitted).embed(texts)

    first = embed(["red fish", "blue fish"], ["red fish"])
    assert np.array_equal(first, TfidfEncoder().fit(["red fish", "blue fish"]).embed(["red fish"]))
    assert not np.array_equal(first, embed(["red fish", "blue fish"], ["blue fish"]))
    assert first.shape != embed(["red fish"], ["red fish"]).shape
    assert first.shape != embed(["red fish", "blue fish"], ["red fish"], max_features=2).shape


def test_vectors_that_are_not_whole_are_computed_again(tmp_path):
    cached = CachedEncoder(inner="bow", folder=tmp_path).fit(["red fish"])
    first = cached.embed(["red fish"])
    path = next(tmp_path.glob("*.npy"))
    path.write_bytes(path.read_bytes()[:100])
    assert np.array_equal(cached.embed(["red fish"]), first)
    assert np.array_equal(np.load(path), first)


# -- many jobs ---------------------------------------------------------------------------------------------


@pytest.fixture
def at_once(monkeypatch):
    """Jobs that take no time; the list of those that were run."""
    ran = []

    def call(_work, asked, _folder, *, show):
        ran.append(str(asked))
        if asked.seed == 7:
            raise TrainingError("Training stopped.")
        return asked.head() | {"label_based": {"acc": 1.0}}

    monkeypatch.setattr(runner.apart, "call", call)
    return ran


def test_a_second_run_does_only_what_is_missing(tmp_path, at_once):
    out = tmp_path / "new" / "results.jsonl"
    list(run_jobs(missing(expand(["kmeans"], ["tweet"], 2, "cpu"), out), out, tmp_path))
    list(run_jobs(missing(expand(["kmeans"], ["tweet", "agnews"], 2, "cpu"), out), out, tmp_path))
    names = ["tweet kmeans seed 0", "tweet kmeans seed 1", "agnews kmeans seed 0", "agnews kmeans seed 1"]
    assert at_once == names
    assert missing(expand(["kmeans"], ["tweet", "agnews"], 2, "cpu"), out) == []


def test_a_last_line_cut_short_is_a_job_to_run_again(tmp_path, at_once):
    out, jobs = tmp_path / "results.jsonl", expand(["kmeans"], ["tweet"], 3, "cpu")
    list(run_jobs(jobs, out, tmp_path))
    whole = out.read_bytes()
    out.write_bytes(whole[:-40])
    assert [asked.seed for asked in missing(jobs, out)] == [2]
    list(run_jobs(missing(jobs, out), out, tmp_path))
    assert out.read_bytes() == whole
    out.write_bytes(whole[:-1])  # all there but the end of the line
    list(run_jobs(expand(["kmeans"], ["agnews"], 1, "cpu"), out, tmp_path))
    assert [result["set"] for result in read_results(out)] == ["tweet"] * 3 + ["agnews"]


def test_a_training_that_fails_does_not_end_the_others(tmp_path, at_once):
    out, jobs = tmp_path / "results.jsonl", expand(["kmeans"], ["tweet"], 2, "cpu")
    outcomes = list(run_jobs([replace(jobs[0], seed=7), jobs[1]], out, tmp_path))
    assert [outcome.failure for outcome in outcomes] == ["Training stopped.", ""]
    assert len(read_results(out)) == 1


def test_a_line_that_is_no_result_is_named(tmp_path):
    out = tmp_path / "results.jsonl"
    out.write_text("{nonsense\n{}\n")
    with pytest.raises(InputError, match=r"results\.jsonl, line 1 is not JSON"):
        read_results(out)
    out.write_text('{"method": "kmeans"}\n')
    with pytest.raises(InputError, match="line 1 is not a benchmark's result: it has no 'variant'"):
        read_results(out)


def test_numbers_that_json_lacks_are_never_written(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        append_result(tmp_path / "results.jsonl", {"acc": float("nan")})
    assert not (tmp_path / "results.jsonl").exists()


def test_calibration_error_is_the_gap_between_sure_and_right():
    true_labels, labels = np.array([0, 0, 1, 1, 0]), np.array([1, 1, 0, 0, -1])
    assert calibration_error(true_labels, labels, np.array([1.0, 1, 1, 1, np.nan])) == 0
    assert calibration_error(true_labels, labels, np.array([0.65, 0.65, 1, 1, np.nan])) == pytest.approx(0.175)
