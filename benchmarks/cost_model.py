"""What 10 M, 100 M and 1 B texts would cost on 1, 8 and 64 machines, from measured rates. Nothing is run.

    python benchmarks/cost_model.py

Assumed, not measured: machines of 16 cores that are as fast as the two that were measured, rates that grow with the
number of cores, and a network of 1 Gbit/s per machine.
"""

from __future__ import annotations

ENCODED = 1236 / 2  # texts a second and core: `make bench-encode`, int8, two cores (docs/measured.md)
STEP = 1.63 * 2  # core seconds of a step with 400 texts, last two layers: `make bench-train` (docs/methods/sccl.md)
STEP_TEXTS = 400
FIT_SECONDS, FIT_GIGABYTES = 691, 7.4  # of one core, a million texts with TF-IDF: `python benchmarks/million.py`
CORES = 16
NETWORK = 1e9 / 8  # bytes a second
TEXT_BYTES = 100  # of a row in and out, roughly: a title and five columns
WEIGHTS = 2 * 12 * 384**2  # of two layers of the bundled encoder, without biases
SIZES = {"10 M": 10**7, "100 M": 10**8, "1 B": 10**9}
MACHINES = (1, 8, 64)


def main() -> None:
    """Print the tables."""
    print(
        "| texts | core hours | "
        + " | ".join(f"{n} machine{'s' * (n > 1)}" for n in MACHINES)
        + " | sending the rows, of one machine's time |"
    )
    print("|---|--:|" + "--:|" * (len(MACHINES) + 1))
    for name, n_texts in SIZES.items():
        core_seconds = n_texts / ENCODED
        times = " | ".join(_duration(core_seconds / CORES / n) for n in MACHINES)
        share = n_texts * TEXT_BYTES / NETWORK / (core_seconds / CORES)
        print(f"| {name} | {core_seconds / 3600:,.0f} | {times} | {share:.1%} |")
    print()
    print("| machines | a step: computing, s | sending at 1 Gbit/s, s | relative to one machine | at 10 Gbit/s |")
    print("|--:|--:|--:|--:|--:|")
    for n in (1, 2, 4, 8, 16):
        computing, sending = STEP / CORES / n, _sending(n)
        relative = [(computing + sending / speed) / (STEP / CORES) for speed in (1, 10)]
        print(f"| {n} | {computing:.3f} | {sending:.3f} | {relative[0]:.2f} | {relative[1]:.2f} |")
    print()
    hours, gigabytes = 10 * FIT_SECONDS / 3600, 10 * FIT_GIGABYTES
    print(f"A fit of 10 M vectors, if it grew with their number: {hours:.1f} h, {gigabytes:.0f} GB")


def _sending(n: int) -> float:
    """Return the seconds of a ring all-reduce of the gradients and of the gathered embeddings of three views."""
    gradients = 2 * (n - 1) / n * WEIGHTS * 4
    embeddings = (n - 1) / n * STEP_TEXTS * 3 * 384 * 4
    return (gradients + embeddings) / NETWORK


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


if __name__ == "__main__":
    main()
