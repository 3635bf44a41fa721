"""Timing that the speed scripts share: interleaved rounds, of which the best counts.

In every round each function is called once. So other load on a shared machine affects all functions alike, and the best
round is the one with the least other load.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

Function = Callable[[], object]
Clock = Callable[[], float]


def elapsed(function: Function, clock: Clock = time.perf_counter) -> float:
    """Return the seconds of one call; ``time.process_time`` as ``clock`` counts processor time."""
    start = clock()
    function()
    return clock() - start


def interleaved_seconds(
    functions: Mapping[str, Function], rounds: int, clock: Clock = time.perf_counter
) -> dict[str, list[float]]:
    """Return the seconds of each function in every round."""
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            seconds[name].append(elapsed(function, clock))
    return seconds


def best_seconds(functions: Mapping[str, Function], rounds: int, *, warmup: int = 1) -> dict[str, float]:
    """Return the seconds of each function in its best round. ``warmup`` more rounds come first and do not count."""
    seconds = interleaved_seconds(functions, warmup + rounds)
    return {name: min(of_rounds[warmup:]) for name, of_rounds in seconds.items()}
