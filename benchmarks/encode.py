"""Texts per second of the bundled encoder, relative to SentenceTransformer.encode with its defaults.

    make bench-encode

5,000 StackOverflow titles (COTERIE_DATA), the same model folder, best of interleaved rounds. Then small requests: the
time of 1 and of 8 titles, relative to SentenceTransformer's (`--small`: only these).
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import version

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from coterie import datasets
from coterie.contracts import Vectors
from coterie.encoders.bundled import BundledEncoder
from timing import best_seconds

ROUNDS = 3
N_TEXTS = 5000
SMALL, SMALL_ROUNDS = (1, 8), 30
CPU_FEATURES = ("avx512_f", "avx512_bf16", "amx_bf16", "avx512_vnni")
Embed = Callable[[list[str]], Vectors]


def main() -> None:
    """Print the table."""
    texts = datasets.load("stackoverflow").texts[:: 20000 // N_TEXTS]
    reference = SentenceTransformer(BundledEncoder().source(), device="cpu")
    embeds: dict[str, Embed] = {
        "SentenceTransformer.encode": lambda t: reference.encode(t, normalize_embeddings=True),
        "coterie, auto": BundledEncoder(device="cpu").embed,
        "coterie, float32": BundledEncoder(device="cpu", precision="float32").embed,
        "coterie, bfloat16": BundledEncoder(device="cpu", precision="bfloat16").embed,
    }
    for embed in embeds.values():
        embed(texts[:64])  # loads the weights
    if "--small" not in sys.argv:
        _measure(embeds, texts)
    for n in SMALL:
        _measure_small(embeds, texts[:n])
    _print_versions()


def _measure(embeds: dict[str, Embed], texts: list[str]) -> None:
    vectors: dict[str, Vectors] = {}

    def make_run(name: str, embed: Embed) -> Callable[[], None]:
        def run() -> None:
            vectors[name] = embed(texts)

        return run

    runs = {name: make_run(name, embed) for name, embed in embeds.items()}
    _report(best_seconds(runs, ROUNDS, warmup=0), vectors)


def _measure_small(embeds: dict[str, Embed], texts: list[str]) -> None:
    runs = {name: partial(embed, texts) for name, embed in embeds.items()}
    seconds = best_seconds(runs, SMALL_ROUNDS, warmup=2)
    base = next(iter(seconds.values()))
    print(
        f"{len(texts)} titles, best of {SMALL_ROUNDS} rounds, {torch.get_num_threads()} threads: milliseconds and ratio"
    )
    for name, duration in seconds.items():
        print(f"{name:28}{1000 * duration:9.1f}{duration / base:7.2f}")


def _report(seconds: dict[str, float], vectors: dict[str, Vectors]) -> None:
    base = next(iter(seconds))
    print(f"{N_TEXTS} StackOverflow titles, best of {ROUNDS} rounds, {torch.get_num_threads()} threads")
    print(f"{'':28}{'texts/s':>9}{'ratio':>7}{'largest difference':>20}{'mean cosine':>13}{'lowest':>9}")
    for name, duration in seconds.items():
        difference = np.abs(vectors[name] - vectors[base]).max()
        cosine = (vectors[name] * vectors[base]).sum(axis=1)
        print(
            f"{name:28}{N_TEXTS / duration:9.0f}{seconds[base] / duration:7.2f}{difference:20.1e}"
            f"{cosine.mean():13.5f}{cosine.min():9.5f}"
        )


def _print_versions() -> None:
    capabilities = torch.cpu.get_capabilities()
    features = ", ".join(f"{name} {capabilities.get(name)}" for name in CPU_FEATURES)
    print(
        f"Python {platform.python_version()}, torch {version('torch')}, "
        f"sentence-transformers {version('sentence-transformers')}; CPU: {features}"
    )


if __name__ == "__main__":
    main()
