"""The script that compares with other programs scores as we do; the programs themselves are not installed here."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from coterie.evaluation.metrics import agreement

PATH = Path(__file__).parents[2] / "benchmarks" / "peers.py"


@pytest.fixture(scope="module")
def peers():
    spec = importlib.util.spec_from_file_location("peers", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_scores_are_ours_and_outliers_are_one_more_cluster(peers):
    rng = np.random.default_rng(0)
    y, labels = rng.integers(0, 4, 60), rng.integers(-1, 5, 60)
    found = peers.scores(y, labels)
    expected = agreement(y, labels + 1)
    assert [found[name] for name in ("acc", "nmi", "ari")] == [
        round(expected[name], 4) for name in ("acc", "nmi", "ari")
    ]
    assert found["found"] == 5
    assert found["outliers"] == pytest.approx((labels < 0).mean(), abs=1e-4)


def test_programs_are_measured_and_shown(peers, tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "RESULTS", tmp_path / "results.jsonl")
    monkeypatch.setattr(peers, "version", lambda package: "1.0")  # they are not installed here
    y = np.array([0, 0, 1, 1])
    case = {"texts": list("abcd"), "h": np.eye(4), "k": 2, "y": y}
    peers.measure("tweet", case, {"EVoC": lambda case, seed: [0, 0, 1, -1], "BERTopic": lambda case, seed: y}, 2)
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [(line["program"], line["seed"]) for line in lines] == [
        ("EVoC", 0),
        ("EVoC", 1),
        ("BERTopic", 0),
        ("BERTopic", 1),
    ]
    assert all(line["processor_seconds"] >= 0 for line in lines)
    peers.measure("tweet", case, {"EVoC": None}, 2)  # both seeds have a line, so the program is not called
    table = peers.table()
    assert "| BERTopic | 100.0 / 100.0 / 100.0; 0 s |" in table
    assert "25 % outliers" in table
    assert "| ClustPy IDEC | – |" in table
    monkeypatch.setattr(peers, "PAGE", tmp_path / "page.md")
    peers.PAGE.write_text("# Page\n\n| | old |\n|---|---|\n| kmeans | 1 |\n\nThe end.\n")
    peers.write_page()
    assert peers.PAGE.read_text() == f"# Page\n\n{table}\n\nThe end.\n"


def test_the_page_has_the_table_of_the_results(peers, monkeypatch):
    monkeypatch.chdir(PATH.parents[1])
    page = (PATH.parents[1] / "docs" / "comparison.md").read_text(encoding="utf-8")
    assert peers.table() in page, "`python benchmarks/peers.py page` writes it."
