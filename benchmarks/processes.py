"""Training by two processes of one thread, compared with one process of two threads: seconds of a step, and labels.

    python benchmarks/processes.py --steps 20
    python benchmarks/processes.py --steps 20 --encoder tfidf --rounds 1 --no-dropout

SCCL on helpdesk, started by torchrun as a user would. The rounds alternate. The load of the machine is printed: beside
other programs both slow down, but not alike. Each process draws its own dropout, so that labels may differ; without it
they must be equal.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from coterie.evaluation.metrics import agreement
from record import record

WAYS = {"one process, two threads": (1, 2), "two processes, one thread each": (2, 1)}


def fit(target: str, n_steps: int, encoder: str, *, dropout: bool) -> None:
    """Train in this process, or in this one and others; the first writes what it measured."""
    import torch

    import coterie
    from coterie import datasets, seeding

    if not dropout:
        seeding._REPLACEMENTS[torch.nn.functional.dropout] = lambda _own, x, *_, **__: x
    texts = datasets.load("helpdesk").texts
    model = coterie.SCCL(n_clusters=16, encoder=encoder, max_steps=n_steps, epochs=1, guard="off")
    model.fit(texts)
    if os.environ.get("RANK", "0") == "0":
        seconds = sum(record["seconds"] for record in model.history_)
        n_done = model.history_[-1]["step"]
        found = {"seconds": seconds / n_done, "steps": n_done, "labels": model.labels_.tolist()}
        Path(target).write_text(json.dumps(found))


def start(n_processes: int, n_threads: int, arguments: list[str]) -> dict[str, Any]:
    """Train in new processes and return what the first of them measured."""
    with tempfile.TemporaryDirectory() as folder:
        target = str(Path(folder) / "found.json")
        worker = [__file__, *arguments, "--worker", target]
        launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={n_processes}"]
        threads = {"OMP_NUM_THREADS": str(n_threads), "OPENBLAS_NUM_THREADS": str(n_threads)}
        command = [*launcher, *worker] if n_processes > 1 else [sys.executable, *worker]
        subprocess.run(command, env=os.environ | threads, check=True)
        found: dict[str, Any] = json.loads(Path(target).read_text())
        return found


def main() -> None:
    """Print a line for each way, and the ratio."""
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=20)
    options.add_argument("--encoder", default="bundled(precision=float32)")
    options.add_argument("--no-dropout", dest="dropout", action="store_false")
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--worker", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.worker:
        fit(given.worker, given.steps, given.encoder, dropout=given.dropout)
        return
    found: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    print(f"load before: {Path('/proc/loadavg').read_text().split()[0]}")
    for _ in range(given.rounds):
        for way, (n_processes, n_threads) in WAYS.items():
            found[way].append(start(n_processes, n_threads, sys.argv[1:]))
    seconds = {way: median(run["seconds"] for run in runs) for way, runs in found.items()}
    for way, value in seconds.items():
        print(f"{way}: {value:.2f} s a step ({found[way][0]['steps']} steps)")
    one, two = seconds.values()
    same = agreement(*(np.array(runs[0]["labels"]) for runs in found.values()))["acc"]
    print(f"steps of two processes a second, relative to one: {one / two:.2f}; equal labels: {same:.1%}")
    settings = {"encoder": given.encoder, "dropout": given.dropout, "n_steps": found[way][0]["steps"]}
    record("processes", **settings, rounds=given.rounds, step_seconds=seconds, equal_labels=round(same, 4))


if __name__ == "__main__":
    main()
