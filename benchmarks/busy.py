"""Throughput beside 0, 1 and 2 busy programs: one thread, and as many as there are processors, waiting in two ways.

    make bench-busy
    python benchmarks/busy.py encode

Each figure is relative to one thread without busy programs. `spinning` is how the libraries wait by themselves,
`sleeping` without any spinning, `briefly` as coterie sets it (`coterie/machine.py`). Every run is a process of its own,
because libraries read the environment when they are loaded. `encode` is the bundled encoder (OpenMP) on sixteen
help-desk messages at a time, `product` a product of small matrices (OpenBLAS, which knows no such setting).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable

from coterie.machine import n_threads

SECONDS = 2.0
ROUNDS = 2
SPINNING = {"GOMP_SPINCOUNT": "300000"}  # the default of the library
WAYS: dict[str, dict[str, str]] = {
    "one thread": {"OMP_NUM_THREADS": "1"},
    "all, spinning": {"OMP_NUM_THREADS": str(n_threads()), **SPINNING},
    "all, sleeping": {"OMP_NUM_THREADS": str(n_threads()), "OMP_WAIT_POLICY": "PASSIVE"},
    "all, briefly": {"OMP_NUM_THREADS": str(n_threads())},
}
OURS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> None:
    """Print the table of the named works, or with ``--rate`` the rate of one run."""
    works: dict[str, Callable[[], Callable[[], int]]] = {"encode": _encode, "product": _product}
    if sys.argv[1:2] == ["--rate"]:
        print(_rate(works[sys.argv[2]]()))
        return
    print(f"best of {ROUNDS} rounds of {SECONDS:g} s, {n_threads()} processors; load before: {os.getloadavg()[0]:.1f}")
    print(f"{'':10}{'busy programs':>14}" + "".join(f"{way:>16}" for way in WAYS))
    for work in sys.argv[1:] or works:
        base = 0.0
        for n_busy in range(3):
            rates = _beside(n_busy, work)
            base = base or rates["one thread"]
            print(f"{work:10}{n_busy:14}" + "".join(f"{rate / base:16.2f}" for rate in rates.values()), flush=True)
        print(f"{work:10}{'1.00 is':>14}{base:16.1f} a second")


def _beside(n_busy: int, work: str) -> dict[str, float]:
    """Return the best rate of every way to wait while ``n_busy`` programs use the processor."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n_busy)]
    best = dict.fromkeys(WAYS, 0.0)
    try:
        for _ in range(ROUNDS):
            for way, variables in WAYS.items():
                environment = {name: value for name, value in os.environ.items() if name not in OURS} | variables
                command = [sys.executable, __file__, "--rate", work]
                out = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
                best[way] = max(best[way], float(out))
    finally:
        for program in busy:
            program.kill()
            program.wait()
    return best


def _rate(run: Callable[[], int]) -> float:
    """Return the units of work a second."""
    run()
    done, start = 0, time.perf_counter()
    while (seconds := time.perf_counter() - start) < SECONDS:
        done += run()
    return done / seconds


def _encode() -> Callable[[], int]:
    from coterie import datasets
    from coterie.encoders.bundled import BundledEncoder

    texts, encoder = datasets.load("helpdesk").texts[:16], BundledEncoder(device="cpu")
    return lambda: len(encoder.embed(texts))


def _product() -> Callable[[], int]:
    import numpy as np

    import coterie  # noqa: F401 - sets the environment

    x = np.ones((512, 384), dtype=np.float32)

    def run() -> int:
        for _ in range(5):
            x @ x.T
        return 5

    return run


if __name__ == "__main__":
    main()
