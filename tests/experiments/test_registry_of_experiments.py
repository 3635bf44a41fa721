"""Tables and figures of the papers by name."""

import pytest

from coterie.cli.bench_papers import Changes
from coterie.clusterer import METHODS
from coterie.datasets import DATASETS
from coterie.errors import InputError
from coterie.experiments import registry
from coterie.experiments.registry import Experiment, experiment, experiments, parse

NAMES = """
    sccl-table-1 sccl-table-2 sccl-table-3 sccl-figure-1 sccl-figure-3 sccl-figure-4 sccl-figure-5-left
    sccl-figure-5-right sccl-temperature sccl-alternatives
    aecl-table-1 aecl-table-2 aecl-table-3 aecl-table-4 aecl-table-5 aecl-figure-4 aecl-figure-5 aecl-figure-6
    aecl-figure-7 aecl-figure-8 aecl-figure-9
    deccrl-table-1 deccrl-table-2 deccrl-table-3 deccrl-table-4 deccrl-figure-2 deccrl-figure-3 deccrl-figure-4
    deccrl-splits
    clusterbert-table-2 clusterbert-table-3 clusterbert-table-4 clusterbert-table-5 clusterbert-figure-1
    clusterbert-figure-3 clusterbert-figure-4
    tcc-texts tcc-images tcc-ablations tcc-figure-1
    """.split()


def test_every_table_and_figure_of_the_papers_is_there():
    assert set(NAMES) <= set(experiments())


@pytest.mark.parametrize("name", experiments())
def test_every_experiment_can_be_run(name):
    found = experiment(name)
    assert found.title
    if found.kind == "script":
        assert found.script.startswith("python ")
    elif found.kind == "statistics":
        assert all(DATASETS[dataset].input_type == "texts" for dataset in found.known_sets)
    else:
        jobs = found.jobs()
        assert jobs
        assert {job.seed for job in jobs} == set(range(max(found.seeds, *found.seeds_of.values(), 0)))
        assert set(found.seeds_of) <= set(found.known_sets)
        assert not found.reference or found.reference in found.known_runs
        runs = {registry.run_of(job) for job in jobs}
        assert runs == set(found.known_runs)
        assert all(any(setting in job.overrides for job in jobs) for setting in found.settings)


def test_everything_that_is_registered_is_in_the_tables_of_all():
    texts = experiment("all-texts")
    assert texts.known_runs == list(METHODS)
    assert texts.known_sets == [name for name, entry in DATASETS.items() if entry.input_type == "texts"]


def test_a_run_that_does_not_exist_yet_is_left_out_and_named():
    found = Experiment("x", "X", runs=("kmeans", "telepathy", "kmeans/upside-down"), sets=("tweet",))
    assert found.known_runs == ["kmeans"]
    assert found.unknown_runs == ["telepathy", "kmeans/upside-down"]
    assert [job.method for job in found.jobs()] == ["kmeans"]


def test_a_data_set_may_have_more_seeds_than_the_others_until_the_command_line_says_how_many():
    found = Experiment("x", "X", runs=("kmeans",), sets=("tweet", "agnews"), seeds_of={"tweet": 3})
    assert [(job.dataset, job.seed) for job in found.jobs()] == [
        ("tweet", 0),
        ("agnews", 0),
        ("tweet", 1),
        ("tweet", 2),
    ]
    two = Changes(seeds=2).apply(found).jobs()
    assert [(job.dataset, job.seed) for job in two] == [("tweet", 0), ("agnews", 0), ("tweet", 1), ("agnews", 1)]


def test_settings_are_for_the_methods_that_have_them():
    found = Experiment("x", "X", runs=("kmeans", "aecl/no-ic"), sets=("tweet",), settings={"guard": "off"})
    kmeans, aecl = found.jobs()
    assert kmeans.overrides == {}
    assert (aecl.variant, aecl.overrides, aecl.params["guard"]) == ("no-ic", {"guard": "off"}, "off")


def test_a_grid_has_a_job_for_each_point_and_a_map_asks_for_positions():
    jobs = Experiment("x", "X", kind="sweep", runs=("deccrl/topics",), sets=("tweet",)).jobs()
    assert [job.overrides for job in jobs] == [{"n_topics": n} for n in (1, 5, 10, 15, 20, 25, 30)]
    (job,) = Experiment("x", "X", kind="map", runs=("sccl",), sets=("tweet",), n_clusters=5).jobs()
    assert (job.extra, job.n_clusters) == ("map", 5)


@pytest.mark.parametrize(
    ("content", "message"),
    [({"title": "X", "colour": "red"}, "colour"), ({"title": "X", "kind": "poem"}, "kind must be one of scores")],
)
def test_a_wrong_entry_is_named(content, message):
    with pytest.raises(InputError, match=message):
        parse("x", content)


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(InputError, match="Did you mean 'sccl-table-1'"):
        experiment("sccl-table1")
