"""Libraries that find nearest vectors, on the vectors of the benchmark texts: time, and how many of the 15 are found.

    pip install faiss-cpu usearch                     # those that coterie does not need
    python benchmarks/index.py descent faiss usearch  # 20,000 vectors of all sets together
    python benchmarks/index.py descent --n 60000

Seconds are of the processor, for finding the 15 nearest of every vector (searching is measured on a thousand of them),
because the machine may do other work. `descent` is what coterie uses (docs/adr/0010-neighbours-of-very-many-texts.md):
the first call compiles it, which is counted apart.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from coterie import datasets
from coterie.benchmarks.cache import CachedEncoder, default_folder
from coterie.benchmarks.jobs import PAPER_SETS
from coterie.contracts import Vectors
from coterie.data.texts import check_texts
from coterie.encoders.bundled import BundledEncoder
from coterie.graph import descent
from coterie.graph.smoothing import unit_rows

K, ASKED = 15, 1000
Answer = tuple[str, float, NDArray[np.int64]]
"""A setting, seconds for all vectors, and what was found for those that were asked."""


def vectors(n: int) -> Vectors:
    """Return ``n`` vectors of texts of all sets, shuffled."""
    encoder = CachedEncoder(inner=BundledEncoder(max_length=32, precision="float32"), folder=default_folder())
    texts = [check_texts(datasets.load(name).texts).unique for name in PAPER_SETS]
    x = unit_rows(np.concatenate([encoder.fit(part).embed(part) for part in texts]))
    return x[np.random.default_rng(0).permutation(len(x))[:n]]


def by_descent(x: Vectors, asked: NDArray[np.int64]) -> Iterator[Answer]:
    """Let neighbours of neighbours become neighbours (pynndescent), of more and more of them."""
    start = time.process_time()
    descent.descend(x[:500], K)
    compiling = time.process_time() - start
    for descent._MORE in (1.0, 1.6, 2.4):
        start = time.process_time()
        rows, _ = descent.descend(x, K)
        setting = f"{descent._MORE} times as many looked for; {compiling:.0f} s to compile"
        yield setting, time.process_time() - start, rows[asked]


def by_faiss(x: Vectors, asked: NDArray[np.int64]) -> Iterator[Answer]:
    """Put rows into cells (an inverted file), of which more and more are opened."""
    import faiss

    start = time.process_time()
    index = faiss.index_factory(x.shape[1], f"IVF{int(4 * len(x) ** 0.5)},Flat", faiss.METRIC_INNER_PRODUCT)
    index.cp.niter, index.cp.max_points_per_centroid = 10, 40
    index.train(x)
    index.add(x)
    built = time.process_time() - start
    for index.nprobe in (16, 32, 64):
        start = time.process_time()
        rows = index.search(x[asked], K + 1)[1]
        searched = (time.process_time() - start) * len(x) / len(asked)
        yield f"{index.nprobe} cells opened", built + searched, _others(rows, asked)


def by_usearch(x: Vectors, asked: NDArray[np.int64]) -> Iterator[Answer]:
    """Build a navigable graph (HNSW) in bfloat16."""
    from usearch.index import Index

    index = Index(ndim=x.shape[1], metric="cos", dtype="bf16", connectivity=16, expansion_add=64)
    start = time.process_time()
    index.add(np.arange(len(x)), x, threads=torch.get_num_threads())
    built = time.process_time() - start
    for index.expansion_search in (32, 64, 128):
        start = time.process_time()
        rows = index.search(x[asked], K + 1, threads=torch.get_num_threads()).keys.astype(np.int64)
        searched = (time.process_time() - start) * len(x) / len(asked)
        yield f"expansion {index.expansion_search}", built + searched, _others(rows, asked)


def _others(rows: NDArray[np.int64], own: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.stack([[row for row in line if row != me][:K] for line, me in zip(rows, own, strict=True)])


LIBRARIES: dict[str, Callable[[Vectors, NDArray[np.int64]], Iterator[Answer]]] = {
    "descent": by_descent, "faiss": by_faiss, "usearch": by_usearch,
}  # fmt: skip


def main() -> None:
    """Print a row for every library and setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="+", choices=LIBRARIES)
    parser.add_argument("--n", type=int, default=20_000)
    args = parser.parse_args()
    x = vectors(args.n)
    asked = np.random.default_rng(1).permutation(len(x))[:ASKED]
    similarity = x[asked] @ x.T
    similarity[np.arange(len(asked)), asked] = -np.inf
    truth = np.argpartition(-similarity, K, axis=1)[:, :K]
    print(f"| {len(x):,} vectors | setting | processor seconds | found of 15 |\n|---|---|--:|--:|")
    for name in args.libraries:
        for setting, seconds, rows in LIBRARIES[name](x, asked):
            found = np.mean([len(np.intersect1d(a, b)) / K for a, b in zip(rows, truth, strict=True)])
            print(f"| {name} | {setting} | {seconds:.1f} | {found:.1%} |", flush=True)


if __name__ == "__main__":
    main()
