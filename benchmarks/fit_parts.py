"""Where the time of a fit goes: processor time and wall time of every part, and the share that is not training steps.

    python benchmarks/fit_parts.py --texts 5000 --method sccl
    python benchmarks/fit_parts.py --texts 2000 --precision float32  # steps in another precision than `auto`

StackOverflow titles (COTERIE_DATA), the defaults of the method, one epoch. The evaluation of the guard is part of
`training` in the progress bar; here it is a line of its own.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

os.environ["COTERIE_CACHE_MB"] = "0"  # embeddings are computed

import coterie
from coterie import datasets
from coterie.progress import Meter, listening
from coterie.training.trainer import Run

seconds: dict[str, float] = defaultdict(float)  # of the processor
wall: dict[str, float] = defaultdict(float)


class Parts(Meter):
    """A listener that adds up the processor time of every part."""

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Measure a part."""
        with timed(name), super().part(name):
            yield


@contextmanager
def timed(name: str) -> Iterator[None]:
    """Add the times of the block to ``name``."""
    start, start_wall = time.process_time(), time.perf_counter()
    try:
        yield
    finally:
        seconds[name] += time.process_time() - start
        wall[name] += time.perf_counter() - start_wall


def measured(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return the method, measured."""

    def run(*args: Any, **kwargs: Any) -> Any:
        with timed(name):
            return method(*args, **kwargs)

    return run


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser()
    options.add_argument("--texts", type=int, default=5000)
    options.add_argument("--method", default="sccl")
    options.add_argument("--precision", default="auto")
    given = options.parse_args()
    texts = datasets.load("stackoverflow").texts[:: 20_000 // given.texts]
    Run._step = measured(Run._step, "- steps")  # type: ignore[method-assign]
    Run._judge = measured(Run._judge, "- guard")  # type: ignore[method-assign]
    encoder = f"bundled(precision={given.precision})"
    model = coterie.METHODS[given.method](n_clusters=20, epochs=1, encoder=encoder)
    with timed("all"), listening(Parts(lambda _share, _what: None)):
        model.fit(texts)
    steps = seconds["- steps"]
    print(f"{'':20}{'processor':>12}{'wall':>16}")
    for name in seconds:
        shares = "".join(f"{part[name]:8.1f} s{part[name] / part['all']:6.0%}" for part in (seconds, wall))
        print(f"{name:20}{shares}")
    n_steps, loss = model.history_[-1]["step"], model.history_[-1]["loss"]
    print(f"{len(texts):,} texts, {n_steps} steps: {_share('- steps')} are not steps")
    print(f"{_share('- steps', 'embedding')} are neither steps nor the first embedding")
    print(f"{steps / n_steps:.2f} s of the processor a step; loss {loss:.4f}")


def _share(*names: str) -> str:
    """Return what is left of the whole without some parts, by processor time and by wall time."""
    rest = [1 - sum(times[name] for name in names) / times["all"] for times in (seconds, wall)]
    return f"{rest[0]:.0%} of the processor time and {rest[1]:.0%} of the wall time"


if __name__ == "__main__":
    main()
