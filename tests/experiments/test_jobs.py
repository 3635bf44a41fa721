import pytest

from coterie.errors import InputError
from coterie.experiments.collection import precision_of
from coterie.experiments.jobs import PAPER_SETS, expand, has_precision


def test_a_job_for_every_combination_with_the_first_seed_first():
    jobs = expand(["kmeans", "sccl"], ["tweet", "helpdesk"], 2, "cpu")
    assert [str(job) for job in jobs[:4]] == [
        "tweet kmeans seed 0",
        "tweet sccl seed 0",
        "helpdesk kmeans seed 0",
        "helpdesk sccl seed 0",
    ]
    assert [job.seed for job in jobs] == [0] * 4 + [1] * 4


def test_papers_stands_for_eight_data_sets_without_duplicates():
    jobs = expand(["kmeans"], ["tweet", "papers"], 1, "paper")
    assert len(PAPER_SETS) == 8
    assert [job.dataset for job in jobs] == ["tweet", *(name for name in PAPER_SETS if name != "tweet")]


def test_a_job_has_all_settings_and_the_overrides():
    job = expand(["sccl"], ["tweet"], 1, "cpu", overrides={"epochs": "2", "max_grad_norm": "none"})[0]
    assert (job.params["epochs"], job.params["max_grad_norm"], job.params["temperature"]) == (2, None, 0.5)
    assert job.overrides == {"epochs": 2, "max_grad_norm": None}
    assert {"n_clusters", "random_state", "verbose", "checkpoint"}.isdisjoint(job.params)


def test_variants_and_overrides_apply_to_the_methods_that_have_them():
    kmeans, sccl = expand(["kmeans", "sccl"], ["tweet"], 1, "paper", variant="official-code", overrides={"epochs": "2"})
    assert (kmeans.variant, kmeans.overrides) == ("", {})
    assert (sccl.variant, sccl.overrides) == ("official-code", {"epochs": 2})


def test_another_encoder_keeps_the_settings_of_the_recipe_that_it_has():
    job = expand(["kmeans"], ["tweet"], 1, "paper", encoder="transformer:folder")[0]
    assert job.encoder == "transformer"
    assert (job.encoder_params["model"], job.encoder_params["max_length"]) == ("folder", 32)
    assert "max_length" not in expand(["kmeans"], ["tweet"], 1, "paper", encoder="tfidf")[0].encoder_params


def test_a_random_encoder_has_another_seed_in_each_job():
    seeds = [job.encoder_params["seed"] for job in expand(["hdbscan"], ["tweet"], 2, "cpu")]
    given = [job.encoder_params["seed"] for job in expand(["kmeans"], ["tweet"], 2, "cpu", encoder="umap(seed=5)")]
    assert (seeds, given) == ([0, 1], [5, 6])


def test_a_job_is_done_when_a_result_has_all_its_settings():
    job = expand(["sccl"], ["tweet"], 1, "cpu")[0]
    done = job.to_dict()
    assert job.is_in([done])
    assert not job.is_in([])
    assert not job.is_in([done | {"seed": 1}])
    assert not job.is_in([done | {"params": done["params"] | {"epochs": 77}}])
    assert not job.is_in([done | {"encoder": {"name": "bundled", "params": {"max_length": 64}}}])
    older = {name: value for name, value in done["params"].items() if name != "max_grad_norm"}
    assert job.is_in([done | {"params": older}])  # a result from before the setting was added


@pytest.mark.parametrize(
    ("method", "variant", "n_jobs"),
    [("hacsd", "", 1), ("hacsd", "iterative", 3), ("agglomerative", "", 1), ("spectral", "", 3)],
)
def test_a_method_that_is_not_random_has_one_seed(method, variant, n_jobs):
    assert [job.seed for job in expand([method], ["tweet"], 3, "cpu", variant=variant)] == list(range(n_jobs))


@pytest.mark.parametrize(("guard", "is_done"), [("off", True), ("on", False)])
def test_patience_is_part_of_a_job_only_where_the_guard_gives_scores(guard, is_done):
    (job,) = expand(["sccl"], ["tweet"], 1, "cpu", overrides={"guard": guard})
    done = job.to_dict()
    assert job.is_in([done | {"params": done["params"] | {"patience": 7}}]) is is_done


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((["kmaens"], ["tweet"], 1, "cpu"), {}, "Did you mean 'kmeans'"),
        ((["kmeans"], ["twitter"], 1, "cpu"), {}, "no data set called 'twitter'"),
        ((["kmeans"], ["tweet"], 0, "cpu"), {}, "at least one method"),
        (([], ["tweet"], 1, "cpu"), {}, "at least one method"),
        ((["kmeans"], ["tweet"], 1, "cpu"), {"variant": "wild"}, "no variant called 'wild'"),
        ((["kmeans"], ["tweet"], 1, "cpu"), {"variant": "tweet"}, "no variant called 'tweet'"),
        ((["kmeans"], ["tweet"], 1, "cpu"), {"overrides": {"speed": "3"}}, "--set, kmeans: speed: no such setting"),
        ((["kmeans"], ["tweet"], 1, "cpu"), {"overrides": {"n_init": "0"}}, "n_init=0: must be a whole number"),
        ((["kmeans"], ["tweet"], 1, "cpu"), {"overrides": {"n_clusters": "3"}}, "cannot change this setting"),
        ((["kmeans"], ["tweet"], 1, "cpu"), {"encoder": "bert"}, "no encoder called 'bert'"),
        (
            (["kmeans"], ["tweet"], 1, "cpu"),
            {"encoder": "precomputed"},
            "reads vectors, but the data set 'tweet' has texts",
        ),
    ],
)
def test_invalid_jobs_raise_an_input_error(arguments, options, message):
    with pytest.raises(InputError, match=message):
        expand(*arguments, **options)


def test_a_precision_is_for_the_encoders_that_have_it():
    (bundled,) = expand(["sccl"], ["tweet"], 1, "paper", precision="bfloat16")
    (words,) = expand(["kmeans"], ["tweet"], 1, "paper", variant="tfidf", precision="bfloat16")
    assert bundled.encoder_params["precision"] == "bfloat16"
    assert bundled.encoder_params["max_length"] == 32  # the recipe's
    assert "precision" not in words.encoder_params
    (joined,) = expand(["kmeans"], ["tweet"], 1, "cpu", encoder="tfidf+bundled", precision="bfloat16")
    assert joined.encoder_params["encoders"] == "tfidf+bundled(max_length=32,precision=bfloat16)"
    assert precision_of(joined.to_dict()) == "bfloat16"
    assert [has_precision(job) for job in (bundled, words, joined)] == [True, False, True]
    assert not precision_of(words.to_dict())
    (usual,) = expand(["sccl"], ["tweet"], 1, "paper")
    assert not usual.is_in([bundled.to_dict()])
    assert usual.is_in([bundled.to_dict()], any_precision=True)
