"""Tables and figures of the papers on the command line."""

import json

import pytest

import coterie
from coterie.experiments.registry import experiment


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the results of the first seed of one experiment."""
    monkeypatch.chdir(tmp_path)
    results = tmp_path / "benchmarks" / "results"
    results.mkdir(parents=True)
    scores = {"label_based": {"acc": 0.8, "nmi": 0.5, "ari": 0.4}, "seconds": 60.0, "n": 10, "k": 3}
    versions = {"versions": {"coterie": coterie.__version__}}
    lines = [job.to_dict() | scores | versions for job in experiment("sccl-protocol").jobs() if job.seed == 0]
    (results / "cpu.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (results / "other.jsonl").write_text('{"speed": 3}\n')
    return tmp_path


def test_list_table_and_figure(folder, invoke):
    line = next(line for line in invoke("bench", "list", "sccl").stdout.splitlines() if "sccl-protocol" in line)
    assert "| 6 of 18 |" in line
    assert "aecl" not in invoke("bench", "list", "tcc").stdout
    table = invoke("bench", "table", "sccl-protocol").stdout
    assert "| sccl/paper-start | 80.0 / 50.0 |" in table
    assert "| sccl/paper-start | 40.0 |" in invoke("bench", "table", "sccl-protocol", "--metrics", "ari").stdout
    assert "80.0 / 50.0" in invoke("bench", "table", "sccl-protocol", "-f", "latex").stdout
    invoke("bench", "figure", "sccl-protocol", "-o", "figures")
    assert sorted(path.name for path in (folder / "figures").iterdir()) == ["sccl-protocol.png", "sccl-protocol.svg"]


def test_run_says_what_a_time_budget_leaves(folder, invoke):
    run = invoke("bench", "run", "sccl-protocol", "--time-budget", "10s")
    assert "18 jobs, already in benchmarks/results/papers.jsonl: 6" in run.stderr
    assert "The time budget leaves 0 jobs, without 12 others." in run.stderr
    assert "coterie bench table sccl-protocol" in run.stderr


def test_a_table_of_one_number_format_leaves_out_the_others(folder, invoke):
    assert "80.0 / 50.0 |" in invoke("bench", "table", "sccl-protocol", "--precision", "float32").stdout
    assert "no results" in invoke("bench", "table", "sccl-protocol", "--precision", "bfloat16", code=2).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run",), "Name tables or figures"),
        (("run", "sccl-table-1", "-m", "kmeans"), "one of both"),
        (("run", "sccl-tabel-1"), "Did you mean 'sccl-table-1'"),
        (("table", "sccl-tabel-1"), "Did you mean 'sccl-table-1'"),
        (("table", "aecl-table-3"), "no results of aecl-table-3 yet"),
        (("figure", "deccrl-table-1"), "has no figure"),
        (("run", "sccl-protocol", "--time-budget", "soon"), "is not a time"),
        (("table", "sccl-figure-1"), "coterie bench figure sccl-figure-1"),
        (("run", "sccl-table-1", "--variant", "cluster"), "NAME has its own"),
        (("run", "-m", "kmeans", "--variant", "tfidf", "-s", "tweet", "--precision", "bfloat16"), "number format"),
        (("run", "sccl-paper-views"), "say with --views where it is"),
    ],
)
def test_mistakes_get_a_sentence(folder, invoke, arguments, message):
    assert message in " ".join(invoke("bench", *arguments, code=2).stderr.split())
