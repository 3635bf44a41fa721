"""Texts per second of the augmenters that need no model, against the time the bundled encoder needs, in one run.

    make bench-augment

5,000 StackOverflow titles (COTERIE_DATA), one view each, one core: processor time of this process, so that a noisy
neighbour counts for little. Rounds are interleaved; each figure is the best of them, beside it the first round, which
loads WordNet and looks up each synonym for the first time. Nothing is read from or written to the cache of views.
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
from coterie.augmenters import cache
from coterie.augmenters.augmenter import make_augmenter
from coterie.encoders.bundled import BundledEncoder

ROUNDS = 3
N_TEXTS = 5000
SPECS = (
    "eda:0.2", "eda(operation=replace)", "eda(operation=insert)", "eda(operation=swap)", "eda(operation=delete)",
    "wordnet:0.2", "chars:0.2", "delete:0.6", "chain(wordnet:0.1,chars:0.1)",
)  # fmt: skip


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    cache.WORTH_KEEPING = float("inf")  # the steps of a chain are neither kept
    with tempfile.TemporaryDirectory() as empty:  # nor found
        os.environ["COTERIE_CACHE"] = empty
        _measure()


def _measure() -> None:
    texts = datasets.load("stackoverflow").texts[:: 20000 // N_TEXTS]
    encoder = BundledEncoder(device="cpu")
    encoder.embed(texts[:64])  # load
    runs: dict[str, Callable[[], object]] = {spec: _augmenting(spec, texts) for spec in SPECS}
    runs["the encoder embeds them"] = lambda: encoder.embed(texts)
    first: dict[str, float] = {}
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = time.process_time()
            run()
            seconds = time.process_time() - start
            first.setdefault(name, seconds)
            best[name] = min(best[name], seconds)
    _report(first, best)


def _augmenting(spec: str, texts: list[str]) -> Callable[[], object]:
    augmenter = make_augmenter(spec)
    return lambda: [*augmenter.rewrite(texts, 0, seed=0)]


def _report(first: dict[str, float], best: dict[str, float]) -> None:
    slowest = best["the encoder embeds them"]
    print(f"{N_TEXTS} StackOverflow titles, one core, best of {ROUNDS} rounds")
    print(f"{'':32}{'texts/s':>10}{'first round':>13}{'share of the encoder':>22}")
    for name, seconds in best.items():
        print(f"{name:32}{N_TEXTS / seconds:10.0f}{N_TEXTS / first[name]:13.0f}{seconds / slowest:22.4f}")
    print(f"Python {platform.python_version()}, torch {version('torch')}, numpy {version('numpy')}")


if __name__ == "__main__":
    main()
