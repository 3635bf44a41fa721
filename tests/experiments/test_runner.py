import json
from dataclasses import replace

import numpy as np
import pytest

import coterie
from coterie import datasets
from coterie.datasets import Dataset
from coterie.errors import TrainingError
from coterie.experiments import runner
from coterie.experiments.jobs import expand
from coterie.experiments.results import read_results
from coterie.experiments.runner import missing, run_job, run_jobs
from coterie.experiments.scoring import calibration_error
from coterie.experiments.unfinished import Unfinished
from coterie.probabilities import Calibration
from coterie.training.trainer import Run

TRAINING = {"epochs": "2", "batch_size": "32", "guard": "on", "patience": "none"}


@pytest.fixture(scope="module")
def small(topics):
    """91 texts on three topics; the last is a duplicate of the first."""
    texts, true_labels = topics
    return Dataset("helpdesk", [*texts, texts[0]], np.append(true_labels, true_labels[0]), ["a", "b", "c"])


def make_job(method, **options):
    return expand([method], ["helpdesk"], 1, "cpu", encoder="tfidf", **options)[0]


@pytest.mark.parametrize(("method", "overrides"), [("kmeans", {}), ("neighbors", {}), ("sccl", TRAINING)])
def test_true_labels_do_not_influence_the_model(method, overrides, small, tmp_path):
    job = make_job(method, overrides=overrides)
    result, labels = run_job(job, small, tmp_path)
    permuted = replace(small, true_labels=np.random.default_rng(1).permutation(small.true_labels))
    other, labels_of_permuted = run_job(job, permuted, tmp_path)
    assert np.array_equal(labels, labels_of_permuted)
    assert result["labels_sha256"] == other["labels_sha256"]
    assert result["label_free"] == other["label_free"]
    assert result.get("guard") == other.get("guard")
    assert result["label_based"]["acc"] > other["label_based"]["acc"]  # the scores do use the true labels


def test_a_result_has_the_job_the_scores_and_the_versions(small, tmp_path):
    result, labels = run_job(make_job("sccl", overrides=TRAINING), small, tmp_path)
    assert result == json.loads(json.dumps(result, allow_nan=False))
    assert (result["method"], result["set"], result["seed"], result["n"], result["k"]) == ("sccl", "helpdesk", 0, 91, 3)
    assert result["params"]["batch_size"] == 32
    assert result["seconds"] > 0
    assert result["processor_seconds"] > 0
    assert result["peak_gb"] > 0
    agreement = {"acc", "nmi", "nmi_geometric", "ari", "ami", "purity"}
    assert set(result["label_based"]) == agreement | {"ece", "ece_uncalibrated"}
    assert set(result["label_free"]) == {"silhouette", "intra_distance", "inter_distance", "confidence"}
    assert "torch" in result["versions"]
    assert len(labels) == 91


def test_the_uncalibrated_error_is_that_of_the_probabilities_before_calibration(tmp_path):
    data = datasets.load("helpdesk")
    result, labels = run_job(make_job("kmeans"), data, tmp_path)
    model = coterie.KMeans(n_clusters=16, encoder="tfidf", random_state=0).fit(data.texts)
    assert np.array_equal(labels, model.labels_)
    assert model.objective_.calibration != Calibration()
    model.objective_.calibration = Calibration()
    before = calibration_error(data.true_labels, labels, model.predict_proba(data.texts).max(axis=1))
    assert result["label_based"]["ece_uncalibrated"] == pytest.approx(before, abs=1e-4)
    assert result["label_based"]["ece"] != result["label_based"]["ece_uncalibrated"]


def test_without_the_guard_the_last_point_of_the_curve_is_the_result(small, tmp_path):
    result, _ = run_job(make_job("sccl", overrides=TRAINING | {"guard": "off"}), small, tmp_path)
    assert [point["epoch"] for point in result["curve"]] == [0, 1, 2]
    assert {"loss", "acc", "nmi", "intra", "inter", "intra_true", "inter_true"} <= set(result["curve"][-1])
    assert result["curve"][-1]["acc"] == result["label_based"]["acc"]


@pytest.mark.parametrize("guard", ["on", "off"])
def test_the_scores_are_of_the_embeddings_of_the_model(small, tmp_path, guard):
    model, _, h = runner._fit(make_job("sccl", overrides=TRAINING | {"guard": guard}), small, tmp_path, None)
    assert (h is None) == (guard == "on")  # a guarded model may be that of an earlier epoch than the last
    if h is not None:
        np.testing.assert_allclose(h, model.transform(small.items), atol=1e-6)


def test_the_curve_has_the_dunn_index_at_the_end_of_each_stage(small, tmp_path):
    settings = {"epochs": "4", "adapt_epochs": "1", "harden_epochs": "1", "epoch_steps": "2", "guard": "off"}
    curve = run_job(make_job("clusterbert", overrides=settings), small, tmp_path)[0]["curve"]
    assert [(point["stage"], "dunn" in point) for point in curve] == [
        ("init", True),
        ("adapt", True),
        ("cluster", False),
        ("cluster", True),
        ("harden", True),
    ]
    assert all("silhouette" in point for point in curve)


# -- many jobs ---------------------------------------------------------------------------------------------


