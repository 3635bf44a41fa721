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


@pytest.mark.slow
def test_two_workers_say_what_predict_says_and_a_killed_one_is_replaced(topics, tmp_path):
    texts = topics[0]
    coterie.KMeans(n_clusters=3, encoder="tfidf").fit(texts).save(tmp_path / "model")
    pq.write_table(pa.table({"id": range(90), "text": texts}), tmp_path / "in.parquet")
    script = tmp_path / "run.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), "assign", str(tmp_path / "model"), str(tmp_path / "in.parquet")]
    more = ["--engine", "ray", "--workers", "2", "--out", str(tmp_path / "out")]
    environment = os.environ | {"DIED": str(tmp_path / "died")}
    run = subprocess.run([*command, *more], env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "died").exists()
    found = pa.concat_tables(pq.read_table(path) for path in sorted((tmp_path / "out").glob("part-*.parquet")))
    expected = coterie.load(tmp_path / "model").assignment(texts)
    assert found["id"].to_pylist() == list(range(90))
    assert found["cluster"].to_pylist() == expected.labels.tolist()
    np.testing.assert_array_equal(found["confidence"].to_numpy(), expected.confidence)
