"""`coterie assign --engine ray` on a local cluster of two workers; skipped where Ray is not installed."""

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import coterie

pytest.importorskip("ray")
SCRIPT = """
import os, signal
from coterie.bulk import engines, plan
from coterie.cli.main import main

class Dying(engines.PartWorker):
    def __call__(self, row):
        if row["start"] == 20 and not os.path.exists(os.environ["DIED"]):
            open(os.environ["DIED"], "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(row)

plan.PART_ROWS, engines.PartWorker = 20, Dying
main()
"""


@pytest.fixture
def assign(topics, tmp_path):
    """A function that assigns 90 texts and a file with damaged pages by two workers; one of them is killed once."""
    texts = topics[0]
    coterie.KMeans(n_clusters=3, encoder="tfidf").fit(texts).save(tmp_path / "model")
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"id": range(90), "text": texts}), tmp_path / "in/a.parquet")
    good, begin, size = (tmp_path / "in/a.parquet").read_bytes(), 300, 200
    (tmp_path / "in/b.parquet").write_bytes(good[:begin] + b"\xff" * size + good[begin + size :])
    script = tmp_path / "run.py"
    script.write_text(SCRIPT)

    def run(*more):
        command = [sys.executable, str(script), "assign", str(tmp_path / "model"), str(tmp_path / "in")]
        engine = ["--engine", "ray", "--workers", "2", "--out", str(tmp_path / "out"), *more]
        environment = os.environ | {"DIED": str(tmp_path / "died")}
        return subprocess.run(
            [*command, *engine], env=environment, capture_output=True, text=True, timeout=600, check=False
        )

    return run


@pytest.mark.slow
def test_two_workers_say_what_predict_says_a_killed_one_is_replaced_and_a_damaged_file_named(assign, topics, tmp_path):
    run = assign("--on-error", "skip")
    assert run.returncode == 0, run.stderr
    assert "b.parquet is damaged" in run.stderr
    assert (tmp_path / "died").exists()
    found = pa.concat_tables(pq.read_table(path) for path in sorted((tmp_path / "out").glob("part-*.parquet")))
    expected = coterie.load(tmp_path / "model").assignment(topics[0])
    assert found["id"].to_pylist() == list(range(90))
    assert found["cluster"].to_pylist() == expected.labels.tolist()
    np.testing.assert_array_equal(found["confidence"].to_numpy(), expected.confidence)
    stopped = assign()
    assert stopped.returncode == 2, stopped.stderr
    assert "b.parquet is damaged" in stopped.stderr
