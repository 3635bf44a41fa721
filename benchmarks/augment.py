"""Speed of the augmenters that need no model, compared with the bundled encoder in the same run.

    make bench-augment

5,000 StackOverflow titles (COTERIE_DATA), one view each, on one core. Times are processor times of this process, so
that other processes on the machine matter little. Rounds are interleaved. The table shows the best round, and the
first one, which loads WordNet and looks up each synonym for the first time. The cache of views is not used.
"""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version

import torch

from coterie import datasets
from coterie.augmenters import view_cache
from coterie.augmenters.augmenter import make_augmenter
from coterie.encoders.bundled import BundledEncoder

N_ROUNDS = 3
N_TEXTS = 5000
SPECS = (
    "eda:0.2",
    "eda(operation=replace)",
    "eda(operation=insert)",
    "eda(operation=swap)",
    "eda(operation=delete)",
    "wordnet:0.2",
    "chars:0.2",
    "delete:0.6",
    "chain(wordnet:0.1,chars:0.1)",
)
ENCODER = "the bundled encoder"


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    view_cache.MIN_SECONDS = float("inf")  # write nothing to the cache, also for the steps of a chain
    with tempfile.TemporaryDirectory() as empty_folder:  # read nothing from it
        os.environ["COTERIE_CACHE"] = empty_folder
        _measure()


def _measure() -> None:
    texts = datasets.load("stackoverflow").texts[:: 20000 // N_TEXTS]
    encoder = BundledEncoder(device="cpu")
    encoder.embed(texts[:64])  # load the model
    runs: dict[str, Callable[[], object]] = {spec: _augmentation(spec, texts) for spec in SPECS}
    runs[ENCODER] = lambda: encoder.embed(texts)
    first: dict[str, float] = {}
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(N_ROUNDS):
        for name, run in runs.items():
            start = time.process_time()
            run()
            seconds = time.process_time() - start
            first.setdefault(name, seconds)
            best[name] = min(best[name], seconds)
    _print_table(first, best)


def _augmentation(spec: str, texts: list[str]) -> Callable[[], object]:
    augmenter = make_augmenter(spec)
    return lambda: [*augmenter.make_view(texts, 0, seed=0)]


def _print_table(first: dict[str, float], best: dict[str, float]) -> None:
    print(f"{N_TEXTS} StackOverflow titles, one core, best of {N_ROUNDS} rounds")
    print(f"{'':32}{'texts/s':>10}{'first round':>13}{'time relative to the encoder':>30}")
    for name, seconds in best.items():
        relative = seconds / best[ENCODER]
        print(f"{name:32}{N_TEXTS / seconds:10.0f}{N_TEXTS / first[name]:13.0f}{relative:30.4f}")
    print(f"Python {platform.python_version()}, torch {version('torch')}, numpy {version('numpy')}")


if __name__ == "__main__":
    main()
