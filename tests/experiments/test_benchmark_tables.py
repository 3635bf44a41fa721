"""The tables of benchmark scripts say what their results say."""

import importlib.util
import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_number_of_clusters_within_a_factor_of_one_and_a_half_is_near():
    found = {"auto": {"tweet": 60, "agnews": 6}, "evoc": {"tweet": 59, "agnews": 7}}
    true = {"tweet": 89, "agnews": 4}
    results = {
        (name, program): {"true": true[name], "n_clusters": n}
        for program, numbers in found.items()
        for name, n in numbers.items()
    }
    lines = load("n_clusters").table(results).splitlines()
    assert "| agnews | 4 | 6 | - | 7 | - |" in lines
    assert lines[-1] == "| within a factor of 1.5 | | 2 of 2 | 0 of 0 | 0 of 2 | 0 of 0 |"


def test_reliability_is_shown_before_and_after():
    row = {"acc": 0.9, "before": {"confidence": 0.4, "ece": 0.5}, "after": {"confidence": 0.88, "ece": 0.02}}
    table = load("reliability").table({("tweet", "sccl"): row})
    assert table.splitlines()[-1] == "| tweet | sccl | 1 | 0.900 | 0.880 | 0.500 | 0.020 |"


def test_reliability_is_the_mean_of_the_default_runs_that_have_both_errors(tmp_path):
    def line(seed, ece, *, changed=None, **scores):
        label_based = {"acc": 0.8, "ece": ece, **scores}
        names = {"method": "sccl", "variant": "", "preset": "cpu", "set": "tweet", "seed": seed}
        rest = {"encoder": {"name": "bundled"}, "params": {}, "overrides": {}, "label_free": {"confidence": 0.7}}
        return json.dumps({**names, **rest, "label_based": label_based, **(changed or {})}) + "\n"

    both = {"ece_uncalibrated": 0.5}
    lines = [line(0, 0.9, **both), line(0, 0.1, **both), line(1, 0.3, **both)]  # the last of a seed counts
    lines += [line(2, 0.7), line(3, 0.7, changed={"variant": "x"}, **both)]
    lines += [line(0, 0.6, changed={"overrides": {"guard": "off"}, "guard": {"mode": "off", "kept": 0}}, **both)]
    lines += [line(4, 0.7, changed={"guard": {"mode": "on", "kept": 0}}, **both)]
    (tmp_path / "some.jsonl").write_text("".join(lines))
    module = load("reliability")
    table = module.table(module.measured([tmp_path / "some.jsonl"]))
    assert table.splitlines()[2:] == [
        "| tweet | sccl | 2 | 0.800 | 0.700 | 0.500 | 0.200 |",
        "| tweet | sccl, guard off | 1 | 0.800 | 0.700 | 0.500 | 0.600 |",
    ]


def test_labels_below_zero_are_no_cluster():
    assert load("n_clusters")._counted([0, 0, 2, -1]) == (2, pytest.approx(0.25))


def refined(name, seed, scores, *, method="refine", kept=1, minutes=1.0):
    """A result whose curve begins with the clusters of `neighbors`, and has two epochs."""
    points = [{"acc": acc, "nmi": nmi} for acc, nmi in scores]
    encoder = {"name": "bundled", "params": {"precision": "bfloat16"}}
    more = {"curve": points, "guard": {"kept": kept}, "processor_seconds": 60 * minutes} if method == "refine" else {}
    return {"set": name, "seed": seed, "method": method, "encoder": encoder, "n": 10, "k": 4,
            "label_based": points[kept if method == "refine" else 0]} | more  # fmt: skip


def test_refine_is_compared_with_the_same_seeds():
    """Means are over the seeds of `refine`: another seed of k-means does not count, a missing one leaves a dash."""
    refine = load("refine")
    results = [
        refined("tweet", 0, [(0.8, 0.7), (0.82, 0.74), (0.81, 0.75)]),
        refined("tweet", 1, [(0.6, 0.5), (0.62, 0.54), (0.61, 0.53)], kept=0, minutes=2.0),
        *(refined("tweet", seed, [(0.5 + seed / 10, 0.4)], method="kmeans") for seed in (0, 1, 2)),
        refined("helpdesk", 0, [(0.5, 0.5), (0.4, 0.6), (0.4, 0.4)]),
    ]
    lines = refine.table(refine.runs(results)).splitlines()
    tweet = "55.0 / 40.0 | 70.0 / 60.0 | 71.0 / 62.0 | 1, untrained | 71.5 / 64.5 | 1.5"
    assert lines[2:4] == [
        f"| tweet | bundled | 0 to 1 | 10 | 4 | {tweet} |",
        "| helpdesk (held out) | bundled | 0 | 10 | 4 | – | 50.0 / 50.0 | 40.0 / 60.0 | 1 | 40.0 / 60.0 | 1.0 |",
    ]
    assert lines[-2:] == [
        "- bundled, tuned on, 1 set: +1.0 / +2.0 on average, +1.0 / +2.0 at worst.",
        "- bundled, held out, 1 set: -10.0 / +10.0 on average, -10.0 / +10.0 at worst.",
    ]


def test_a_table_takes_the_place_of_the_one_between_its_marks(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    documents = load("documents")
    monkeypatch.setitem(documents.TABLES, "names", lambda names: f"| {' | '.join(names)} |")
    text = "a\n<!-- table: names x y -->\nold\n<!-- end of table -->\nb\n<!-- table: names -->\n<!-- end of table -->\n"
    assert documents.fill(text) == (
        "a\n<!-- table: names x y -->\n\n| x | y |\n\n<!-- end of table -->\nb\n"
        "<!-- table: names -->\n\n|  |\n\n<!-- end of table -->\n"
    )
    assert documents.fill(documents.fill(text)) == documents.fill(text)


def test_a_run_of_a_paper_is_shown_before_training_at_its_end_and_after_it():
    """With 20 epochs the last tenth are two. Epochs that have no labels count for nothing."""
    paper_runs = load("paper_runs")
    (job,) = paper_runs.experiment("tcc-paper").jobs()
    curve = [{"step": step, "acc": 0.5 + step / 100, "nmi": 0.6} for step in range(22)]
    curve[1] |= {"acc": None, "nmi": None}
    more = {"curve": curve, "processor_seconds": 150.0, "peak_gb": 2.04}
    table = paper_runs.table(paper_runs.Results([job.to_dict() | more]))
    assert table.splitlines()[2:] == [
        "| tcc | tweet | dropout | 20, 21 | 2, 2.0 | 50.0 / 60.0 | 70.5 / 60.0 | 71.0 / 60.0 | – |"
    ]
