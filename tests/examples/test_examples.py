import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_examples_are_short():
    for path in EXAMPLES.glob("*.py"):
        assert sum(1 for line in path.read_text().splitlines() if line.strip()) < 60, path.name


def test_tcc_tells_two_moons_apart_and_kmeans_cuts_through_both(tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    right = runpy.run_path(str(EXAMPLES / "two_moons.py"))["main"](tmp_path / "moons.png")
    assert right["TCC"] > 0.97
    assert right["KMeans"] < 0.85
    assert (tmp_path / "moons.png").read_bytes().startswith(b"\x89PNG")
