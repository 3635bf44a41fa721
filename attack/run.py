"""Attack coterie: hostile files, models and checkpoints, kills, terminal codes, threads, no network.

    make attack                                   # ten minutes
    python attack/run.py --seconds 60 --seed 3    # one minute, other attempts

Prints how many attempts were made, refused in a sentence and accepted; the exit code is 1 if any failed. An attempt
runs in a process of its own, with at most 20 s of processor and 1,000 MB above what coterie itself takes.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # a process with threads cannot be forked
os.environ["COTERIE_CACHE_MB"] = "0"

import numpy as np

import checkpoints
import coterie
import files
import kills
import models
import surroundings
import writing
from attempt import Case, attempt
from tiny import warm_up

Part = Callable[[Path, np.random.Generator], Iterator[Case]]
PARTS: dict[str, tuple[Part, float]] = {  # with its share of the time
    "killed at a file call": (writing.cases, 0.2),
    "model folders": (models.cases, 0.2),
    "checkpoints": (checkpoints.cases, 0.15),
    "files": (files.cases, 0.15),
    "killed trainings": (kills.cases, 0.2),
    "terminal codes": (surroundings.terminal, 0.04),
    "threads": (surroundings.threads, 0.03),
    "without a network": (surroundings.offline, 0.03),
}
KILLS = 100  # of trainings in a full run, even if it takes longer


def main() -> None:
    """Run all parts and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="coterie-attack-") as folder:
        warm_up(Path(folder))
    counts, failures = run(options.seconds, options.seed, options.parts)
    print(f"coterie {coterie.__version__}, {options.seconds:.0f} s, seed {options.seed}\n")
    print(table(counts))
    for name, detail in failures:
        print(f"\nFAILED {name}\n{detail}")
    sys.exit(1 if failures else 0)


def run(seconds: float, seed: int, parts: list[str]) -> tuple[dict[str, Counter[str]], list[tuple[str, str]]]:
    """Return how the attempts of each part ended, and those that failed with the reason."""
    total = sum(PARTS[name][1] for name in parts)
    counts: dict[str, Counter[str]] = {}
    failures: list[tuple[str, str]] = []
    for name in parts:
        part, share = PARTS[name]
        least = KILLS if part is kills.cases and seconds >= 600 else 0
        counts[name] = Counter()
        n_kills = 0
        with tempfile.TemporaryDirectory(prefix="coterie-attack-") as folder:
            end = time.monotonic() + seconds * share / total
            for case in part(Path(folder), np.random.default_rng(seed)):
                outcome = attempt(case)
                counts[name][outcome.verdict] += 1
                if outcome.verdict == "failed":
                    failures.append((case.name, outcome.detail))
                    print(f"FAILED {case.name}", file=sys.stderr, flush=True)
                n_kills += outcome.value if part is kills.cases and outcome.value else 0
                if time.monotonic() > end and n_kills >= least:
                    break
        counts[name]["kills"] = n_kills
        print(f"{name}: {dict(counts[name])}", file=sys.stderr, flush=True)
    return counts, failures


def table(counts: dict[str, Counter[str]]) -> str:
    """Return the counts as a table in Markdown."""
    lines = ["| attack | tried | refused | accepted | failed |", "|---|---:|---:|---:|---:|"]
    everything: Counter[str] = sum(counts.values(), Counter())
    for name, count in [*counts.items(), ("**all**", everything)]:
        numbers = [count[verdict] for verdict in ("refused", "accepted", "failed")]
        what = f"{name} ({count['kills']:,} kills)" if count["kills"] and count is not everything else name
        lines.append(f"| {what} | " + " | ".join(f"{number:,}" for number in (sum(numbers), *numbers)) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
