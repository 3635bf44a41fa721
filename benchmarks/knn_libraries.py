"""Libraries for nearest neighbors, on embeddings of the benchmark texts: processor time and recall of 15 neighbors.

    pip install faiss-cpu usearch                                # coterie does not need these
    python benchmarks/knn_libraries.py nn-descent faiss usearch  # 20,000 embeddings of all data sets
    python benchmarks/knn_libraries.py nn-descent --n 60000

The time is that of finding the 15 nearest neighbors of all embeddings. Search of faiss and usearch is timed on 1,000
queries and extrapolated. coterie uses nn-descent (docs/adr/0010-neighbors-of-very-many-texts.md). Its first call
compiles it, which is reported separately.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from coterie import datasets
from coterie.arrays import unit_rows
from coterie.contracts import Vectors
from coterie.data.texts import check_texts
from coterie.encoders.bundled import BundledEncoder
from coterie.experiments.embedding_cache import CachedEncoder, default_folder
from coterie.experiments.jobs import PAPER_SETS
from coterie.knn import nn_descent as descent

K = 15
N_QUERIES = 1000
Rows = NDArray[np.int64]


class Measurement(NamedTuple):
    """One setting of a library."""

    setting: str
    seconds: float  # processor time for all embeddings
    neighbors: Rows  # (N_QUERIES, K) of the queries


def load_embeddings(n: int) -> Vectors:
    """Return ``n`` embeddings of the texts of all data sets, shuffled."""
    encoder = CachedEncoder(inner=BundledEncoder(max_length=32, precision="float32"), folder=default_folder())
    texts = [check_texts(datasets.load(name).texts).unique for name in PAPER_SETS]
    x = unit_rows(np.concatenate([encoder.fit(part).embed(part) for part in texts]))
    return x[np.random.default_rng(0).permutation(len(x))[:n]]


def measure_nn_descent(x: Vectors, queries: Rows) -> Iterator[Measurement]:
    """NN-descent (pynndescent), with more and more oversampling."""
    start = time.process_time()
    descent.nn_descent(x[:500], K)
    compile_seconds = time.process_time() - start
    for factor in (1.0, 1.6, 2.4):
        descent._OVERSAMPLING = factor
        start = time.process_time()
        neighbors, _ = descent.nn_descent(x, K)
        setting = f"oversampling {factor}; {compile_seconds:.0f} s to compile"
        yield Measurement(setting, time.process_time() - start, neighbors[queries])


def measure_faiss(x: Vectors, queries: Rows) -> Iterator[Measurement]:
    """An inverted file (IVF) of faiss, with more and more cells searched."""
    import faiss

    start = time.process_time()
    index = faiss.index_factory(x.shape[1], f"IVF{int(4 * len(x) ** 0.5)},Flat", faiss.METRIC_INNER_PRODUCT)
    index.cp.niter = 10
    index.cp.max_points_per_centroid = 40
    index.train(x)
    index.add(x)
    build_seconds = time.process_time() - start
    for n_cells in (16, 32, 64):
        index.nprobe = n_cells
        start = time.process_time()
        found = index.search(x[queries], K + 1)[1]
        search_seconds = (time.process_time() - start) * len(x) / len(queries)
        yield Measurement(f"{n_cells} cells searched", build_seconds + search_seconds, _without_self(found, queries))


def measure_usearch(x: Vectors, queries: Rows) -> Iterator[Measurement]:
    """A navigable graph (HNSW) of usearch in bfloat16, with more and more candidates."""
    from usearch.index import Index

    index = Index(ndim=x.shape[1], metric="cos", dtype="bf16", connectivity=16, expansion_add=64)
    start = time.process_time()
    index.add(np.arange(len(x)), x, threads=torch.get_num_threads())
    build_seconds = time.process_time() - start
    for n_candidates in (32, 64, 128):
        index.expansion_search = n_candidates
        start = time.process_time()
        found = index.search(x[queries], K + 1, threads=torch.get_num_threads()).keys.astype(np.int64)
        search_seconds = (time.process_time() - start) * len(x) / len(queries)
        yield Measurement(f"expansion {n_candidates}", build_seconds + search_seconds, _without_self(found, queries))


def _without_self(found: Rows, queries: Rows) -> Rows:
    return np.stack([[row for row in rows if row != own][:K] for rows, own in zip(found, queries, strict=True)])


def _exact_neighbors(x: Vectors, queries: Rows) -> Rows:
    similarity = x[queries] @ x.T
    similarity[np.arange(len(queries)), queries] = -np.inf
    return np.argpartition(-similarity, K, axis=1)[:, :K]


LIBRARIES: dict[str, Callable[[Vectors, Rows], Iterator[Measurement]]] = {
    "nn-descent": measure_nn_descent,
    "faiss": measure_faiss,
    "usearch": measure_usearch,
}


def main() -> None:
    """Print a row for every library and setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="+", choices=LIBRARIES)
    parser.add_argument("--n", type=int, default=20_000, help="number of embeddings")
    args = parser.parse_args()
    x = load_embeddings(args.n)
    queries = np.random.default_rng(1).permutation(len(x))[:N_QUERIES]
    exact = _exact_neighbors(x, queries)
    print(f"| {len(x):,} embeddings | setting | processor seconds | recall |\n|---|---|--:|--:|")
    for name in args.libraries:
        for setting, seconds, neighbors in LIBRARIES[name](x, queries):
            recall = np.mean([len(np.intersect1d(a, b)) / K for a, b in zip(neighbors, exact, strict=True)])
            print(f"| {name} | {setting} | {seconds:.1f} | {recall:.1%} |", flush=True)


if __name__ == "__main__":
    main()
