"""Assign many rows by the local engine: memory, and texts a second of processor time relative to the bare encoder.

    make bench-bulk
    python benchmarks/bulk.py --rows 200000 --encoder bundled

The rows are StackOverflow titles (COTERIE_DATA) with a number behind them, so that all differ, in Parquet files of
100,000 rows. The model is k-means with K=20 on 2,000 of the titles; its fit is not measured. The bare encoder embeds
the same rows, as many as `--bare` says, a batch of 8,192 at a time.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import coterie
from coterie import datasets
from coterie.bulk.engines import BATCH_ROWS, run_local
from coterie.bulk.plan import begin, make_plan
from record import record

N_FITTED = 2_000
FILE_ROWS = 100_000


def main() -> None:
    """Print one line."""
    options = argparse.ArgumentParser()
    options.add_argument("--rows", type=int, default=200_000)
    options.add_argument("--encoder", default="bundled")
    options.add_argument("--bare", type=int, default=8 * BATCH_ROWS)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _measure(Path(folder), given.rows, given.encoder, min(given.bare, given.rows))


def _measure(folder: Path, n_rows: int, encoder: str, n_bare: int) -> None:
    titles = datasets.load("stackoverflow").texts
    model = coterie.KMeans(n_clusters=20, encoder=encoder).fit(titles[:: len(titles) // N_FITTED])
    model.save(folder / "model")
    _write(folder / "in", titles, n_rows)
    bare = n_bare / _seconds_of_encoder(model.encoder_, _texts(titles, range(n_bare)))
    assigner = coterie.Assigner(folder / "model", column="text").load()
    before = _peak_gigabytes()
    plan = make_plan(
        [str(folder / "in")], str(folder / "out"), model="", column="text", min_confidence=None, skip=False
    )
    start = time.process_time()
    run_local(begin(plan, str(folder / "out"), force=False), assigner, skip=False)
    rate, peak = n_rows / (time.process_time() - start), _peak_gigabytes()
    record(
        "assign", encoder=encoder, n=n_rows, texts_per_second=round(rate), bare=round(bare),
        ratio=round(rate / bare, 3), peak_gb=round(peak, 2), peak_gb_before=round(before, 2),
    )  # fmt: skip
    print(
        f"{encoder}: {n_rows:,} rows, peak {peak:.2f} GB ({before:.2f} GB before), "
        f"{rate:,.0f} texts a second of processor time, {rate / bare:.2f} of the bare encoder's {bare:,.0f}"
    )


def _seconds_of_encoder(encoder: Any, texts: list[str]) -> float:
    encoder.embed(texts[:64])
    start = time.process_time()
    for first in range(0, len(texts), BATCH_ROWS):
        encoder.embed(texts[first : first + BATCH_ROWS])
    return time.process_time() - start


def _texts(titles: list[str], rows: range) -> list[str]:
    return [f"{titles[i % len(titles)]} {i}" for i in rows]


def _write(folder: Path, titles: list[str], n_rows: int) -> None:
    folder.mkdir()
    for start in range(0, n_rows, FILE_ROWS):
        rows = range(start, min(start + FILE_ROWS, n_rows))
        pq.write_table(
            pa.table({"id": rows, "text": _texts(titles, rows)}), folder / f"{start // FILE_ROWS:05d}.parquet"
        )


def _peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
