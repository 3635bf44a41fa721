"""The recipe for Spark on two local workers; skipped where Spark or Java is not installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import coterie

pytest.importorskip("pyspark")
EXAMPLE = Path(__file__).parents[2] / "examples" / "assign_with_spark.py"
DYING = """
import os, runpy, signal, sys
import coterie

def die_once(self, batch, call=coterie.Assigner.__call__):
    if 40 in list(batch["id"]) and not os.path.exists(os.environ["DIED"]):
        open(os.environ["DIED"], "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return call(self, batch)

class Dying(coterie.Assigner):
    __call__ = die_once

coterie.Assigner = Dying
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
def test_two_workers_say_what_predict_says_and_a_killed_one_is_replaced(topics, tmp_path):
    texts = topics[0]
    coterie.KMeans(n_clusters=3, encoder="tfidf").fit(texts).save(tmp_path / "model")
    (tmp_path / "in").mkdir()
    for start in (0, 30, 60):
        rows = range(start, start + 30)
        table = pa.table({"id": rows, "text": texts[start : start + 30]})
        pq.write_table(table, tmp_path / "in" / f"{start}.parquet")
    script = tmp_path / "dying.py"
    script.write_text(DYING)
    environment = os.environ | {
        "DIED": str(tmp_path / "died"),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": "--master local[2,4] --driver-memory 1g pyspark-shell",  # two workers, four attempts
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = [str(EXAMPLE), str(tmp_path / "model"), str(tmp_path / "in"), str(tmp_path / "out")]
    run = subprocess.run(
        [sys.executable, str(script), *command],
        env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:]
    assert (tmp_path / "died").exists()
    found = pq.read_table(tmp_path / "out").sort_by("id")
    expected = coterie.load(tmp_path / "model").assignment(texts)
    assert found["id"].to_pylist() == list(range(90))
    assert found["cluster"].to_pylist() == expected.labels.tolist()
    np.testing.assert_array_equal(found["confidence"].to_numpy(), expected.confidence)
