"""Assign many rows by the local engine: memory, and texts a second of processor time relative to the bare encoder.

    make bench-bulk
    python benchmarks/bulk.py --rows 200000 --encoder bundled

The rows are StackOverflow titles (COTERIE_DATA) with a number behind them, so that all differ, in Parquet files of
100,000 rows. The model is k-means with K=20 on the 20,000 titles; its fit is not measured.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import coterie
from coterie import datasets
from coterie.bulk.engines import BATCH_ROWS, run_local
from coterie.bulk.plan import begin, make_plan

FILE_ROWS = 100_000


def main() -> None:
    """Print one line."""
    options = argparse.ArgumentParser()
    options.add_argument("--rows", type=int, default=200_000)
    options.add_argument("--encoder", default="bundled")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _measure(Path(folder), given.rows, given.encoder)


def _measure(folder: Path, n_rows: int, encoder: str) -> None:
    titles = datasets.load("stackoverflow").texts
    model = coterie.KMeans(n_clusters=20, encoder=encoder).fit(titles)
    model.save(folder / "model")
    _write(folder / "in", titles, n_rows)
    sample = [f"{title} {i}" for i, title in enumerate(titles[:BATCH_ROWS])]
    model.encoder_.embed(sample[:64])
    start = time.process_time()
    model.encoder_.embed(sample)
    bare = len(sample) / (time.process_time() - start)
    assigner = coterie.Assigner(folder / "model", column="text").load()
    before = _peak_gigabytes()
    plan = make_plan(
        [str(folder / "in")], str(folder / "out"), model="", column="text", min_confidence=None, skip=False
    )
    start = time.process_time()
    run_local(begin(plan, str(folder / "out"), force=False), assigner, skip=False)
    rate = n_rows / (time.process_time() - start)
    print(
        f"{encoder}: {n_rows:,} rows, peak {_peak_gigabytes():.2f} GB ({before:.2f} GB before), "
        f"{rate:,.0f} texts a second of processor time, {rate / bare:.2f} of the bare encoder's {bare:,.0f}"
    )


def _write(folder: Path, titles: list[str], n_rows: int) -> None:
    folder.mkdir()
    for start in range(0, n_rows, FILE_ROWS):
        rows = range(start, min(start + FILE_ROWS, n_rows))
        texts = [f"{titles[i % len(titles)]} {i}" for i in rows]
        pq.write_table(pa.table({"id": rows, "text": texts}), folder / f"{start // FILE_ROWS:05d}.parquet")


def _peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
