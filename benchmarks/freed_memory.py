"""Time of a training step where freed memory is kept for the next tensors, relative to glibc by itself.

    python benchmarks/freed_memory.py   # four minutes of one core; part of `make bench-steps`

A step of SCCL with its defaults (two trained layers) on AgNews, whose texts are the longest of the eight sets. Both
ways take turns in one process; seconds are of the processor, medians. Page faults are of one step.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from statistics import median

import torch

from coterie import datasets
from coterie.encoders.engine.device import Precision
from coterie.machine import freed_memory_kept
from steps import make_steps
from timing import interleaved_seconds

ROUNDS = 5
STEPS = 4  # of a round; the first has to ask for all of its memory
N_TEXTS = 2000
CASES: tuple[tuple[int, Precision], ...] = ((100, "bfloat16"), (200, "bfloat16"), (400, "bfloat16"))


def main() -> None:
    """Print the comparison."""
    texts = datasets.load("agnews").texts[:: 8000 // N_TEXTS]
    print("| texts of a batch | encoder | seconds of a step | with memory kept | page faults | with memory kept |")
    print("|--:|---|--:|--:|--:|--:|")
    for n_rows, precision in CASES:
        (step,) = make_steps("sccl", texts, 2, n_rows=n_rows, precision=precision).values()
        faults: dict[str, list[int]] = {"as it is": [], "kept": []}
        ways = {"as it is": counted(step, faults["as it is"]), "kept": counted(step, faults["kept"], kept=True)}
        seconds = interleaved_seconds(ways, ROUNDS, time.process_time)
        cells = [f"{median(seconds[way]) / STEPS:.2f}" for way in ways]
        cells += [f"{median(faults[way]) / STEPS:,.0f}" for way in ways]
        print(f"| {n_rows} | {precision} | {' | '.join(cells)} |", flush=True)


def counted(step: Callable[[], None], faults: list[int], *, kept: bool = False) -> Callable[[], None]:
    """Return a function that makes some steps and appends the number of their page faults."""

    def run() -> None:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        if kept:
            with freed_memory_kept():
                repeat(step)
        else:
            repeat(step)
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)

    return run


def repeat(step: Callable[[], None]) -> None:
    """Make the steps of a round."""
    for _ in range(STEPS):
        step()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
