import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_tcc_separates_two_moons_and_kmeans_does_not(tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    accuracy = runpy.run_path(str(EXAMPLES / "two_moons.py"))["main"](tmp_path / "moons.png", max_steps=100)
    assert accuracy["TCC"] > 0.92
    assert accuracy["KMeans"] < 0.85
    assert (tmp_path / "moons.png").read_bytes().startswith(b"\x89PNG")
