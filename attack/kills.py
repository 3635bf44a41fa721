"""Trainings of every method that are killed at random moments and resumed: the result is the one of no kill."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from attempt import Case, in_fork
from tiny import TRAINED, digest, model, texts

_MAX_KILLS = 3  # of one training


def cases(folder: Path, rng: np.random.Generator) -> Iterator[Case]:
    """Yield trainings of each method in turn, without end."""
    expected: dict[str, tuple[str, float]] = {}
    number = 0
    while True:
        name = TRAINED[number % len(TRAINED)]
        if name not in expected:
            start = time.perf_counter()
            expected[name] = in_fork(partial(_train, name, folder / f"{name}-whole")).value, time.perf_counter() - start
        number += 1
        moments = rng.random(int(rng.integers(1, _MAX_KILLS + 1))).tolist()
        yield Case(f"kill {name} {number}", partial(_kill, name, folder / f"{name}-{number}", moments, *expected[name]))


def _train(name: str, checkpoint: Path) -> str:
    return digest(model(name, checkpoint=checkpoint, checkpoint_every=1).fit(texts()))


def _kill(name: str, checkpoint: Path, moments: list[float], expected: str, seconds: float) -> int:
    """Kill a training at some moments, shares of its time, finish it, and return how many kills came before its end."""
    n_killed = 0
    for moment in moments:
        pid = os.fork()
        if not pid:
            _train(name, checkpoint)
            os._exit(0)
        time.sleep(moment * seconds)
        os.kill(pid, signal.SIGKILL)
        n_killed += os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    if _train(name, checkpoint) != expected:
        raise AssertionError(f"killed at {moments} of {seconds:.2f} s, the result differs")
    return n_killed
