import pytest

from coterie.benchmarks.jobs import PAPER_SETS, expand
from coterie.errors import InputError


def test_every_method_set_and_seed_is_a_job_and_the_first_seed_comes_first():
    jobs = expand(["kmeans", "sccl"], ["tweet", "helpdesk"], 2, "cpu")
    assert [str(job) for job in jobs[:4]] == [
        "tweet kmeans seed 0", "tweet sccl seed 0", "helpdesk kmeans seed 0", "helpdesk sccl seed 0",
    ]  # fmt: skip
    assert [job.seed for job in jobs] == [0] * 4 + [1] * 4


def test_the_papers_are_eight_sets_each_once():
    jobs = expand(["kmeans"], ["tweet", "papers"], 1, "paper")
    assert len(PAPER_SETS) == 8
    assert [job.dataset for job in jobs] == ["tweet", *(name for name in PAPER_SETS if name != "tweet")]


def test_a_job_says_all_settings_and_those_that_were_asked_for():
    job = expand(["sccl"], ["tweet"], 1, "cpu", overrides={"epochs": "2", "clip_norm": "none"})[0]
    assert (job.params["epochs"], job.params["clip_norm"], job.params["temperature"]) == (2, None, 0.5)
    assert job.overrides == {"epochs": 2, "clip_norm": None}
    assert {"n_clusters", "random_state", "verbose", "checkpoint"}.isdisjoint(job.params)


def test_what_is_asked_concerns_the_methods_that_know_it():
    kmeans, sccl = expand(["kmeans", "sccl"], ["tweet"], 1, "paper", variant="official-code", overrides={"epochs": "2"})
    assert (kmeans.variant, kmeans.overrides) == ("", {})
    assert (sccl.variant, sccl.overrides) == ("official-code", {"epochs": 2})


def test_another_encoder_keeps_what_the_recipe_says_of_texts():
    job = expand(["kmeans"], ["tweet"], 1, "paper", encoder="transformer:folder")[0]
    assert job.encoder == "transformer"
    assert (job.encoder_params["model"], job.encoder_params["max_length"]) == ("folder", 32)
    assert "max_length" not in expand(["kmeans"], ["tweet"], 1, "paper", encoder="tfidf")[0].encoder_params


def test_a_job_is_done_when_a_result_has_all_its_settings():
    job = expand(["sccl"], ["tweet"], 1, "cpu")[0]
    done = job.head()
    assert job.is_in([done])
    assert not job.is_in([])
    assert not job.is_in([done | {"seed": 1}])
    assert not job.is_in([done | {"params": done["params"] | {"epochs": 77}}])
    assert not job.is_in([done | {"encoder": {"name": "bundled", "params": {"max_length": 64}}}])
    older = {name: value for name, value in done["params"].items() if name != "clip_norm"}
    assert job.is_in([done | {"params": older}])  # from before there was such a setting


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((["kmaens"], ["tweet"], 1, "cpu"), {}, "Did you mean 'kmeans'"),
        ((["kmeans"], ["twitter"], 1, "cpu"), {}, "no data set called 'twitter'"),
        ((["kmeans"], ["tweet"], 0, "cpu"), {}, "one seed at least"),
        (([], ["tweet"], 1, "cpu"), {}, "name one method"),
        ((["kmeans"], ["tweet"], 1, "cpu"), {"variant": "wild"}, "no variant called 'wild'"),
        ((["kmeans"], ["tweet"], 1, "cpu"), {"variant": "tweet"}, "no variant called 'tweet'"),
        ((["kmeans"], ["tweet"], 1, "cpu"), {"overrides": {"speed": "3"}}, "--set, kmeans: speed: there are"),
        ((["kmeans"], ["tweet"], 1, "cpu"), {"overrides": {"n_init": "0"}}, "n_init=0: must be a whole number"),
        ((["kmeans"], ["tweet"], 1, "cpu"), {"overrides": {"n_clusters": "3"}}, "decides this itself"),
        ((["kmeans"], ["tweet"], 1, "cpu"), {"encoder": "bert"}, "no encoder called 'bert'"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is(arguments, options, message):
    with pytest.raises(InputError, match=message):
        expand(*arguments, **options)
