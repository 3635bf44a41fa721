import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_tcc_separates_two_moons_and_kmeans_does_not(tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    accuracy = runpy.run_path(str(EXAMPLES / "two_moons.py"))["main"](tmp_path / "moons.png", max_steps=100)
    assert accuracy["TCC"] > 0.92
    assert accuracy["KMeans"] < 0.85
    assert (tmp_path / "moons.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run an example on few messages and with an encoder that needs no weights; it must draw its picture."""
    monkeypatch.setenv("MPLBACKEND", "Agg")

    def run(name, **settings):
        found = runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"](
            tmp_path / "figure.png", encoder="tfidf", **settings
        )
        assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
        return found

    return run


def test_tickets_to_report(run, tmp_path):
    assert run("tickets_to_report", n_texts=80, n_clusters=4).n_clusters_ == 4
    assert (tmp_path / "map.html").stat().st_size > 50_000
    assert (tmp_path / "model" / "manifest.json").is_file()


def test_choose_k(run):
    assert 2 <= run("choose_k", n_texts=80, n_clusters="2-4") <= 4


def test_confidence_is_higher_where_the_cluster_is_right(run):
    right, wrong = run("confidence", n_texts=300)
    assert right > wrong


def test_train_and_compare(run):
    model = run("train_and_compare", n_texts=60, n_clusters=3, batch_size=30, max_steps=2)
    assert len(model.history_) > 0
    assert "Guard: off" in str(model.guard_)
