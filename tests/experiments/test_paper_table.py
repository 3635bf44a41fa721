"""From results to the table, the figure and the state of an experiment."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

import coterie
from coterie.errors import InputError
from coterie.experiments.collection import Results, collect, is_old
from coterie.experiments.estimate import estimate, n_steps, parse_duration, within
from coterie.experiments.figures import draw
from coterie.experiments.jobs import Job
from coterie.experiments.paper_table import make
from coterie.experiments.registry import Experiment
from coterie.experiments.status import make_list

ABLATION = Experiment(
    "x", "Without a part", runs=("aecl", "aecl/no-ic", "telepathy"), sets=("searchsnippets", "tweet"), seeds=2
)
CURVE = [{"step": step, "nmi": 0.5 + step / 100, "seconds": 20.0 if step else None} for step in (0, 10, 20)]


def result_of(job, acc, version=coterie.__version__, **more):
    scores = {"label_based": {"acc": acc, "nmi": 0.5}, "seconds": 60.0, "versions": {"coterie": version}}
    return job.to_dict() | scores | {"n": 10, "k": 3, "curve": CURVE} | more


def all_results(experiment=ABLATION, **more):
    """Results whose variants are one point below the others."""
    return [result_of(job, 0.8 - 0.01 * bool(job.variant) + 0.02 * job.seed, **more) for job in experiment.jobs()]


def rows(table):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:1] == "|"]


def test_a_table_has_our_scores_published_ones_and_differences_with_noise():
    header, _, *body = rows(make(collect(ABLATION, Results(all_results()))))
    assert header == ["ACC / NMI", "searchsnippets", "tweet", "Δ ACC", "Δ NMI"]
    assert [row[0] for row in body] == ["aecl", "aecl, published", "aecl/no-ic", "aecl/no-ic, published"]
    assert body[0][1:] == ["81.0 ± 1.0 / 50.0 ± 0.0"] * 2 + ["–", "–"]
    assert body[2][3:] == ["-1.0 [-1.0, -1.0]", "+0.0 [+0.0, +0.0] noise"]
    assert body[3][1:3] == ["76.4 / 62.2", "–"]  # a variant has only the scores of its own


@pytest.mark.parametrize(
    ("kept", "mode", "untrained", "marked"),
    [(0, "on", 9.5, True), (1, "on", 9.5, False), (0, "off", None, False), (0, "on", None, False)],
)
def test_a_table_marks_what_the_guard_did_not_train(kept, mode, untrained, marked):
    guard = {"kept": kept, "mode": mode, "untrained": untrained}
    table = make(collect(ABLATION, Results(all_results(guard=guard))))
    assert ("81.0 ± 1.0 / 50.0 ± 0.0°" in table) is marked
    assert ("° the guard returned the clusters without training" in table) is marked


@pytest.mark.parametrize("newest_first", [False, True])
def test_a_result_of_this_version_is_shown_before_older_ones(newest_first):
    (job,) = Experiment("x", "X", runs=("kmeans",), sets=("tweet",)).jobs()
    results = [result_of(job, 0.1, version="0.1.0"), result_of(job, 0.2), result_of(job, 0.3)]
    found = Results(reversed(results) if newest_first else results).find(job)
    assert found["label_based"]["acc"] == (0.2 if newest_first else 0.3)


def test_a_result_in_another_number_format_is_shown_before_an_old_one():
    (job,) = Experiment("x", "X", runs=("sccl",), sets=("tweet",)).jobs()
    (other,) = Experiment("x", "X", runs=("sccl",), sets=("tweet",), precision="bfloat16").jobs()
    results = Results([result_of(other, 0.2), result_of(job, 0.1, version="0.1.0")])
    assert results.find(job, any_precision=True)["label_based"]["acc"] == 0.2
    assert results.find(job)["label_based"]["acc"] == 0.1


def test_only_seeds_that_all_rows_have_are_compared():
    results = [result for result in all_results() if result["variant"] or result["seed"] == 0]
    body = rows(make(collect(ABLATION, Results(results))))
    assert (body[2][1], body[4][1]) == ("80.0 / 50.0", "79.0 / 50.0")  # seed 0
    assert body[4][3] == "-1.0 (2 pairs)"  # with unmatched seeds it would be 0


def test_a_table_may_show_all_seeds_that_a_row_has():
    results = [result for result in all_results() if result["variant"] or result["seed"] == 0]
    table = make(collect(replace(ABLATION, match_seeds=False), Results(results)))
    body = rows(table)
    assert (body[2][1], body[4][1]) == ("80.0 / 50.0", "80.0 ± 1.0 / 50.0 ± 0.0")
    assert body[4][3] == "-1.0 (2 pairs)"  # differences are of equal seeds all the same
    assert "± is over seeds; without it, there is one." in table


def test_the_number_of_clusters_that_a_method_found_is_shown():
    found = Experiment("x", "X", runs=("hdbscan",), sets=("tweet",), seeds=2)
    results = [result_of(job, 0.8, **({"k_found": 6} if job.seed else {})) for job in found.jobs()]  # seed 0: all 3
    assert rows(make(collect(found, Results(results))))[2][1] == "80.0 ± 0.0 / 50.0 ± 0.0 (4 of 3)"
    assert "of 3)" not in make(collect(found, Results(results[:1])))


def test_results_of_other_versions_are_marked():
    table = make(collect(ABLATION, Results(all_results(version="0.1.0"))))
    assert "81.0 ± 1.0 / 50.0 ± 0.0†" in table
    assert "† measured with an earlier version" in table
    assert is_old({"method": "kmeans", "versions": {"coterie": "0.1.0"}})  # its rows were in another order


def test_a_result_in_another_number_format_counts_where_there_is_no_other_and_is_marked():
    other = replace(ABLATION, precision="bfloat16")
    usual, fast = all_results(), [result_of(job, 0.9) for job in other.jobs()]
    table = make(collect(ABLATION, Results([*usual[:4], *fast])))
    assert "| aecl | 85.0 ± 5.0 / 50.0 ± 0.0‡ |" in table  # seed 0 in float32, seed 1 in bfloat16
    assert "‡ the encoder computed in bfloat16" in table
    assert "‡" not in make(collect(ABLATION, Results([*usual, *fast])))
    for kind, cell in (("cost", "2 s, 1.0 GB‡"), ("published", "**+9.5 / -37.6**‡")):
        shown = replace(other, kind=kind, runs=("aecl",), sets=("tweet",))
        results = [result_of(job, 0.9, processor_seconds=2, peak_gb=1.0) for job in shown.jobs()]
        assert rows(make(collect(shown, Results(results))))[2][1] == cell
    assert len(collect(other, Results(usual)).missing) == 8  # who names a format gets no other


def test_other_settings_are_other_results():
    assert len(collect(ABLATION, Results(all_results())).missing) == 0
    changed = Experiment("x", "X", runs=ABLATION.runs, sets=ABLATION.sets, seeds=3, settings={"guard": "off"})
    assert len(collect(changed, Results(all_results())).missing) == 12


def test_formats_and_what_has_no_table(tmp_path):
    found = collect(ABLATION, Results(all_results()))
    assert make(found, "csv").splitlines()[0] == "ACC / NMI,searchsnippets,tweet,Δ ACC,Δ NMI"
    assert r"\begin{tabular}{lrrrr}" in make(found, "latex")
    old = make(collect(ABLATION, Results(all_results(version="0.1.0"))), "latex").split("%")[0]
    assert r"$\Delta$ ACC" in old
    assert old.isascii()  # compiles without packages for Unicode
    with pytest.raises(InputError, match="To compute them: coterie bench run x"):
        make(collect(ABLATION, Results([])))
    with pytest.raises(InputError, match="To compute them: coterie bench run x"):
        draw(collect(ABLATION, Results([])), tmp_path)
    maps = Experiment("m", "M", kind="map", runs=("sccl",), sets=("tweet",))
    with pytest.raises(InputError, match="is a figure"):
        make(collect(maps, Results([])))


def test_the_list_says_what_is_there_what_is_missing_and_what_it_needs():
    results = [result for result in all_results(version="0.1.0") if result["set"] == "tweet"]
    (row,) = rows(make_list([ABLATION], Results(results)))[2:]
    assert row[:2] == ["x", "scores"]
    assert row[2] == "4 of 8 (4 old)"
    assert row[4] == "method telepathy"


@pytest.mark.parametrize("kind", ["scores", "sweep", "curve", "map"])
def test_figures_are_drawn_as_png_and_svg_with_their_words(kind, tmp_path):
    runs = {"sweep": ("deccrl/topics",)}.get(kind, ("aecl", "sccl"))
    metrics = ("nmi",) if kind == "curve" else ("acc", "nmi")
    experiment = Experiment("fig", "Figure", kind=kind, runs=runs, sets=("tweet",), metrics=metrics)
    places = {"x": [0.0, 1.0, 2.0], "y": [0.0, 1.0, 0.0], "labels": [0, 9, 1]}
    png, svg = draw(collect(experiment, Results(all_results(experiment, map=places))), tmp_path)
    assert png.read_bytes()[1:4] == b"PNG"
    words = " ".join(ElementTree.parse(svg).getroot().itertext())
    assert {"scores": "tweet", "sweep": "n_topics", "curve": "step", "map": "sccl"}[kind] in words


def test_a_curve_shows_its_first_and_last_point():
    experiment = Experiment("c", "C", kind="curve", runs=("sccl",), sets=("tweet",), metrics=("nmi", "silhouette"))
    assert rows(make(collect(experiment, Results(all_results(experiment)))))[2] == [
        "sccl, tweet", "20", "0.500, 0.700", "–",
    ]  # fmt: skip


def test_costs_are_the_median_time_of_the_processor_and_the_largest_memory():
    experiment = Experiment("x", "Costs", kind="cost", runs=("spectral", "kmeans"), sets=("agnews", "tweet"), seeds=3)
    results = [
        result_of(job, 0.5, processor_seconds=[1.0, 2.0, 90.0][job.seed], peak_gb=1.0 + job.seed)
        for job in experiment.jobs()
        if job.method == "spectral" and job.dataset == "tweet"
    ]
    results += [result_of(job, 0.5) for job in experiment.jobs() if job.dataset == "agnews"]  # not measured then
    assert rows(make(collect(experiment, Results(results)), only_measured=True)) == [
        ["processor seconds, GB", "agnews", "tweet"],
        ["---", "--:", "--:"],
        ["spectral", "–", "2 s, 3.0 GB"],
    ]


def test_a_difference_of_more_than_five_points_from_a_published_score_has_a_reason():
    runs = ("hacsd", "spectral")
    experiment = Experiment("x", "Published", kind="published", runs=runs, sets=("agnews", "tweet"))
    results = [result_of(job, 0.8, processor_seconds=1.0) for job in experiment.jobs()]  # and NMI 0.5
    table = make(collect(experiment, Results(results)))
    assert rows(table)[2:] == [["hacsd", "-1.8 / -4.6", "**-9.6 / -35.2**"]]  # none was published for spectral
    reasons = [line for line in table.splitlines() if line.startswith("- ")]
    assert len(reasons) == 1
    assert reasons[0].startswith("- hacsd (tweet): ")
    assert "purity" in reasons[0]


def test_topics_have_a_row_for_each_cluster():
    experiment = Experiment("t", "T", kind="topics", runs=("deccrl",), sets=("tweet",))
    topics = [{"class": "excel", "topics": [["cell", "row"], ["chart", "axis"]]}]
    table = make(collect(experiment, Results(all_results(experiment, topics=topics))))
    assert rows(table)[2] == ["excel", "cell row; chart axis"]
    assert collect(experiment, Results(all_results(experiment))).missing  # a result without topics does not count


# -- time


def test_steps_end_at_the_limit():
    params = {"epochs": 5, "epoch_steps": None, "max_steps": 150, "batch_size": 200}
    assert n_steps(params, 2472) == 5 * 13
    assert n_steps(params, 20_000) == 150
    assert n_steps({"n_init": 10}, 20_000) == 0


def test_the_time_of_a_job_is_that_of_a_result_of_its_length_or_by_the_time_of_a_step():
    job, _ = Experiment("x", "X", runs=("aecl",), sets=("tweet",), seeds=2).jobs()
    known = [json.loads(json.dumps(result_of(job, 0.5)))]
    assert estimate(job, known) == 60
    (longer,) = Experiment("x", "X", runs=("aecl",), sets=("tweet",), settings={"epochs": 80}).jobs()
    assert estimate(longer, known) == pytest.approx(80 * 25 * 2.0)  # 40 s for 20 steps
    (whole,) = Experiment(
        "x", "X", runs=("aecl",), sets=("tweet",), settings={"epochs": 80, "trainable_layers": "none"}
    ).jobs()
    assert estimate(whole, known) == pytest.approx(80 * 25 * (2.0 * 3.1 + 0.2))  # and Adam on all weights


def test_the_time_in_bfloat16_is_shorter_and_a_busy_machine_does_not_count():
    (job,) = Experiment("x", "X", runs=("aecl",), sets=("tweet",)).jobs()
    (fast,) = Experiment("x", "X", runs=("aecl",), sets=("tweet",), precision="bfloat16").jobs()
    usual = result_of(job, 0.5)
    assert estimate(fast, [usual]) == pytest.approx(60 / 2.6)
    assert estimate(job, [result_of(fast, 0.5)]) == pytest.approx(60 * 2.6)
    assert estimate(job, [usual, usual | {"seconds": 900.0}]) == 60
    assert estimate(job, [usual | {"seconds": 900.0, "processor_seconds": 51.0}]) == pytest.approx(30)


def test_a_time_budget_leaves_the_jobs_that_fit():
    jobs = ABLATION.jobs()
    known = all_results()
    assert within(jobs, known, 150) == jobs[:2]
    assert within(jobs, known, 10) == []


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200), (" 1.5 H ", 5400)])
def test_times_are_read(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "2", "two hours", "1.2.3h", "-1h", ".h", "3 weeks"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(InputError, match="is not a time"):
        parse_duration(text)


def test_a_file_of_ones_own_has_an_estimate_too():
    assert estimate(Job("kmeans", "my.csv", 0, "cpu"), []) > 0
