"""Texts per second of the bundled encoder against SentenceTransformer.encode with its defaults, in one run.

    make bench-encode

5,000 StackOverflow titles (COTERIE_DATA), the same model folder, the same machine, runs interleaved so that
a noisy neighbour hits all alike; each figure is the best of the rounds.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from importlib.metadata import version

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from coterie import datasets
from coterie.contracts import Vectors
from coterie.encoders.bundled import BundledEncoder

ROUNDS = 3
N_TEXTS = 5000


def main() -> None:
    """Print the table."""
    texts = datasets.load("stackoverflow").texts[:: 20000 // N_TEXTS]
    reference = SentenceTransformer(BundledEncoder().source(), device="cpu")
    runs: dict[str, Callable[[list[str]], Vectors]] = {
        "SentenceTransformer.encode": lambda t: reference.encode(t, normalize_embeddings=True),
        "coterie, auto": BundledEncoder(device="cpu").embed,
        "coterie, float32": BundledEncoder(device="cpu", precision="float32").embed,
        "coterie, bfloat16": BundledEncoder(device="cpu", precision="bfloat16").embed,
    }
    seconds = dict.fromkeys(runs, float("inf"))
    vectors: dict[str, Vectors] = {}
    for run in runs.values():
        run(texts[:64])  # load and warm up
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = time.perf_counter()
            vectors[name] = run(texts)
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    _report(seconds, vectors)


def _report(seconds: dict[str, float], vectors: dict[str, Vectors]) -> None:
    base = next(iter(seconds))
    print(f"{N_TEXTS} StackOverflow titles, best of {ROUNDS} rounds, {torch.get_num_threads()} threads")
    print(f"{'':28}{'texts/s':>9}{'ratio':>7}{'largest difference':>20}{'mean cosine':>13}{'least':>9}")
    for name, duration in seconds.items():
        difference = np.abs(vectors[name] - vectors[base]).max()
        cosine = (vectors[name] * vectors[base]).sum(axis=1)
        print(
            f"{name:28}{N_TEXTS / duration:9.0f}{seconds[base] / duration:7.2f}{difference:20.1e}"
            f"{cosine.mean():13.5f}{cosine.min():9.5f}"
        )
    able = torch.cpu.get_capabilities()
    print(
        f"Python {platform.python_version()}, torch {version('torch')}, "
        f"sentence-transformers {version('sentence-transformers')}; CPU: "
        + ", ".join(f"{name} {able.get(name)}" for name in ("avx512_f", "avx512_bf16", "amx_bf16", "avx512_vnni"))
    )


if __name__ == "__main__":
    main()