@pytest.fixture
def finished(monkeypatch):
    """Replace jobs by fake ones that take no time; return the list of those that ran. Seed 7 fails."""
    ran = []

    def run_isolated(_function, job, _folder, _results, *, progress, title):
        ran.append(str(job))
        if job.seed == 7:
            raise TrainingError("Training stopped.")
        return job.to_dict() | {"label_based": {"acc": 1.0}}

    monkeypatch.setattr(runner.isolation, "run_isolated", run_isolated)
    return ran


def test_a_second_run_runs_only_the_missing_jobs(tmp_path, finished):
    out = tmp_path / "new" / "results.jsonl"
    list(run_jobs(missing(expand(["kmeans"], ["tweet"], 2, "cpu"), out), out, tmp_path))
    list(run_jobs(missing(expand(["kmeans"], ["tweet", "agnews"], 2, "cpu"), out), out, tmp_path))
    names = ["tweet kmeans seed 0", "tweet kmeans seed 1", "agnews kmeans seed 0", "agnews kmeans seed 1"]
    assert finished == names
    assert missing(expand(["kmeans"], ["tweet", "agnews"], 2, "cpu"), out) == []


def test_a_job_with_an_incomplete_last_line_runs_again(tmp_path, finished):
    out = tmp_path / "results.jsonl"
    jobs = expand(["kmeans"], ["tweet"], 3, "cpu")
    list(run_jobs(jobs, out, tmp_path))
    complete = out.read_bytes()
    out.write_bytes(complete[:-40])
    assert [job.seed for job in missing(jobs, out)] == [2]
    list(run_jobs(missing(jobs, out), out, tmp_path))
    assert out.read_bytes() == complete
    out.write_bytes(complete[:-1])  # only the line end is missing
    list(run_jobs(expand(["kmeans"], ["agnews"], 1, "cpu"), out, tmp_path))
    assert [result["set"] for result in read_results(out)] == ["tweet"] * 3 + ["agnews"]


def test_after_a_failed_training_the_next_job_runs(tmp_path, finished):
    out = tmp_path / "results.jsonl"
    jobs = expand(["kmeans"], ["tweet"], 2, "cpu")
    outcomes = list(run_jobs([replace(jobs[0], seed=7), jobs[1]], out, tmp_path))
    assert [outcome.failure for outcome in outcomes] == ["Training stopped.", ""]
    assert len(read_results(out)) == 1


def test_processes_with_the_same_jobs_share_them(tmp_path, monkeypatch):
    out = tmp_path / "results.jsonl"
    jobs, others = expand(["kmeans"], ["tweet"], 3, "cpu"), []

    def run_isolated(_function, job, *_, **__):
        if job.seed == 0:  # while it runs, the same command is started once more
            others.extend(run_jobs(jobs, out, tmp_path))
        return job.to_dict() | {"label_based": {"acc": 1.0}}

    monkeypatch.setattr(runner.isolation, "run_isolated", run_isolated)
    outcomes = list(run_jobs(jobs, out, tmp_path))
    assert [outcome.elsewhere for outcome in others] == ["another process runs it", "", ""]
    assert [outcome.elsewhere for outcome in outcomes] == ["", *["another process has run it"] * 2]
    assert [result["seed"] for result in read_results(out)] == [1, 2, 0]
    assert [path.name for path in tmp_path.iterdir()] == ["results.jsonl"]


class StopError(Exception):
    """Stands for the end of a process."""


def stop_after(monkeypatch, epochs):
    """Interrupt the training when the curve has a point of so many epochs."""
    score = runner.Curve.__call__

    def score_and_stop(curve, evaluation):
        score(curve, evaluation)
        if evaluation.record["epoch"] == epochs:
            raise StopError

    monkeypatch.setattr(runner.Curve, "__call__", score_and_stop)


def test_an_interrupted_job_resumes_and_has_the_result_of_one_that_was_not(small, tmp_path, monkeypatch):
    job = make_job("sccl", overrides=TRAINING | {"epochs": "4"})
    whole, _ = run_job(job, small, tmp_path)
    unfinished = Unfinished(job, tmp_path)
    with monkeypatch.context() as patched:
        stop_after(patched, 3)
        with pytest.raises(StopError):
            run_job(job, small, tmp_path, unfinished=unfinished)
    assert [point["epoch"] for point in unfinished.begin()[1]] == [0, 1, 2, 3]
    steps = count_steps(monkeypatch)
    resumed, _ = run_job(job, small, tmp_path, unfinished=unfinished)
    assert len(steps) == 2 * 3  # two of four epochs: the third ended before its checkpoint
    times = {"seconds", "processor_seconds", "peak_gb", "curve"}
    assert resumed.pop("resumed")
    assert {k: v for k, v in resumed.items() if k not in times} == {k: v for k, v in whole.items() if k not in times}
    without_time = [[{k: v for k, v in p.items() if k != "seconds"} for p in r["curve"]] for r in (resumed, whole)]
    assert without_time[0] == without_time[1]
    unfinished.remove()
    assert not unfinished.checkpoint.parent.exists()


def count_steps(monkeypatch):
    steps = []
    take = Run._step
    monkeypatch.setattr(Run, "_step", lambda run, *args: (steps.append(run.step), take(run, *args)))
    return steps
